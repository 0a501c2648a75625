/**
 * All texts of the page in three languages.
 *
 * A node names its phrase in `data-phrase` (its text) or `data-phrase-<attribute>`, so that
 * switching the language is one walk over the document, past turns included.
 */

import { english } from "./english.js";
import { french } from "./french.js";
import { german } from "./german.js";

export const LANGUAGES = ["en", "fr", "de"];

const TABLES = { en: english, fr: french, de: german };
let current = "en";

export function language() {
  return current;
}

/** The language as the person's browser writes its dates: British English, Swiss German. */
export function region() {
  return navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === current) ?? current;
}

export function has(key) {
  return Object.hasOwn(english, key);
}

/** The phrase in the page's language; numbers are written as that language writes them. */
export function phrase(key, values = {}) {
  const text = TABLES[current][key] ?? english[key];
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(current) : String(value ?? "");
  });
}

/** Give a node a phrase as its text, or as one of its attributes, that follows the language. */
export function say(target, key, values = null, attribute = null) {
  target.setAttribute(attribute ? `data-phrase-${attribute}` : "data-phrase", key);
  if (values) target.dataset.values = JSON.stringify(values);
  put(target);
  return target;
}

/** What went wrong, in the server's words where it has any. */
export function sayFailure(target, failure) {
  if (failure?.detail) {
    target.removeAttribute("data-phrase");
    target.setAttribute("dir", "auto");
    target.textContent = failure.detail;
    return target;
  }
  const values = failure?.status ? { status: String(failure.status) } : null;
  return say(target, `error.${failure?.kind ?? "run"}`, values);
}

function put(target) {
  const values = target.dataset.values ? JSON.parse(target.dataset.values) : {};
  for (const { name, value } of Array.from(target.attributes)) {
    if (name === "data-phrase") target.textContent = phrase(value, values);
    else if (name.startsWith("data-phrase-")) {
      target.setAttribute(name.slice("data-phrase-".length), phrase(value, values));
    }
  }
}

const PHRASED = ["", "-aria-label", "-title", "-placeholder"].map((end) => `[data-phrase${end}]`).join();

/** Put all texts below `root` in the page's language; what was out of the document has missed it. */
export function translate(root) {
  for (const target of root.querySelectorAll(PHRASED)) put(target);
}

export function speak(code) {
  current = LANGUAGES.includes(code) ? code : "en";
  document.documentElement.lang = current;
  translate(document);
}
