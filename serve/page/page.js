/** The chat page: it joins the views, the conversations and what the browser remembers. */

import { offerThemes } from "./appearance.js";
import { Attachments } from "./attachments.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Credentials } from "./credentials.js";
import { Drawer } from "./drawer.js";
import { showExamples } from "./examples.js";
import { HistoryView } from "./history.js";
import { choices, tab, uuid } from "./memory.js";
import { icon, node } from "./nodes.js";
import { PassagePanel } from "./panel.js";
import { LANGUAGES, language, say, speak, translate } from "./phrases.js";
import { ProgressView } from "./progress.js";
import { RememberedFacts } from "./remembered.js";
import { keptRun } from "./running.js";
import { Scrolling } from "./scrolling.js";
import { Failed, actFor, conversationPath, data, whenRefused } from "./server.js";
import { errorBanner } from "./turn.js";

const at = (id) => document.getElementById(id);

const panel = new PassagePanel();
const progress = new ProgressView();
const scrolling = new Scrolling();
const credentials = new Credentials();
const drawer = new Drawer();
const history = new HistoryView({ open, removed });
const composer = new Composer({ submit: ask, stop: () => shown?.stop() });
const attachments = new Attachments({
  conversation: () => shown ?? show(begin(uuid())),
  added: () => history.refresh(),
  busy: (value) => (composer.held = value),
});
new RememberedFacts();

let tenants = [];
let tenant = null;
/** How requests are authenticated, and who is signed in; null where nobody has to. */
let mode = null;
let person = null;
/** The conversation on the screen, if one was begun or opened. */
let shown = null;
/** The conversation that is being fetched. */
let opening = null;
/** Conversations in which a run goes on, on the screen or not, by id. */
const live = new Map();

// Conversations

function begin(id) {
  return new Conversation(id, {
    open: (citation) => panel.open(citation),
    locale: () => choices.get("language"),
    changed(conversation) {
      if (conversation.active) live.set(conversation.id, conversation);
      else live.delete(conversation.id);
      draw();
      if (conversation === shown) scrolling.follow();
    },
    ended(conversation) {
      history.refresh();
      if (conversation !== shown) return;
      if (conversation.waiting) conversation.waiting.pause.focus();
      // The form that was answered has taken the focus with it.
      else if (document.activeElement === document.body) composer.focus();
    },
  });
}

function ask(text) {
  at("failure").replaceChildren();
  const turn = (shown ?? show(begin(uuid()))).ask(text);
  scrolling.begin(turn.element);
}

function show(conversation) {
  opening = null;
  shown = conversation;
  at("failure").replaceChildren();
  quietly(() => at("log").replaceChildren(...(shown ? [shown.element] : [])));
  if (shown) {
    tab.set("thread", shown.id);
    translate(shown.element);
  } else tab.drop("thread");
  attachments.show(shown);
  scrolling.leave();
  draw();
  return shown;
}

/** What depends on the shown conversation and on the runs that go on. */
function draw() {
  const active = shown?.active ?? null;
  at("welcome").hidden = !(shown?.empty ?? true);
  at("loading").hidden = opening === null;
  if (active) at("log").setAttribute("aria-busy", "true");
  else at("log").removeAttribute("aria-busy");
  at("hint-paused").hidden = !shown?.waiting || active !== null;
  composer.running(active !== null, active?.stopping ?? false);
  progress.show(active);
  history.mark(shown?.id ?? null, new Set(live.keys()));
}

/** What was said long ago is not read aloud when it is shown again. */
function quietly(change) {
  at("log").setAttribute("aria-live", "off");
  change();
  setTimeout(() => at("log").setAttribute("aria-live", "polite"), 500);
}

function startAnew() {
  drawer.done();
  show(null);
  scrollTo({ top: 0 });
  composer.focus();
}

/** A conversation of the list, or the tab's own, which may never have come to anything. */
async function open(id, { own = false } = {}) {
  drawer.done();
  if (id === shown?.id && opening === null) return;
  if (live.has(id)) {
    show(live.get(id));
    scrolling.toEnd();
    return;
  }
  opening = id;
  draw();
  let kept = null;
  try {
    kept = await data(conversationPath(id));
  } catch (error) {
    if (opening !== id) return;
    // Of a run that is still going on in a new conversation the server keeps only the events.
    if (error.status !== 404 || !keptRun(id)) return notOpened(id, error, own);
  }
  if (opening !== id) return;
  const conversation = show(begin(id));
  if (kept) quietly(() => conversation.load(kept));
  else conversation.resume();
  attachments.list();
  draw();
  scrolling.toEnd();
  composer.focus();
}

function notOpened(id, failure, own) {
  opening = null;
  draw();
  const gone = failure.status === 404;
  if (gone && own) tab.drop("thread");
  else if (gone) history.refresh();
  if (failure.kind === "left" || (gone && own)) return;
  complain(failure, gone ? null : () => open(id, { own }));
}

function removed(id) {
  live.get(id)?.leave();
  if (id === shown?.id) startAnew();
}

function complain(failure, retry) {
  const again = retry && node("button", { class: "again", type: "button" }, icon("retry"), say(node("span"), "retry"));
  again?.addEventListener("click", retry);
  at("failure").replaceChildren(errorBanner(failure, again));
}

/** Another organisation or another person: nothing of the former one stays. */
function leaveAll() {
  for (const conversation of live.values()) conversation.leave();
  live.clear();
  history.clear();
  startAnew();
}

// Language and organisation

function chooseLanguage(code) {
  speak(code);
  at("language").value = language();
  offerExamples();
  history.redraw();
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

function chooseTenant(id) {
  tenant = tenants.find((one) => one.id === id) ?? null;
  at("organisation-name").textContent = tenant && tenants.length === 1 ? tenant.name : "";
  document.title = tenant ? `Manta · ${tenant.name}` : "Manta";
  // With a key or token the server knows the organisation, and nothing may contradict it.
  actFor({ tenant: mode ? null : tenant?.id, token: mode ? credentials.token : null });
  if (!tenant) return;
  at("organisation").value = tenant.id;
  tab.set("tenant", tenant.id);
}

at("organisation").addEventListener("change", (event) => {
  chooseTenant(event.target.value);
  leaveAll();
  offerExamples();
  history.refresh();
});

at("new").addEventListener("click", startAnew);

function offerExamples() {
  const examples = tenant?.examples?.[language()] ?? tenant?.examples?.[tenant.locale] ?? [];
  showExamples(examples, (text) => {
    composer.focus();
    ask(text);
  });
}

// Signing in and starting

function settle(config) {
  mode = config.auth ?? null;
  person = config.user ?? null;
  tenants = config.tenants ?? [];
  at("organisation").replaceChildren(...tenants.map((one) => node("option", { value: one.id }, one.name)));
  at("organisation-field").hidden = tenants.length < 2;
  at("signed-in").hidden = mode === null;
  at("person").textContent = person ?? "";
  const known = [tab.get("tenant"), config.default_tenant].find((id) => tenants.some((one) => one.id === id));
  chooseTenant(known ?? tenants[0]?.id);
  chooseLanguage(firstLanguage());
}

whenRefused(async (failure) => {
  const before = [person, tenant?.id];
  settle(await credentials.ask(failure, mode));
  if (before[0] === person && before[1] === tenant?.id) return;
  leaveAll();
  history.refresh();
  throw new Failed("left");
});

at("sign-out").addEventListener("click", () => {
  leaveAll();
  credentials.forget();
  tab.clear();
  location.reload();
});

async function start() {
  at("failure").replaceChildren();
  let config;
  try {
    config = await settings();
  } catch (error) {
    complain(error.detail ? error : new Failed("config"), start);
    return;
  }
  settle(config);
  composer.open(config.message_chars ?? Infinity);
  composer.focus();
  history.refresh();
  const thread = tab.get("thread");
  if (thread) await open(thread, { own: true });
}

/** Where requests are authenticated, the settings show nothing but that until somebody signs in. */
async function settings() {
  let failure = null;
  if (credentials.token) {
    try {
      return await data("page-config", { token: credentials.token });
    } catch (error) {
      if (error.status !== 401) throw error;
      failure = error;
    }
  }
  const config = await data("page-config", { token: "" });
  if (!config.auth) return config;
  mode = config.auth;
  return credentials.ask(failure, mode);
}

offerThemes();
chooseLanguage(firstLanguage());
start();
