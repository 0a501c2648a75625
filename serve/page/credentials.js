/** The key or token of the person, where the deployment asks for one. It lives as long as the tab. */

import { tab } from "./memory.js";
import { say, sayFailure } from "./phrases.js";
import { Failed, data } from "./server.js";

const at = (id) => document.getElementById(id);
// What cannot stand in a header is no key; asking the server about it would only fail obscurely.
const POSSIBLE = /^[\x21-\x7e]+$/;

export class Credentials {
  #dialog = at("credentials");
  #field = at("key");
  #failure = at("key-failure");

  get token() {
    return tab.get("token");
  }

  forget() {
    tab.drop("token");
  }

  /** The settings that the server shows to the holder of a valid key; asks until there is one. */
  ask(failure, mode) {
    say(at("credentials-title"), mode === "jwt" ? "key.title_jwt" : "key.title");
    say(at("key-label"), mode === "jwt" ? "key.label_jwt" : "key.label");
    this.#field.value = "";
    this.#complain(failure);
    // A page that nobody has signed in to has nothing to show, so the question stays.
    const stay = (event) => event.preventDefault();
    this.#dialog.addEventListener("cancel", stay);
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#field.focus();
    return new Promise((resolve) => {
      const form = at("key-form");
      const submitted = async (event) => {
        event.preventDefault();
        const config = await this.#admitted(this.#field.value.trim());
        if (!config) return this.#field.focus();
        form.removeEventListener("submit", submitted);
        this.#dialog.removeEventListener("cancel", stay);
        this.#field.value = "";
        this.#dialog.close();
        resolve(config);
      };
      form.addEventListener("submit", submitted);
    });
  }

  async #admitted(key) {
    if (!POSSIBLE.test(key)) {
      this.#complain(new Failed("key"));
      return null;
    }
    try {
      const config = await data("page-config", { token: key });
      tab.set("token", key);
      return config;
    } catch (error) {
      this.#complain(error);
      return null;
    }
  }

  #complain(failure) {
    this.#failure.hidden = !failure;
    if (failure) sayFailure(this.#failure, failure);
    this.#field.setAttribute("aria-invalid", String(Boolean(failure)));
  }
}
