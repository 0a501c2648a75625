/** The list of the owner's conversations: the latest first, one page after the other. */

import { confirmed } from "./confirmation.js";
import { HistoryItem } from "./history_item.js";
import { node } from "./nodes.js";
import { sayFailure } from "./phrases.js";
import { call, conversationPath, data } from "./server.js";

const at = (id) => document.getElementById(id);
/** How many are asked for at once; a list that has grown is looked at again as far as may be. */
const FIRST = 20;
const MOST = 100;

export class HistoryView {
  #list = at("history-list");
  #more = at("history-more");
  #status = at("history-status");
  #items = new Map();
  #next = null;
  #current = null;
  #busy = new Set();
  #asked = 0;
  #known = false;
  #hooks;

  /** `open(id)` shows a conversation, `removed(id)` tells that it is gone. */
  constructor(hooks) {
    this.#hooks = hooks;
    this.#more.addEventListener("click", () => this.#load(this.#next));
    at("history-retry").addEventListener("click", () => this.refresh());
  }

  /** Look again, at as many as are shown. */
  async refresh() {
    await this.#load(null);
  }

  /** Another organisation or person: nothing of the former one may stay on the screen. */
  clear() {
    this.#asked += 1;
    this.#known = false;
    this.#items.clear();
    this.#next = null;
    this.#draw();
  }

  /** Which conversation is shown, and in which ones a reply is being written. */
  mark(current, busy) {
    this.#current = current;
    this.#busy = busy;
    for (const [id, item] of this.#items) item.mark(id === current, busy.has(id));
  }

  /** Dates are written anew in the page's language. */
  redraw() {
    for (const item of this.#items.values()) item.date();
  }

  async #load(before) {
    this.#asked += 1;
    const asked = this.#asked;
    const shown = this.#items.size;
    const query = before
      ? { before }
      : { limit: String(Math.min(Math.max(shown, FIRST), MOST)) };
    this.#more.disabled = true;
    try {
      const page = await data(`v1/conversations?${new URLSearchParams(query)}`);
      if (asked !== this.#asked) return;
      const found = page.data.map((record) => [record.id, this.#item(record)]);
      this.#items = new Map(before ? [...this.#items, ...found] : found);
      this.#next = page.next;
      this.#known = true;
      this.#status.hidden = true;
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#more.disabled = false;
      // A list that was only to be brought up to date is still a list.
      if (this.#known && !before) return;
      sayFailure(at("history-failure"), error);
      this.#status.hidden = false;
    }
    this.#more.disabled = false;
    this.#draw();
  }

  #item(record) {
    const item =
      this.#items.get(record.id) ??
      new HistoryItem(record.id, {
        open: () => this.#hooks.open(record.id),
        rename: (title) => this.#rename(record.id, title),
        download: () => this.#download(record.id),
        remove: () => this.#remove(record.id),
      });
    item.show(record);
    return item;
  }

  async #rename(id, title) {
    const record = await data(conversationPath(id), { method: "PATCH", json: { title } });
    this.#items.get(id)?.show(record);
  }

  async #download(id) {
    const response = await call(conversationPath(id, "export"));
    const address = URL.createObjectURL(await response.blob());
    const name = `${this.#items.get(id)?.title || "conversation"}.json`;
    node("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  async #remove(id) {
    const title = this.#items.get(id)?.title ?? "";
    if (!(await confirmed("delete_conversation", { title }))) return;
    await call(conversationPath(id), { method: "DELETE" });
    this.#items.delete(id);
    this.#draw();
    this.#hooks.removed(id);
  }

  #draw() {
    // The focus stays where it is: only what changed its place is moved.
    const items = [...this.#items.values()];
    const elements = items.map((item) => item.element);
    items.forEach((item, at) => item.head(item.day !== items[at - 1]?.day));
    elements.forEach((element, at) => {
      if (this.#list.children[at] !== element) this.#list.insertBefore(element, this.#list.children[at] ?? null);
    });
    while (this.#list.children.length > elements.length) this.#list.lastElementChild.remove();
    this.#more.hidden = this.#next === null;
    at("history-empty").hidden = elements.length > 0 || !this.#status.hidden;
    this.mark(this.#current, this.#busy);
  }
}
