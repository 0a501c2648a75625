/** One conversation in the list: its title, when it was last used, and what can be done with it. */

import { icon, node } from "./nodes.js";
import { region, say, sayFailure } from "./phrases.js";

let items = 0;

export class HistoryItem {
  element = node("li", { class: "past" });
  title = "";
  #updated = 0;
  #day = node("h3", { class: "past-day" });
  #name = node("span", { class: "past-title", dir: "auto" });
  #when = node("time", { class: "unseen" });
  #open = node("button", { class: "past-open", type: "button" }, this.#name, " ", this.#when);
  #toggle;
  #actions;
  #failure = node("p", { class: "complaint", role: "alert", hidden: "" });
  #hooks;

  /** `open()`, `rename(title)`, `download()` and `remove()`; the last three may reject with `Failed`. */
  constructor(id, hooks) {
    this.#hooks = hooks;
    items += 1;
    const name = `past-${items}`;
    this.#open.addEventListener("click", hooks.open);
    this.#toggle = node(
      "button",
      { class: "past-toggle", type: "button", "aria-expanded": "false", "aria-controls": name },
      icon("more"),
    );
    this.#actions = node(
      "div",
      { id: name, class: "past-actions", hidden: "" },
      this.#action("edit", "history.rename", () => this.#renaming()),
      this.#action("download", "history.download", hooks.download),
      this.#action("delete", "history.delete", hooks.remove),
    );
    this.#toggle.addEventListener("click", () => this.#expand(this.#actions.hidden));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.#actions.hidden) return;
      event.stopPropagation();
      event.preventDefault();
      this.#expand(false);
      this.#toggle.focus();
    });
    this.#rest();
  }

  show(record) {
    this.title = record.title;
    this.#updated = record.updated;
    this.#name.textContent = record.title;
    say(this.#toggle, "history.actions", { title: record.title }, "aria-label");
    this.date();
  }

  /** The phrase for the days in which it was last used. */
  get day() {
    const midnight = new Date().setHours(0, 0, 0, 0);
    const moment = this.#updated * 1000;
    if (moment >= midnight) return "history.today";
    return moment >= midnight - 6 * 86_400_000 ? "history.week" : "history.earlier";
  }

  /** The first of its days bears their name. */
  head(first) {
    say(this.#day, this.day).hidden = !first;
  }

  date() {
    const moment = new Date(this.#updated * 1000);
    const words = moment.toLocaleString(region(), { dateStyle: "medium", timeStyle: "short" });
    this.#when.textContent = words;
    this.#when.setAttribute("datetime", moment.toISOString());
    this.#open.title = `${this.title}\n${words}`;
  }

  mark(current, busy) {
    this.#open.setAttribute("aria-current", String(current));
    this.element.classList.toggle("busy", busy);
  }

  #action(symbol, key, act) {
    const button = node("button", { class: "past-action", type: "button" }, icon(symbol), say(node("span"), key));
    button.addEventListener("click", () => this.#attempt(act));
    return button;
  }

  async #attempt(act) {
    this.#failure.hidden = true;
    try {
      await act();
      return true;
    } catch (error) {
      sayFailure(this.#failure, error).hidden = false;
      return false;
    }
  }

  #expand(open) {
    this.#actions.hidden = !open;
    this.#failure.hidden = true;
    this.#toggle.setAttribute("aria-expanded", String(open));
  }

  #rest() {
    this.element.replaceChildren(
      this.#day,
      node("div", { class: "past-row" }, this.#open, this.#toggle),
      this.#actions,
      this.#failure,
    );
  }

  #renaming() {
    const box = node("input", { class: "field", type: "text", autocomplete: "off", dir: "auto" });
    say(box, "history.new_title", null, "aria-label");
    box.value = this.title;
    const save = node("button", { class: "main small", type: "submit" }, say(node("span"), "save"));
    const form = node("form", { class: "past-rename", novalidate: "" }, box, save);
    const close = () => {
      this.#rest();
      this.#expand(false);
      this.#toggle.focus();
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await this.#attempt(() => this.#hooks.rename(box.value))) close();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      event.preventDefault();
      close();
    });
    this.element.replaceChildren(this.#day, form, this.#failure);
    box.focus();
    box.select();
  }
}
