/** One question before something is deleted for good. */

import { say } from "./phrases.js";

const at = (id) => document.getElementById(id);

/** Whether the person really wants it; `key` names the phrases `<key>.title`, `.text` and `.do`. */
export function confirmed(key, values = null) {
  const dialog = at("confirmation");
  say(at("confirmation-title"), `${key}.title`);
  say(at("confirmation-text"), `${key}.text`, values);
  say(at("confirmation-do"), `${key}.do`);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "do"), { once: true });
  });
}

at("confirmation-do").addEventListener("click", () => at("confirmation").close("do"));
at("confirmation-cancel").addEventListener("click", () => at("confirmation").close());
