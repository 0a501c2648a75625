/**
 * All texts of the page in three languages.
 *
 * A node names its phrase in `data-phrase` (its text) or `data-phrase-<attribute>`, so that
 * switching the language is one walk over the document, past turns included.
 */

export const LANGUAGES = ["en", "fr", "de"];

const en = {
  skip: "Skip to the message box",
  organisation: "Organisation",
  language: "Language",
  dark: "Dark mode",
  new: "New conversation",
  log: "Conversation",
  message: "Your message",
  placeholder: "Ask a question",
  send: "Send",
  stop: "Stop",
  retry: "Try again",
  hint: "Enter sends, Shift+Enter starts a new line.",
  too_long: "{count} of at most {limit} characters. Please shorten your message.",
  asked: "You asked",
  "welcome.title": "What would you like to know?",
  "welcome.intro":
    "Ask about your organisation, your tasks or your next step. What comes from its documents and pages is quoted, with its source.",
  "welcome.examples": "For example",
  "welcome.continued":
    "This tab still holds a conversation. Your next message continues it, although its earlier messages are no longer shown.",
  "activity.sending": "Sending your message",
  "activity.checking_request": "Checking the request",
  "activity.choosing_specialist": "Choosing who can help",
  "activity.writing_reply": "Writing the reply",
  "activity.searching_documents": "Searching the documents",
  "activity.searching_web": "Searching the web pages",
  "activity.reading_page": "Reading a page",
  "activity.comparing_sources": "Comparing the sources",
  "activity.preparing_answer": "Preparing the answer",
  "activity.reading_tasks": "Reading your tasks",
  "step.gate": "Checking the request",
  "step.supervisor": "Choosing who can help",
  "step.career_chat": "Thinking it over",
  "step.task_guidance": "Looking at your tasks",
  "step.knowledge": "Looking through the organisation’s sources",
  "agent.career_chat": "Career chat",
  "agent.task_guidance": "Task guidance",
  "agent.knowledge": "Knowledge base",
  sources: "Sources",
  "source.number": "Source {number}: {title}",
  "source.open": "Show the quoted passage",
  "source.new_tab": "opens in a new tab",
  "source.page": "page {page}",
  "panel.kind": "Quoted passage",
  "panel.close": "Close",
  "panel.marked": "The quoted words are marked.",
  "miss.title": "I could not find this",
  "miss.hint": "The documents and pages I can search do not answer it, so there is no source to show.",
  "unavailable.title": "I could not check just now",
  "unavailable.hint": "The sources could not be searched. This does not mean that the answer is not there.",
  "boundary.title": "I cannot take up this request",
  "boundary.hint": "No source was searched for it.",
  "stopped.title": "Stopped",
  "stopped.hint": "Nothing of this reply is kept.",
  "error.title": "That did not work",
  "error.connection": "The server could not be reached. Check your connection and try again.",
  "error.cut": "The connection was lost before the reply was complete.",
  "error.unreadable": "The server’s answer could not be read.",
  "error.status": "The server refused the request (HTTP {status}).",
  "error.run": "The reply could not be completed.",
  "error.config": "The page could not load its settings.",
};

const fr = {
  skip: "Aller au champ de saisie",
  organisation: "Organisation",
  language: "Langue",
  dark: "Mode sombre",
  new: "Nouvelle conversation",
  log: "Conversation",
  message: "Votre message",
  placeholder: "Posez une question",
  send: "Envoyer",
  stop: "Arrêter",
  retry: "Réessayer",
  hint: "Entrée envoie, Maj+Entrée passe à la ligne.",
  too_long: "{count} caractères pour {limit} au maximum. Veuillez raccourcir votre message.",
  asked: "Votre question",
  "welcome.title": "Que souhaitez-vous savoir ?",
  "welcome.intro":
    "Posez une question sur votre organisation, vos tâches ou la suite de votre parcours. Ce qui vient de ses documents et de ses pages est cité avec sa source.",
  "welcome.examples": "Par exemple",
  "welcome.continued":
    "Une conversation est en cours dans cet onglet. Votre prochain message la poursuit, même si ses messages précédents ne sont plus affichés.",
  "activity.sending": "Envoi de votre message",
  "activity.checking_request": "Vérification de la demande",
  "activity.choosing_specialist": "Choix de l’interlocuteur",
  "activity.writing_reply": "Rédaction de la réponse",
  "activity.searching_documents": "Recherche dans les documents",
  "activity.searching_web": "Recherche dans les pages web",
  "activity.reading_page": "Lecture d’une page",
  "activity.comparing_sources": "Comparaison des sources",
  "activity.preparing_answer": "Préparation de la réponse",
  "activity.reading_tasks": "Lecture de vos tâches",
  "step.gate": "Vérification de la demande",
  "step.supervisor": "Choix de l’interlocuteur",
  "step.career_chat": "Réflexion en cours",
  "step.task_guidance": "Consultation de vos tâches",
  "step.knowledge": "Consultation des sources de l’organisation",
  "agent.career_chat": "Échange sur le parcours",
  "agent.task_guidance": "Aide aux tâches",
  "agent.knowledge": "Base de connaissances",
  sources: "Sources",
  "source.number": "Source {number} : {title}",
  "source.open": "Afficher le passage cité",
  "source.new_tab": "s’ouvre dans un nouvel onglet",
  "source.page": "page {page}",
  "panel.kind": "Passage cité",
  "panel.close": "Fermer",
  "panel.marked": "Les mots cités sont surlignés.",
  "miss.title": "Je n’ai pas trouvé cette information",
  "miss.hint":
    "Les documents et les pages que je peux consulter n’y répondent pas ; il n’y a donc aucune source à montrer.",
  "unavailable.title": "Je n’ai pas pu vérifier pour le moment",
  "unavailable.hint":
    "Les sources n’ont pas pu être consultées. Cela ne veut pas dire que la réponse n’y est pas.",
  "boundary.title": "Je ne peux pas donner suite à cette demande",
  "boundary.hint": "Aucune source n’a été consultée.",
  "stopped.title": "Arrêté",
  "stopped.hint": "Rien de cette réponse n’est conservé.",
  "error.title": "Cela n’a pas fonctionné",
  "error.connection": "Le serveur est injoignable. Vérifiez votre connexion et réessayez.",
  "error.cut": "La connexion a été perdue avant la fin de la réponse.",
  "error.unreadable": "La réponse du serveur n’a pas pu être lue.",
  "error.status": "Le serveur a refusé la demande (HTTP {status}).",
  "error.run": "La réponse n’a pas pu être terminée.",
  "error.config": "La page n’a pas pu charger ses réglages.",
};

const de = {
  skip: "Zum Eingabefeld springen",
  organisation: "Organisation",
  language: "Sprache",
  dark: "Dunkle Darstellung",
  new: "Neue Unterhaltung",
  log: "Unterhaltung",
  message: "Ihre Nachricht",
  placeholder: "Stellen Sie eine Frage",
  send: "Senden",
  stop: "Anhalten",
  retry: "Erneut versuchen",
  hint: "Eingabe sendet, Umschalt+Eingabe beginnt eine neue Zeile.",
  too_long: "{count} von höchstens {limit} Zeichen. Bitte kürzen Sie Ihre Nachricht.",
  asked: "Ihre Frage",
  "welcome.title": "Was möchten Sie wissen?",
  "welcome.intro":
    "Fragen Sie nach Ihrer Organisation, Ihren Aufgaben oder Ihrem nächsten Schritt. Was aus den Dokumenten und Seiten der Organisation stammt, wird mit seiner Quelle zitiert.",
  "welcome.examples": "Zum Beispiel",
  "welcome.continued":
    "In diesem Tab läuft noch eine Unterhaltung. Ihre nächste Nachricht setzt sie fort, auch wenn frühere Nachrichten nicht mehr angezeigt werden.",
  "activity.sending": "Ihre Nachricht wird gesendet",
  "activity.checking_request": "Die Anfrage wird geprüft",
  "activity.choosing_specialist": "Die passende Stelle wird gewählt",
  "activity.writing_reply": "Die Antwort wird geschrieben",
  "activity.searching_documents": "Die Dokumente werden durchsucht",
  "activity.searching_web": "Die Webseiten werden durchsucht",
  "activity.reading_page": "Eine Seite wird gelesen",
  "activity.comparing_sources": "Die Quellen werden verglichen",
  "activity.preparing_answer": "Die Antwort wird vorbereitet",
  "activity.reading_tasks": "Ihre Aufgaben werden gelesen",
  "step.gate": "Die Anfrage wird geprüft",
  "step.supervisor": "Die passende Stelle wird gewählt",
  "step.career_chat": "Die Anfrage wird durchdacht",
  "step.task_guidance": "Ihre Aufgaben werden angesehen",
  "step.knowledge": "Die Quellen der Organisation werden durchgesehen",
  "agent.career_chat": "Berufliche Entwicklung",
  "agent.task_guidance": "Hilfe bei Aufgaben",
  "agent.knowledge": "Wissensbasis",
  sources: "Quellen",
  "source.number": "Quelle {number}: {title}",
  "source.open": "Zitierte Stelle zeigen",
  "source.new_tab": "öffnet sich in einem neuen Tab",
  "source.page": "Seite {page}",
  "panel.kind": "Zitierte Stelle",
  "panel.close": "Schließen",
  "panel.marked": "Die zitierten Worte sind markiert.",
  "miss.title": "Das konnte ich nicht finden",
  "miss.hint":
    "Die Dokumente und Seiten, die ich durchsuchen kann, beantworten es nicht; daher gibt es keine Quelle.",
  "unavailable.title": "Das konnte ich gerade nicht prüfen",
  "unavailable.hint":
    "Die Quellen ließen sich nicht durchsuchen. Das heißt nicht, dass die Antwort dort fehlt.",
  "boundary.title": "Auf diese Anfrage kann ich nicht eingehen",
  "boundary.hint": "Dafür wurde keine Quelle durchsucht.",
  "stopped.title": "Angehalten",
  "stopped.hint": "Von dieser Antwort wird nichts aufbewahrt.",
  "error.title": "Das hat nicht geklappt",
  "error.connection": "Der Server ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es erneut.",
  "error.cut": "Die Verbindung brach ab, bevor die Antwort vollständig war.",
  "error.unreadable": "Die Antwort des Servers war nicht lesbar.",
  "error.status": "Der Server hat die Anfrage abgelehnt (HTTP {status}).",
  "error.run": "Die Antwort konnte nicht abgeschlossen werden.",
  "error.config": "Die Seite konnte ihre Einstellungen nicht laden.",
};

const TABLES = { en, fr, de };
let current = "en";

export function language() {
  return current;
}

export function has(key) {
  return Object.hasOwn(en, key);
}

/** The phrase in the page's language; numbers are written as that language writes them. */
export function phrase(key, values = {}) {
  const text = TABLES[current][key] ?? en[key];
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

export function speak(code) {
  current = LANGUAGES.includes(code) ? code : "en";
  document.documentElement.lang = current;
  for (const target of document.querySelectorAll(PHRASED)) put(target);
}
