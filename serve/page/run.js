/** What is known of one run: the events fold into this, the views read it. No DOM, no network. */

import { RunFailed } from "./stream.js";

export class Run {
  /** `sending`, `working`, `finished`, `failed` or `stopped`. */
  phase = "sending";
  /** Keys of phrases for what has been going on, the last one is now. */
  trail = ["activity.sending"];
  comment = "";
  /** The `manta.reply` value, once it came. */
  reply = null;
  /** The `RunFailed` that ended the run. */
  failure = null;
  #texts = new Map();

  get active() {
    return this.phase === "sending" || this.phase === "working";
  }

  get text() {
    return this.reply?.text || Array.from(this.#texts.values()).join("\n\n");
  }

  apply(event) {
    const handle = HANDLERS[event?.type];
    if (handle && this.active) handle(this, event);
  }

  fail(failure) {
    this.phase = "failed";
    this.failure = failure;
  }

  stop() {
    this.phase = "stopped";
  }

  /** The stream ended by itself: without an end of the run it was cut, unless the reply is whole. */
  close() {
    if (!this.active) return;
    if (this.reply) this.phase = "finished";
    else this.fail(new RunFailed("cut"));
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
  },
  RUN_FINISHED(run) {
    run.phase = "finished";
  },
  RUN_ERROR(run, { message, code }) {
    run.fail(new RunFailed("run", { message: String(message ?? ""), code }));
  },
};
