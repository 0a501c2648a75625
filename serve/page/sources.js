/** The numbered sources of an answer: the list below it and the numbers inside it. */

import { icon, node } from "./nodes.js";
import { say } from "./phrases.js";
import { quoteAddress } from "./quotation.js";

/** A list item for each citation; `open(citation)` shows a document's passage. */
export function sourceList(citations, open) {
  const heading = say(node("h4", { class: "sources-title" }), "sources");
  const items = citations.map((citation) =>
    node(
      "li",
      { class: `source ${citation.kind}`, value: citation.number },
      node("span", { class: "number", "aria-hidden": "true" }, String(citation.number)),
      node("div", { class: "source-text" }, way(citation, open), place(citation), quote(citation)),
    ),
  );
  return node("section", { class: "sources" }, heading, node("ol", {}, ...items));
}

/** The number in the text: it leads where the source's title leads. */
export function sourceNumber(citation, open) {
  const values = { number: citation.number, title: citation.title };
  const mark = way(citation, open, true);
  mark.replaceChildren(String(citation.number));
  mark.classList.add("reference");
  return node("sup", {}, say(mark, "source.number", values, "aria-label"));
}

/** "Heading · page 3", or null. */
export function place(citation) {
  const parts = [];
  if (citation.heading && citation.heading !== citation.title) {
    parts.push(node("span", {}, citation.heading));
  }
  if (citation.page !== null && citation.page !== undefined) {
    parts.push(say(node("span"), "source.page", { page: citation.page }));
  }
  const site = citation.kind === "web" && host(citation.url);
  if (site) parts.push(node("span", { class: "site" }, site));
  return parts.length ? node("p", { class: "place" }, ...parts) : null;
}

function way(citation, open, short = false) {
  const title = node("span", { class: "source-title" }, citation.title);
  if (citation.kind === "web") {
    const address = quoteAddress(citation.url, citation.quote);
    if (!address) return node("span", { class: "source-way" }, title);
    const link = node("a", { class: "source-way", href: address, target: "_blank", rel: "noopener noreferrer" });
    if (!short) {
      const tab = say(node("span"), "source.new_tab");
      link.append(title, icon("web"), node("span", { class: "unseen" }, " (", tab, ")"));
    }
    return link;
  }
  const button = node("button", { class: "source-way", type: "button", "aria-haspopup": "dialog" });
  if (!short) {
    button.append(title, icon("document"), node("span", { class: "unseen" }, " – ", say(node("span"), "source.open")));
  }
  button.addEventListener("click", () => {
    // The closed panel gives the focus back to where it was; Safari focuses no button on a click.
    button.focus({ preventScroll: true });
    open(citation);
  });
  return button;
}

function quote(citation) {
  return citation.quote ? node("blockquote", { class: "quote" }, citation.quote) : null;
}

function host(url) {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}
