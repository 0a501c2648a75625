/** Light or dark: as the system is, until it is chosen. */

import { choices } from "./memory.js";

const button = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
}

function show() {
  button.setAttribute("aria-pressed", String(isDark()));
}

export function offerThemes() {
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    choices.set("theme", theme);
    show();
  });
  systemDark.addEventListener("change", show);
  show();
}
