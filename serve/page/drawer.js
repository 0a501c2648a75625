/** Where the list of conversations stands: beside the conversation, or in a drawer over it. */

import { choices } from "./memory.js";

const at = (id) => document.getElementById(id);
const wide = matchMedia("(min-width: 60rem)");

export class Drawer {
  #nav = at("history");
  #dialog = at("drawer");
  #toggle = at("history-toggle");

  constructor() {
    this.#toggle.addEventListener("click", () => this.#show(!this.#shown));
    at("drawer-close").addEventListener("click", () => this.#show(false));
    this.#dialog.addEventListener("close", () => this.#say());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
    wide.addEventListener("change", () => this.#place());
    this.#place();
  }

  /** A conversation was chosen: over it, the list has done its work. */
  done() {
    if (this.#dialog.open) this.#dialog.close();
  }

  get #shown() {
    return wide.matches ? !this.#nav.hidden : this.#dialog.open;
  }

  #place() {
    if (this.#dialog.open) this.#dialog.close();
    if (wide.matches) at("layout").prepend(this.#nav);
    else this.#dialog.append(this.#nav);
    this.#nav.hidden = wide.matches && choices.get("history") === "hidden";
    this.#say();
  }

  #show(shown) {
    if (wide.matches) {
      this.#nav.hidden = !shown;
      choices.set("history", shown ? "shown" : "hidden");
      if (!shown) this.#toggle.focus();
    } else if (shown) this.#dialog.showModal();
    else this.#dialog.close();
    this.#say();
  }

  #say() {
    this.#toggle.setAttribute("aria-expanded", String(this.#shown));
  }
}
