/** What Manta remembers about the person: read, corrected, added to and erased by that person. */

import { confirmed } from "./confirmation.js";
import { icon, node } from "./nodes.js";
import { language, region, say, sayFailure } from "./phrases.js";
import { call, data } from "./server.js";

const at = (id) => document.getElementById(id);
const PATH = "v1/preferences";

export class RememberedFacts {
  #dialog = at("remembered");
  #list = at("facts");
  #failure = at("facts-failure");
  #facts = [];

  constructor() {
    at("remembered-open").addEventListener("click", () => this.#open());
    at("remembered-close").addEventListener("click", () => this.#dialog.close());
    at("facts-erase").addEventListener("click", () => this.#erase());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
    at("facts-add").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add();
    });
  }

  async #open() {
    this.#facts = [];
    this.#draw();
    at("facts-empty").hidden = true;
    this.#dialog.showModal();
    await this.#attempt(() => this.#read());
  }

  async #read() {
    this.#facts = (await data(PATH)).facts;
    this.#draw();
  }

  async #add() {
    const box = at("fact-new");
    const text = box.value.trim();
    if (!text) return box.focus();
    const since = new Date().toLocaleDateString("sv");
    const fact = { text, language: language(), since };
    if (await this.#change((facts) => [...facts, fact])) box.value = "";
    box.focus();
  }

  async #erase() {
    if (!(await confirmed("erase_facts"))) return;
    await this.#attempt(async () => {
      await call(PATH, { method: "DELETE" });
      await this.#read();
    });
    at("fact-new").focus();
  }

  /** A turn may have added a fact meanwhile, so the change is made to the list as it is now. */
  #change(changed) {
    return this.#attempt(async () => {
      const { facts } = await data(PATH);
      this.#facts = (await data(PATH, { method: "PUT", json: { facts: changed(facts) } })).facts;
      this.#draw();
    });
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

  #draw() {
    this.#list.replaceChildren(...this.#facts.map((fact) => this.#row(fact)));
    at("facts-empty").hidden = this.#facts.length > 0;
    at("facts-erase").hidden = this.#facts.length === 0;
  }

  #row(fact) {
    const since = new Date(`${fact.since}T12:00`).toLocaleDateString(region(), { dateStyle: "medium" });
    const row = node("li", { class: "fact" });
    const edit = this.#tool("edit", "facts.edit", fact, () => this.#editing(row, fact));
    const remove = this.#tool("delete", "facts.delete", fact, async () => {
      await this.#change((facts) => facts.filter((one) => !same(one, fact)));
      at("fact-new").focus();
    });
    row.replaceChildren(
      node(
        "div",
        { class: "fact-text" },
        node("p", { lang: fact.language, dir: "auto" }, fact.text),
        say(node("p", { class: "fact-since" }), "facts.since", { date: since }),
      ),
      edit,
      remove,
    );
    return row;
  }

  #tool(symbol, key, fact, act) {
    const button = node("button", { class: "quiet", type: "button" }, icon(symbol));
    say(button, key, { fact: fact.text }, "aria-label");
    button.addEventListener("click", act);
    return button;
  }

  #editing(row, fact) {
    const box = node("textarea", { class: "field", rows: "2", dir: "auto", lang: fact.language });
    say(box, "facts.edit", { fact: fact.text }, "aria-label");
    box.value = fact.text;
    const cancel = node("button", { class: "plain", type: "button" }, say(node("span"), "cancel"));
    const save = node("button", { class: "main small", type: "submit" }, say(node("span"), "save"));
    const form = node("form", { class: "fact-edit", novalidate: "" }, box, node("div", { class: "row" }, save, cancel));
    const close = () => {
      const fresh = this.#row(fact);
      row.replaceWith(fresh);
      fresh.querySelector("button").focus();
    };
    cancel.addEventListener("click", close);
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      close();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const text = box.value.trim();
      if (!text || text === fact.text) return close();
      const corrected = (facts) => facts.map((one) => (same(one, fact) ? { ...one, text } : one));
      if (await this.#change(corrected)) at("fact-new").focus();
    });
    row.replaceChildren(form);
    box.focus();
  }
}

function same(one, other) {
  return one.text === other.text && one.since === other.since;
}
