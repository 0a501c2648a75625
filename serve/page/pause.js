/** A pause in its turn: the questions as a form, and afterwards what was answered. */

import { icon, node } from "./nodes.js";
import { say, sayFailure, translate } from "./phrases.js";

const touch = matchMedia("(pointer: coarse)");
let forms = 0;

/** What was asked and answered; without an answer it says so. */
export function exchange(pairs) {
  return node(
    "dl",
    { class: "exchange" },
    ...pairs.flatMap(({ question, answer }) => [
      node("dt", { dir: "auto" }, question),
      answer === null
        ? say(node("dd", { class: "unanswered" }), "pause.unanswered")
        : node("dd", { dir: "auto" }, answer),
    ]),
  );
}

export class PauseView {
  element = node("div", { class: "pause" });
  #questions;
  #fields = [];
  #form;
  #complaint = node("p", { class: "complaint", role: "alert", hidden: "" });
  #inputs = node("fieldset", { class: "bare" });
  /** `open`, `answered` or `left`; a reply that streams in below must not draw it again. */
  #state = "open";

  /**
   * @param pause the interrupt as the API shows it
   * @param answer called with the answers by question id
   * @param leave called when the questions are to be left unanswered
   */
  constructor(pause, { answer, leave }) {
    this.id = pause.id;
    this.#questions = pause.metadata?.questions ?? pause.questions ?? [];
    forms += 1;
    const title = `pause-${forms}`;
    const limits = pause.responseSchema?.properties ?? {};
    this.#fields = this.#questions.map((question, at) => field(question, `${title}-${at}`, limits[question.id]));
    this.#inputs.append(...this.#fields.map((one) => one.element), this.#complaint, this.#buttons(leave));
    this.#form = node(
      "form",
      { class: "pause-form", novalidate: "", "aria-labelledby": title },
      say(node("h3", { id: title, class: "pause-title", tabindex: "-1" }), "pause.title"),
      this.#inputs,
    );
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      const open = this.#fields.find((one) => !one.value);
      if (open) {
        this.#complain(say(node("span"), "pause.incomplete"));
        open.focus();
      } else {
        answer(Object.fromEntries(this.#fields.map((one) => [one.id, one.value])));
      }
    });
    this.#form.addEventListener("keydown", (event) => {
      const plain = event.key === "Enter" && !event.shiftKey && !event.isComposing;
      if (!plain || event.target.localName === "button") return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
    this.element.append(this.#form);
  }

  #buttons(leave) {
    const away = node("button", { class: "plain", type: "button" }, say(node("span"), "pause.leave"));
    away.addEventListener("click", leave);
    const send = node("button", { class: "main", type: "submit" }, say(node("span"), "pause.answer"));
    return node("div", { class: "pause-buttons" }, send, away);
  }

  /** To the first question, but not out of a message that is being written. */
  focus() {
    if (document.activeElement?.value) return;
    const first = this.#fields[0];
    // A text field would bring up the keyboard of a touch screen over its own question.
    if (touch.matches && !first.choice) this.#form.querySelector("h3").focus({ preventScroll: true });
    else first.focus();
  }

  sending() {
    this.#complaint.hidden = true;
    this.#inputs.disabled = true;
  }

  /** The given answers in place of the form; a choice by its label. */
  answered(answers) {
    if (this.#state === "answered") return;
    this.#state = "answered";
    const pairs = this.#questions.map((question) => {
      const given = answers[question.id];
      const option = question.options?.find(({ value }) => value === given);
      return { question: question.text, answer: option?.label ?? given };
    });
    this.element.replaceChildren(exchange(pairs));
  }

  left() {
    if (this.#state === "left") return;
    this.#state = "left";
    const pairs = this.#questions.map((question) => ({ question: question.text, answer: null }));
    this.element.replaceChildren(exchange(pairs));
  }

  /** The form again, as it was filled in, with the reason if there is one, a `Failed`. */
  reopen(reason = null) {
    this.#inputs.disabled = false;
    this.#state = "open";
    this.element.replaceChildren(this.#form);
    translate(this.#form);
    if (reason) this.#complain(sayFailure(node("span"), reason));
    else this.#complaint.hidden = true;
  }

  #complain(words) {
    this.#complaint.replaceChildren(icon("error"), words);
    this.#complaint.hidden = false;
  }
}

function field(question, name, schema) {
  return question.options?.length ? choice(question, name) : written(question, name, schema);
}

function choice(question, name) {
  const inputs = question.options.map((option) => node("input", { type: "radio", name, value: option.value }));
  const options = question.options.map((option, at) =>
    node("label", { class: "option", dir: "auto" }, inputs[at], node("span", {}, option.label)),
  );
  return {
    id: question.id,
    choice: true,
    element: node(
      "fieldset",
      { class: "bare ask" },
      node("legend", { dir: "auto" }, question.text),
      node("div", { class: "options" }, ...options),
    ),
    get value() {
      return inputs.find((input) => input.checked)?.value ?? "";
    },
    focus: () => inputs[0].focus(),
  };
}

function written(question, name, schema) {
  const box = node("textarea", { id: name, class: "field", rows: "1", maxlength: schema?.maxLength, dir: "auto" });
  return {
    id: question.id,
    choice: false,
    element: node("div", { class: "ask" }, node("label", { for: name, dir: "auto" }, question.text), box),
    get value() {
      return box.value.trim();
    },
    focus: () => box.focus(),
  };
}
