/** The chat page: it joins the views, the run and what the browser remembers. */

import { Composer } from "./composer.js";
import { choices, tab, uuid } from "./memory.js";
import { icon, node } from "./nodes.js";
import { PassagePanel } from "./panel.js";
import { LANGUAGES, language, say, speak } from "./phrases.js";
import { ProgressView } from "./progress.js";
import { Run } from "./run.js";
import { RunFailed, runEvents, runInput } from "./stream.js";
import { TurnView, errorBanner } from "./turn.js";

const at = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const systemDark = matchMedia("(prefers-color-scheme: dark)");

const panel = new PassagePanel();
const progress = new ProgressView();
const composer = new Composer({ submit: ask, stop: () => running?.abort() });

let tenants = [];
let tenant = null;
/** The thread of this tab; it is made when its first message is sent. */
let thread = tab.get("thread");
/** The `AbortController` of the run that is going on. */
let running = null;

// Asking

function ask(text) {
  const turn = new TurnView({ id: uuid(), text }, { retry, open: (citation) => panel.open(citation) });
  at("log").append(turn.element);
  at("welcome").hidden = true;
  return perform(turn);
}

function retry(turn) {
  if (running) return;
  composer.focus();
  // A turn that ended is in the thread's history and is asked anew; one that did not is repeated.
  if (turn.ended) ask(turn.message.text);
  else perform(turn);
}

async function perform(turn) {
  if (!thread) {
    thread = uuid();
    tab.set("thread", thread);
  }
  const run = new Run();
  const control = new AbortController();
  running = control;
  composer.running = true;
  at("log").setAttribute("aria-busy", "true");
  progress.start();
  follow.begin(turn.element);
  const show = () => {
    // A conversation that was left behind must not write into the new one.
    if (running !== control) return;
    turn.update(run);
    if (run.active) progress.update(run);
    follow.on();
  };
  show();
  try {
    const input = runInput({
      threadId: thread,
      runId: uuid(),
      message: turn.message,
      locale: choices.get("language"),
    });
    for await (const event of runEvents(input, { tenant: tenant?.id, signal: control.signal })) {
      run.apply(event);
      show();
      if (!run.active) break;
    }
    run.close();
  } catch (error) {
    if (control.signal.aborted) run.stop();
    else run.fail(error instanceof RunFailed ? error : new RunFailed("unreadable"));
  }
  turn.ended = run.phase === "finished";
  if (running !== control) return;
  progress.clear();
  show();
  running = null;
  composer.running = false;
  at("log").removeAttribute("aria-busy");
}

function startAnew() {
  running?.abort();
  running = null;
  thread = null;
  tab.drop("thread");
  progress.clear();
  composer.running = false;
  at("log").replaceChildren();
  at("log").removeAttribute("aria-busy");
  at("continued").hidden = true;
  at("welcome").hidden = false;
  showExamples();
  scrollTo({ top: 0 });
  composer.focus();
}

// Following the reply, up to the point where its question would leave the screen

const follow = {
  element: null,

  begin(element) {
    this.element = element;
    this.on(calm.matches ? "instant" : "smooth");
  },

  on(behavior = "instant") {
    if (!this.element) return;
    const lowest = document.documentElement.scrollHeight - innerHeight;
    const top = this.element.getBoundingClientRect().top + scrollY - at("main").offsetTop - 12;
    scrollTo({ top: Math.min(lowest, top), behavior });
  },

  leave() {
    this.element = null;
  },
};

for (const gesture of ["wheel", "touchmove"]) {
  addEventListener(gesture, () => follow.leave(), { passive: true });
}
addEventListener("keydown", (event) => {
  if (/^(Page|Home|End)/.test(event.key)) follow.leave();
  else if (event.key.startsWith("Arrow") && event.target.localName !== "textarea") follow.leave();
});

// Language, theme, organisation

function chooseLanguage(code) {
  speak(code);
  at("language").value = language();
  showExamples();
}

function firstLanguage() {
  const wanted = [choices.get("language"), ...navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase())];
  return wanted.find((code) => LANGUAGES.includes(code)) ?? tenant?.locale ?? "en";
}

at("language").addEventListener("change", (event) => {
  // Only a chosen language is sent with a request; otherwise the question's own language decides.
  choices.set("language", event.target.value);
  chooseLanguage(event.target.value);
});

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
}

function showTheme() {
  at("theme").setAttribute("aria-pressed", String(isDark()));
}

at("theme").addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  choices.set("theme", theme);
  showTheme();
});
systemDark.addEventListener("change", showTheme);

function chooseTenant(id) {
  tenant = tenants.find((one) => one.id === id) ?? null;
  at("organisation-name").textContent = tenant && tenants.length === 1 ? tenant.name : "";
  document.title = tenant ? `Manta · ${tenant.name}` : "Manta";
  if (tenant) {
    at("organisation").value = tenant.id;
    tab.set("tenant", tenant.id);
  }
}

at("organisation").addEventListener("change", (event) => {
  chooseTenant(event.target.value);
  startAnew();
});

at("new").addEventListener("click", startAnew);

function showExamples() {
  const examples = tenant?.examples?.[language()] ?? tenant?.examples?.[tenant.locale] ?? [];
  const items = examples.map((text) => {
    const button = node("button", { type: "button", class: "example" }, text);
    button.addEventListener("click", () => {
      if (running) return;
      composer.focus();
      ask(text);
    });
    return node("li", {}, button);
  });
  at("examples").replaceChildren(...items);
  at("examples-field").hidden = items.length === 0;
}

// Starting

async function start() {
  at("failure").replaceChildren();
  let config;
  try {
    const response = await fetch("page-config", { cache: "no-store" });
    if (!response.ok) throw new RunFailed("status");
    config = await response.json();
  } catch {
    const again = node("button", { class: "again", type: "button" }, icon("retry"), say(node("span"), "retry"));
    again.addEventListener("click", start);
    at("failure").replaceChildren(errorBanner(new RunFailed("config"), again));
    return;
  }
  tenants = config.tenants ?? [];
  at("organisation").replaceChildren(...tenants.map((one) => node("option", { value: one.id }, one.name)));
  at("organisation-field").hidden = tenants.length < 2;
  const known = [tab.get("tenant"), config.default_tenant].find((id) => tenants.some((one) => one.id === id));
  chooseTenant(known ?? tenants[0]?.id);
  chooseLanguage(firstLanguage());
  composer.open(config.message_chars ?? Infinity);
  composer.focus();
}

chooseLanguage(firstLanguage());
showTheme();
at("continued").hidden = !thread;
start();
