/** What a person thinks of a finished reply: a thumb, and words if they like. */

import { icon, node } from "./nodes.js";
import { say, sayFailure } from "./phrases.js";

let forms = 0;

export class FeedbackView {
  #buttons = { up: this.#thumb("up"), down: this.#thumb("down") };
  #status = node("span", { class: "feedback-status", role: "status" });
  #words = node("div", { class: "feedback-words" });
  #rate;

  /** `rate(rating, comment)` keeps the rating; it rejects with a `Failed`. `given` is an earlier one. */
  constructor(rate, given) {
    this.#rate = rate;
    this.#press(given);
    this.element = node(
      "div",
      { class: "feedback" },
      node("div", { class: "thumbs" }, this.#buttons.up, this.#buttons.down, this.#status),
      this.#words,
    );
  }

  #thumb(rating) {
    const button = node("button", { class: "thumb", type: "button", "aria-pressed": "false" }, icon(rating));
    say(button, `feedback.${rating}`, null, "aria-label");
    say(button, `feedback.${rating}`, null, "title");
    button.addEventListener("click", () => this.#chosen(rating));
    return button;
  }

  async #chosen(rating) {
    if (!(await this.#send(rating))) return;
    this.#press(rating);
    this.#askForWords(rating);
  }

  #press(rating) {
    for (const [name, button] of Object.entries(this.#buttons)) {
      button.setAttribute("aria-pressed", String(name === rating));
    }
  }

  #askForWords(rating) {
    forms += 1;
    const name = `feedback-${forms}`;
    const label = say(node("label", { for: name }), `feedback.why_${rating}`);
    const box = node("textarea", { id: name, class: "field", rows: "1", dir: "auto" });
    const send = node("button", { class: "plain", type: "submit" }, say(node("span"), "feedback.send"));
    const form = node("form", { novalidate: "" }, label, node("div", { class: "row" }, box, send));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const comment = box.value.trim();
      if (!comment || !(await this.#send(rating, comment))) return;
      this.#words.replaceChildren();
      this.#buttons[rating].focus({ preventScroll: true });
    });
    this.#words.replaceChildren(form);
  }

  async #send(rating, comment) {
    this.#status.classList.remove("bad");
    try {
      await this.#rate(rating, comment);
      say(this.#status, "feedback.thanks");
      return true;
    } catch (error) {
      this.#status.classList.add("bad");
      sayFailure(this.#status, error);
      return false;
    }
  }
}
