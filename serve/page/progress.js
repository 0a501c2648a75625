/** What is happening now. It is gone when the run ends. */

import { node } from "./nodes.js";
import { has, say } from "./phrases.js";

const SHOWN_BEFORE = 4;
const SECONDS_SHOWN_FROM = 2;

export class ProgressView {
  #root = document.getElementById("progress");
  #trail = document.getElementById("trail");
  #now = document.getElementById("now");
  #elapsed = document.getElementById("elapsed");
  #clock = null;
  #shown = "";
  #active = null;

  /** The run that is going on in the shown conversation, or null. */
  show(active) {
    if (active !== this.#active) {
      this.#clear();
      this.#active = active;
      if (active) this.#start(active.since);
    }
    if (active) this.#update(active);
  }

  #start(begun) {
    this.#root.classList.add("active");
    this.#clock = setInterval(() => {
      const seconds = Math.floor((performance.now() - begun) / 1000);
      if (seconds >= SECONDS_SHOWN_FROM) this.#elapsed.textContent = `${seconds} s`;
    }, 250);
  }

  #update({ run, broken, stopping }) {
    const known = run.trail.filter(has);
    const last = stopping ? "activity.stopping" : known.at(-1);
    const shown = JSON.stringify([known, last, broken, run.comment, Boolean(run.text)]);
    // The status is read aloud whenever it changes, so it is left alone while it says the same.
    if (shown === this.#shown) return;
    this.#shown = shown;
    const before = run.text ? [] : known.slice(0, -1).slice(-SHOWN_BEFORE);
    this.#trail.replaceChildren(...before.map((key) => say(node("li"), key)));
    this.#now.replaceChildren(
      say(node("p", { class: "activity" }), last),
      ...(broken ? [say(node("p", { class: "comment" }), "activity.reconnecting")] : []),
      ...(run.comment ? [node("p", { class: "comment", dir: "auto" }, run.comment)] : []),
    );
  }

  #clear() {
    clearInterval(this.#clock);
    this.#shown = "";
    this.#root.classList.remove("active");
    this.#trail.replaceChildren();
    this.#now.replaceChildren();
    this.#elapsed.textContent = "";
  }
}
