/** One conversation: its turns in the log and the run that goes on in it, shown or not. */

import { followRun } from "./following.js";
import { uuid } from "./memory.js";
import { node } from "./nodes.js";
import { pastTurns } from "./past.js";
import { Run } from "./run.js";
import { dropRun, isOver, keepRun, keptRun } from "./running.js";
import { Failed, call } from "./server.js";
import { TurnView } from "./turn.js";

export class Conversation {
  element = node("div", { class: "turns" });
  documents = [];
  /** `{ run, turn, begun, control, since, broken, stopping }` of the run that is going on, or null. */
  active = null;
  /** The turn whose questions are open, or null. */
  waiting = null;
  #hooks;

  /**
   * @param hooks `changed(conversation)` after every change, `ended(conversation)` after a run,
   * `open(citation)` shows a passage, `locale()` is the language chosen for replies, if any
   */
  constructor(id, hooks) {
    this.id = id;
    this.#hooks = hooks;
  }

  get empty() {
    return this.element.childElementCount === 0;
  }

  /** Show what the server keeps, and go on with a run that this tab had begun. */
  load(kept) {
    this.documents = kept.documents;
    let latest = null;
    for (const past of pastTurns(kept.messages)) {
      latest = this.#turn(past.question === null ? null : { id: uuid(), text: past.question });
      for (const pair of past.exchanges) latest.addExchange(pair);
      if (past.reply) latest.update(Run.past(past.reply));
      latest.ended = true;
    }
    if (kept.pause) {
      this.waiting = latest ?? this.#turn(null);
      this.waiting.ask(kept.pause);
    }
    const begun = keptRun(this.id);
    if (begun && isOver(begun, kept)) dropRun(begun);
    else if (begun) this.#goOn(begun);
  }

  /** A run that may have reached the server before the page was left, in a conversation of its own. */
  resume() {
    const begun = keptRun(this.id);
    if (begun) this.#goOn(begun);
    return begun !== null;
  }

  ask(text) {
    const turn = this.#turn({ id: uuid(), text });
    this.#perform(turn, this.#begun({ message: turn.message }));
    return turn;
  }

  async stop() {
    const active = this.active;
    if (!active || active.stopping) return;
    active.stopping = true;
    this.#hooks.changed(this);
    if (active.run.phase !== "sending") await this.#stopNow(active);
  }

  /** Read no longer; the server stops a run that nobody reads. */
  leave() {
    this.active?.control.abort();
  }

  #turn(message) {
    const turn = new TurnView(message, {
      open: this.#hooks.open,
      retry: (view) => this.#retry(view),
      answer: (view, answers) => this.#answer(view, { status: "resolved", payload: answers }),
      leave: (view) => this.#answer(view, { status: "cancelled" }),
      rate: (runId, rating, comment) =>
        call("v1/feedback", {
          method: "POST",
          json: { conversation: this.id, run_id: runId, rating, ...(comment ? { comment } : {}) },
        }),
    });
    this.element.append(turn.element);
    return turn;
  }

  #begun(given) {
    return {
      threadId: this.id,
      runId: uuid(),
      locale: this.#hooks.locale(),
      pauseBefore: this.waiting?.pause.id ?? null,
      ...given,
    };
  }

  #answer(turn, given) {
    if (this.active) return;
    turn.pause.sending();
    this.#perform(turn, this.#begun({ resume: { interruptId: turn.pause.id, ...given } }));
  }

  #retry(turn) {
    if (this.active) return;
    // A turn that ended is in the history and is asked anew; one that did not is repeated.
    if (turn.ended) this.ask(turn.message.text);
    // A run of which nothing is known may have begun all the same: it is asked for by its name.
    else if (turn.unsent) this.#perform(turn, turn.unsent);
    else this.#perform(turn, this.#begun({ message: turn.message }));
  }

  #goOn(begun) {
    const turn = begun.resume && this.waiting ? this.waiting : this.#turn(begun.message ?? null);
    if (begun.resume) turn.pause?.sending();
    this.#perform(turn, { ...begun, sent: true });
  }

  async #perform(turn, begun) {
    const run = new Run(begun.runId);
    const control = new AbortController();
    const { signal } = control;
    const since = performance.now();
    const active = { run, turn, begun, control, since, broken: false, stopping: false };
    const broken = (value) => {
      active.broken = value;
      this.#hooks.changed(this);
    };
    this.active = active;
    keepRun(begun);
    this.#show(active);
    try {
      for await (const event of followRun(begun, { signal, broken })) {
        const first = run.phase === "sending";
        run.apply(event);
        this.#show(active);
        if (!run.active) break;
        if (first && active.stopping) this.#stopNow(active);
      }
    } catch (error) {
      if (signal.aborted) run.stop();
      else {
        if (!(error instanceof Failed)) console.error(error);
        run.fail(error instanceof Failed ? error : new Failed("unreadable"));
      }
    }
    // A page that is left keeps its run; whoever comes back goes on with it.
    if (!signal.aborted || active.stopping) dropRun(begun);
    this.active = null;
    this.#settle(active);
    this.#hooks.changed(this);
    this.#hooks.ended(this);
  }

  #show({ run, turn, begun }) {
    if (run.abandoned === this.waiting?.pause?.id && run.abandoned !== null) this.waiting.pause.left();
    if (begun.resume && run.phase === "working") this.#closed(turn, begun.resume);
    if (run.active || !begun.resume) turn.update(run);
    this.#hooks.changed(this);
  }

  /** What remains of a run that is over. */
  #settle({ run, turn, begun }) {
    turn.ended = run.phase === "finished";
    turn.unsent = run.failure?.kind === "connection" && !begun.sent ? begun : null;
    const settled = run.phase === "finished" || run.phase === "paused";
    const refused = begun.resume && run.reply?.status === "boundary";
    if (!settled || refused) {
      // An unanswered pause is still open.
      const reason = refused ? new Failed("run", { message: run.text }) : run.failure;
      if (begun.resume && turn.pause) {
        turn.clear();
        turn.pause.reopen(reason);
      } else {
        this.waiting?.pause.reopen();
        turn.update(run);
      }
      return;
    }
    if (begun.resume) this.#closed(turn, begun.resume);
    this.waiting = null;
    if (run.phase === "paused") {
      turn.ask(run.pause);
      this.waiting = turn;
    } else {
      turn.update(run);
    }
  }

  #closed(turn, resume) {
    if (turn.pause?.id !== resume.interruptId) return;
    if (resume.status === "cancelled") turn.pause.left();
    else turn.pause.answered(resume.payload);
  }

  async #stopNow(active) {
    try {
      await call(`v1/runs/${encodeURIComponent(active.begun.runId)}/stop`, { method: "POST" });
    } catch {
      // It cannot be told now; a run that nobody reads any more is stopped by the server itself.
      active.control.abort();
    }
  }
}
