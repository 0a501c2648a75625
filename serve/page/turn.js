/** One turn in the log: the question, what was asked back, and what became of it. */

import { FeedbackView } from "./feedback.js";
import { icon, node } from "./nodes.js";
import { PauseView, exchange } from "./pause.js";
import { has, say, sayFailure } from "./phrases.js";
import { sourceList, sourceNumber } from "./sources.js";
import { write } from "./writing.js";

const NOTICES = new Set(["miss", "unavailable", "boundary"]);
const RATED = new Set(["answered", "replied", "miss", "unavailable", "boundary"]);

export class TurnView {
  /** The open pause's `PauseView`, or the latest one of this turn. */
  pause = null;
  #answer = node("div", { class: "answer" });
  #between = node("div", { class: "between" });
  #feedback = null;
  #hooks;

  /**
   * @param message `{ id, text }`, or null where only the reply is known
   * @param hooks `retry(view)` asks the same again, `open(citation)` shows a passage, `answer(view,
   * answers)` and `leave(view)` end a pause, `rate(runId, rating, comment)` keeps a rating
   */
  constructor(message, hooks) {
    this.message = message;
    this.#hooks = hooks;
    const asked = message
      ? [
          node("h2", { class: "unseen" }, say(node("span"), "asked")),
          node("p", { class: "question", dir: "auto" }, message.text),
        ]
      : [];
    this.element = node("article", { class: "turn" }, ...asked, this.#between, this.#answer);
  }

  /** Questions and answers of an earlier pause. */
  addExchange(pair) {
    this.#between.append(exchange([pair]));
  }

  ask(pause) {
    this.pause = new PauseView(pause, {
      answer: (answers) => this.#hooks.answer(this, answers),
      leave: () => this.#hooks.leave(this),
    });
    this.#between.append(this.pause.element);
    this.clear();
  }

  /** Nothing of the latest run is to be seen any more. */
  clear() {
    this.#answer.className = "answer";
    this.#answer.replaceChildren();
  }

  update(run) {
    const parts = [];
    const reply = run.active ? null : run.reply;
    const status = run.phase === "finished" ? (reply?.status ?? "replied") : run.phase;
    if (run.text) parts.push(this.#head(reply));
    if (NOTICES.has(status)) parts.push(this.#notice(status));
    if (run.text) parts.push(this.#text(run, reply, status));
    if (status === "answered" && reply.citations?.length) {
      parts.push(sourceList(reply.citations, this.#hooks.open));
    }
    if (status === "stopped") parts.push(this.#notice("stopped"));
    if (run.phase === "failed" || status === "failed") parts.push(errorBanner(run.failure, this.#again()));
    if (run.phase === "finished" && RATED.has(status) && run.id) parts.push(this.#rating(run));
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
    const marker = (number) => (cited.has(number) ? sourceNumber(cited.get(number), this.#hooks.open) : null);
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

  #rating(run) {
    this.#feedback ??= new FeedbackView(
      (rating, comment) => this.#hooks.rate(run.id, rating, comment),
      run.reply?.rating,
    );
    return this.#feedback.element;
  }

  #again() {
    if (!this.message) return null;
    const button = node("button", { class: "again", type: "button" }, icon("retry"), say(node("span"), "retry"));
    button.addEventListener("click", () => this.#hooks.retry(this));
    return button;
  }
}

/** What went wrong, in the server's words where it has any. */
export function errorBanner(failure, again = null) {
  return node(
    "div",
    { class: "banner error" },
    icon("error"),
    node(
      "div",
      {},
      say(node("p", { class: "banner-title" }), "error.title"),
      sayFailure(node("p", { class: "banner-hint" }), failure),
    ),
    again,
  );
}
