/** One turn in the log: the question and what became of it. */

import { icon, node } from "./nodes.js";
import { has, say } from "./phrases.js";
import { sourceList, sourceNumber } from "./sources.js";
import { write } from "./writing.js";

const NOTICES = new Set(["miss", "unavailable", "boundary"]);

export class TurnView {
  #answer = node("div", { class: "answer" });

  /** `retry(view)` asks the same again, `open(citation)` shows a passage. */
  constructor(message, { retry, open }) {
    this.message = message;
    this.retry = retry;
    this.open = open;
    this.element = node(
      "article",
      { class: "turn" },
      node("h2", { class: "unseen" }, say(node("span"), "asked")),
      node("p", { class: "question", dir: "auto" }, message.text),
      this.#answer,
    );
  }

  update(run) {
    const parts = [];
    const reply = run.active ? null : run.reply;
    const status = run.phase === "finished" ? (reply?.status ?? "replied") : run.phase;
    if (run.text) parts.push(this.#head(reply));
    if (NOTICES.has(status)) parts.push(this.#notice(status));
    if (run.text) parts.push(this.#text(run, reply, status));
    if (status === "answered" && reply.citations?.length) {
      parts.push(sourceList(reply.citations, this.open));
    }
    if (status === "stopped") parts.push(this.#notice("stopped"));
    if (run.phase === "failed" || status === "failed") parts.push(this.#error(run.failure));
    this.#answer.className = `answer ${status}`;
    this.#answer.replaceChildren(...parts);
  }

  #head(reply) {
    const agent = `agent.${reply?.agent}`;
    return node(
      "h3",
      { class: "speaker" },
      "Manta",
      has(agent) ? say(node("span", { class: "agent" }), agent) : null,
    );
  }

  #text(run, reply, status) {
    const cited = new Map();
    if (status === "answered") for (const one of reply.citations ?? []) cited.set(one.number, one);
    const marker = (number) => (cited.has(number) ? sourceNumber(cited.get(number), this.open) : null);
    return node("div", { class: "text", lang: reply?.locale, dir: "auto" }, ...write(run.text, marker));
  }

  #notice(kind) {
    const again = kind === "stopped" || kind === "unavailable" ? this.#again() : null;
    return node(
      "div",
      { class: `banner ${kind}` },
      icon(kind === "stopped" ? "stop" : kind),
      node(
        "div",
        {},
        say(node("p", { class: "banner-title" }), `${kind}.title`),
        say(node("p", { class: "banner-hint" }), `${kind}.hint`),
      ),
      again,
    );
  }

  #error(failure) {
    return errorBanner(failure, this.#again());
  }

  #again() {
    const button = node("button", { class: "again", type: "button" }, icon("retry"), say(node("span"), "retry"));
    button.addEventListener("click", () => this.retry(this));
    return button;
  }
}

/** What went wrong, in the server's words where it has any. */
export function errorBanner(failure, again) {
  const hint = node("p", { class: "banner-hint", dir: "auto" });
  if (failure?.detail) hint.textContent = failure.detail;
  else say(hint, `error.${failure?.kind ?? "run"}`, failure?.status ? { status: String(failure.status) } : null);
  return node(
    "div",
    { class: "banner error" },
    icon("error"),
    node("div", {}, say(node("p", { class: "banner-title" }), "error.title"), hint),
    again,
  );
}
