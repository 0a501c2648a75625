/** Questions to begin with, in groups, so that a dozen of them is no wall. */

import { node } from "./nodes.js";

const at = (id) => document.getElementById(id);
let groups = 0;

/** @param examples plain questions, or groups `{ title, prompts }` of them */
export function showExamples(examples, choose) {
  const plain = examples.filter((one) => typeof one === "string");
  const grouped = examples.filter((one) => typeof one !== "string");
  const parts = grouped.map(({ title, prompts }) => {
    groups += 1;
    const name = `examples-${groups}`;
    return node(
      "section",
      { class: "example-group", "aria-labelledby": name },
      node("h4", { id: name, dir: "auto" }, title),
      list(prompts, choose, "examples"),
    );
  });
  if (plain.length) parts.unshift(list(plain, choose, "examples loose"));
  at("examples").replaceChildren(...parts);
  at("examples-field").hidden = parts.length === 0;
}

function list(prompts, choose, kind) {
  const items = prompts.map((text) => {
    const button = node("button", { type: "button", class: "example", dir: "auto" }, text);
    button.addEventListener("click", () => choose(text));
    return node("li", {}, button);
  });
  return node("ul", { class: kind }, ...items);
}
