/** One run's events, over as many connections as it takes: none twice, none left out. */

import { Failed, call } from "./server.js";
import { sentEvents } from "./stream.js";

/** How long to wait before each attempt to continue a broken connection, in milliseconds. */
const WAITS = [300, 1000, 2000, 4000, 8000, 8000];

/** The body of a run: only the new message travels, the server keeps the conversation's history. */
function runInput({ threadId, runId, message, resume, locale }) {
  return {
    threadId,
    runId,
    // With its version the page says that it can show a pause.
    protocolVersion: "1.0",
    messages: message ? [{ id: message.id, role: "user", content: message.text }] : [],
    tools: [],
    context: [],
    state: {},
    forwardedProps: locale ? { locale } : {},
    ...(resume ? { resume: [resume] } : {}),
  };
}

/**
 * The events of a run. Throws `Failed`, or `AbortError` after `signal`.
 *
 * @param begun what the run is; one that was `sent` already is followed and never started again
 * @param broken called with true while the connection is lost, with false when it is back
 */
export async function* followRun(begun, { signal, broken = () => {} }) {
  let last = 0;
  let failures = 0;
  for (;;) {
    try {
      const response = begun.sent ? await again(begun, last, signal) : await first(begun, signal);
      if (failures) broken(false);
      for await (const { id, event } of sentEvents(response.body)) {
        if (id !== null && id <= last) continue;
        last = id ?? last;
        failures = 0;
        yield event;
      }
      // Whoever reads stops at the run's last event, so this was not the end of the run.
      throw new Failed("cut");
    } catch (error) {
      const failure = error instanceof Failed ? error : new Failed("cut");
      if (signal.aborted) throw error;
      if (!begun.sent || !mendable(failure) || failures === WAITS.length) throw failure;
      broken(true);
      await rest(WAITS[failures], signal);
      failures += 1;
    }
  }
}

async function first(begun, signal) {
  let response;
  try {
    response = await call("v1/runs", {
      method: "POST",
      json: runInput(begun),
      headers: { Accept: "text/event-stream" },
      signal,
    });
  } catch (error) {
    if (error.code !== "run_exists") throw error;
    // An earlier attempt got through although its answer did not.
    begun.sent = true;
    return again(begun, 0, signal);
  }
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    throw new Failed("unreadable");
  }
  begun.sent = true;
  return response;
}

async function again(begun, last, signal) {
  try {
    return await call(`v1/runs/${encodeURIComponent(begun.runId)}`, {
      headers: { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": String(last) } : {}) },
      signal,
    });
  } catch (error) {
    throw error.status === 404 ? Object.assign(new Failed("cut"), { gone: true }) : error;
  }
}

/** A server that is busy or starts anew may know the run in a moment; one that refuses it will not. */
function mendable(failure) {
  if (failure.kind === "status") return failure.status === 429 || failure.status >= 500;
  return (failure.kind === "cut" && !failure.gone) || failure.kind === "connection";
}

/** Wait, but no longer than until the device is online again. */
function rest(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
