/** The panel with a document's passage: a side panel on wide screens, a sheet on narrow ones. */

import { node } from "./nodes.js";
import { locate } from "./quotation.js";
import { place } from "./sources.js";

export class PassagePanel {
  #dialog = document.getElementById("panel");

  constructor() {
    document.getElementById("panel-close").addEventListener("click", () => this.#dialog.close());
    // A click on the dialog itself is one beside its content: on the backdrop.
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  open(citation) {
    document.getElementById("panel-title").textContent = citation.title;
    document.getElementById("panel-place").replaceChildren(...(place(citation)?.childNodes ?? []));
    const passage = document.getElementById("panel-passage");
    passage.replaceChildren(...marked(citation));
    this.#dialog.showModal();
    const body = document.getElementById("panel-body");
    const quoted = passage.querySelector("mark");
    // Only the panel's own body scrolls; `scrollIntoView` would move the page behind it as well.
    body.scrollTop = quoted ? quoted.offsetTop - body.clientHeight / 3 : 0;
  }
}

function marked({ passage, quote }) {
  if (!passage) return [node("mark", {}, quote)];
  const range = locate(passage, quote ?? "");
  if (!range) return [node("p", {}, node("mark", {}, quote)), passage];
  const [start, end] = range;
  return [passage.slice(0, start), node("mark", {}, passage.slice(start, end)), passage.slice(end)];
}
