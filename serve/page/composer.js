/** The message box: what is written, whether it may be sent, and the buttons beside it. */

import { say } from "./phrases.js";

const touch = matchMedia("(pointer: coarse)");

export class Composer {
  #box = document.getElementById("message");
  #send = document.getElementById("send");
  #stop = document.getElementById("stop");
  #tooLong = document.getElementById("too-long");
  #limit = Infinity;
  #ready = false;
  #running = false;
  #held = false;
  /** Enter was pressed before the message could go: it goes as soon as it can. */
  #waiting = false;

  constructor({ submit, stop }) {
    const form = document.getElementById("composer");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.#box.value.trim();
      this.#waiting = !this.#ready || this.#held;
      if (!this.#maySend(text)) return;
      this.#box.value = "";
      this.#refresh();
      submit(text);
    });
    this.#box.addEventListener("input", () => this.#refresh());
    this.#box.addEventListener("keydown", (event) => {
      // Enter also ends the composition of a character in many scripts; that one must not send.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    this.#stop.addEventListener("click", () => {
      stop();
      this.focus();
    });
  }

  open(limit) {
    this.#limit = limit;
    this.#ready = true;
    this.#release();
  }

  /** While a document is on its way, a message about it must not overtake it. */
  set held(value) {
    this.#held = value;
    this.#release();
  }

  /** Of the run that is going on: whether there is one, and whether it is being stopped. */
  running(value, stopping) {
    this.#running = value;
    this.#send.hidden = value;
    this.#stop.hidden = !value;
    this.#stop.disabled = stopping;
    this.#refresh();
  }

  #release() {
    this.#refresh();
    if (this.#waiting && this.#ready && !this.#held) document.getElementById("composer").requestSubmit();
  }

  /** On a touch screen the focus would bring up the keyboard over the reply. */
  focus() {
    if (!touch.matches) this.#box.focus({ preventScroll: true });
  }

  #maySend(text) {
    return this.#ready && !this.#held && !this.#running && text !== "" && length(text) <= this.#limit;
  }

  #refresh() {
    const text = this.#box.value.trim();
    const over = length(text) > this.#limit;
    this.#send.disabled = !this.#maySend(text);
    this.#box.setAttribute("aria-invalid", String(over));
    if (over) say(this.#tooLong, "too_long", { count: length(text), limit: this.#limit });
    this.#tooLong.hidden = !over;
  }
}

/** In characters as the server counts them, which are not UTF-16 units. */
function length(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
