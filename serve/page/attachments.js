/** Documents of the conversation: added with a button or dropped, shown as chips, removed. */

import { icon, node } from "./nodes.js";
import { language, say, sayFailure } from "./phrases.js";
import { call, conversationPath } from "./server.js";
import { upload } from "./upload.js";

const at = (id) => document.getElementById(id);

export class Attachments {
  #list = at("documents");
  #conversation = null;
  #uploading = 0;
  #hooks;

  /**
   * @param hooks `conversation()` is the one that is shown, made if need be; `added(conversation)`
   * tells that it has another document, `busy(value)` whether something is on its way
   */
  constructor(hooks) {
    this.#hooks = hooks;
    const input = at("attach-file");
    at("attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.#add(input.files);
      input.value = "";
    });
    this.#acceptDrops();
  }

  show(conversation) {
    if (this.#conversation === conversation) return;
    this.#conversation = conversation;
    this.list();
  }

  /** The chips of the documents that the shown conversation has. */
  list() {
    const conversation = this.#conversation;
    this.#list.replaceChildren(...(conversation?.documents ?? []).map((one) => this.#chip(conversation, one)));
    this.#refresh();
  }

  #add(files) {
    if (!files.length) return;
    const conversation = this.#hooks.conversation();
    this.show(conversation);
    for (const file of files) this.#upload(conversation, file);
  }

  async #upload(conversation, file) {
    const bar = node("progress", { max: "1", value: "0" });
    say(bar, "documents.uploading", { name: file.name }, "aria-label");
    const control = new AbortController();
    const cancel = this.#cross("documents.cancel", file.name, () => control.abort());
    const chip = node("li", { class: "chip sending" }, icon("document"), name(file), bar, cancel);
    this.#list.append(chip);
    this.#refresh();
    this.#busy(1);
    try {
      const kept = await upload(conversationPath(conversation.id, "documents"), file, {
        signal: control.signal,
        progress: (share) => (bar.value = share),
      });
      conversation.documents = [...conversation.documents, kept];
      chip.replaceWith(this.#chip(conversation, kept));
      this.#tell("documents.added", kept.name);
      this.#hooks.added(conversation);
    } catch (error) {
      if (control.signal.aborted) chip.remove();
      else this.#refused(chip, file, error);
    }
    this.#busy(-1);
    this.#refresh();
  }

  #refused(chip, file, failure) {
    const words = sayFailure(node("span", { class: "chip-failure", role: "alert" }), failure);
    const dismiss = this.#cross("documents.dismiss", file.name, () => {
      chip.remove();
      this.#refresh();
    });
    chip.className = "chip refused";
    chip.replaceChildren(icon("error"), node("span", { class: "chip-text" }, name(file), words), dismiss);
  }

  #chip(conversation, kept) {
    const remove = this.#cross("documents.remove", kept.name, async () => {
      remove.disabled = true;
      try {
        await call(conversationPath(conversation.id, "documents", kept.id), { method: "DELETE" });
      } catch (error) {
        if (error.status !== 404) {
          remove.disabled = false;
          const words = sayFailure(node("span", { class: "chip-failure", role: "alert" }), error);
          chip.querySelector(".chip-failure")?.remove();
          chip.insertBefore(words, remove);
          return;
        }
      }
      conversation.documents = conversation.documents.filter((one) => one.id !== kept.id);
      chip.remove();
      this.#tell("documents.removed", kept.name);
      this.#refresh();
      at("attach").focus({ preventScroll: true });
    });
    const size = node("span", { class: "chip-size" }, bytes(kept.bytes));
    const chip = node("li", { class: "chip" }, icon("document"), name(kept), size, remove);
    return chip;
  }

  #cross(key, title, act) {
    const button = node("button", { class: "chip-cross", type: "button" }, icon("close"));
    say(button, key, { name: title }, "aria-label");
    button.addEventListener("click", act);
    return button;
  }

  #busy(change) {
    this.#uploading += change;
    this.#hooks.busy(this.#uploading > 0);
  }

  #tell(key, title) {
    say(at("documents-status"), key, { name: title });
  }

  #refresh() {
    this.#list.hidden = this.#list.childElementCount === 0;
  }

  #acceptDrops() {
    const veil = at("drop");
    const carriesFiles = (event) => event.dataTransfer?.types.includes("Files") && !document.querySelector("dialog[open]");
    addEventListener("dragover", (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      veil.hidden = false;
    });
    addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) veil.hidden = true;
    });
    addEventListener("drop", (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      veil.hidden = true;
      this.#add(event.dataTransfer.files);
    });
  }
}

function name(file) {
  return node("span", { class: "chip-name", dir: "auto", title: file.name }, file.name);
}

function bytes(count) {
  const [unit, amount] = count < 1e6 ? ["kilobyte", count / 1e3] : ["megabyte", count / 1e6];
  const form = { style: "unit", unit, unitDisplay: "short", maximumSignificantDigits: 2 };
  return amount.toLocaleString(language(), form);
}
