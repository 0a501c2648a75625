/** What is known of one run: the events fold into this, the views read it. No DOM, no network. */

import { Failed } from "./server.js";

export class Run {
  /** `sending`, `working`, `finished`, `paused`, `failed` or `stopped`. */
  phase = "sending";
  /** Keys of phrases for what has been going on, the last one is now. */
  trail = ["activity.sending"];
  comment = "";
  /** The `manta.reply` value, once it came. */
  reply = null;
  /** The open pause that the run ended with. */
  pause = null;
  /** The public id of an earlier pause that this run left unanswered. */
  abandoned = null;
  /** The `Failed` that ended the run. */
  failure = null;
  #texts = new Map();

  constructor(id) {
    this.id = id;
  }

  /** A run of the past, of which only the reply is kept. */
  static past(reply) {
    const run = new Run(reply.run_id ?? null);
    run.phase = "finished";
    run.reply = reply;
    return run;
  }

  get active() {
    return this.phase === "sending" || this.phase === "working";
  }

  get text() {
    // A pause's text is its questions, which its form shows.
    if (this.phase === "paused") return "";
    return this.reply?.text || Array.from(this.#texts.values()).join("\n\n");
  }

  apply(event) {
    const handle = HANDLERS[event?.type];
    if (handle && this.active) handle(this, event);
  }

  /** A connection that broke between the whole reply and the end of the run broke nothing. */
  fail(failure) {
    const whole = failure.kind !== "run" && this.reply && this.reply.status !== "paused";
    this.phase = whole ? "finished" : "failed";
    this.failure = whole ? null : failure;
  }

  stop() {
    this.phase = "stopped";
  }

  now(key) {
    this.phase = "working";
    const last = this.trail.at(-1);
    if (last === key) return;
    // What a step does says more than the step's name, which then gives way to it.
    if (last.startsWith("step.") && key.startsWith("activity.")) this.trail.pop();
    this.trail.push(key);
  }

  add(messageId, delta) {
    this.phase = "working";
    this.#texts.set(messageId, (this.#texts.get(messageId) ?? "") + delta);
  }
}

const SAME = { "step.gate": "activity.checking_request", "step.supervisor": "activity.choosing_specialist" };

const HANDLERS = {
  RUN_STARTED(run) {
    run.phase = "working";
  },
  STEP_STARTED(run, { stepName }) {
    const key = `step.${stepName}`;
    run.now(SAME[key] ?? key);
  },
  ACTIVITY_SNAPSHOT(run, { activityType, content }) {
    if (activityType === "manta.activity") {
      run.comment = "";
      run.now(`activity.${content?.code}`);
    } else if (activityType === "manta.comment") {
      run.comment = String(content?.text ?? "");
    }
  },
  TEXT_MESSAGE_CONTENT(run, { messageId, delta }) {
    run.add(messageId, String(delta ?? ""));
  },
  CUSTOM(run, { name, value }) {
    if (name === "manta.reply" && value) run.reply = value;
    else if (name === "manta.pause_abandoned") run.abandoned = value?.interactionId ?? null;
  },
  RUN_FINISHED(run, { outcome }) {
    run.phase = "finished";
    if (outcome?.type === "interrupt") {
      run.phase = "paused";
      run.pause = outcome.interrupts[0];
    } else if (outcome?.type === "cancelled" && run.reply?.status !== "abandoned") {
      run.phase = "stopped";
    }
  },
  RUN_ERROR(run, { message, code }) {
    run.fail(new Failed("run", { message: String(message ?? ""), code }));
  },
};
