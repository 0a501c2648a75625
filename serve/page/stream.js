/** The AG-UI run over HTTP: one POST, answered by server-sent events. */

/**
 * A run that gave no complete reply.
 *
 * `kind`: `connection` nothing was reached, `cut` the stream ended early, `unreadable` it was no
 * stream of events, `status` the server refused (with its message, if it sent one), `run` the run
 * itself reported an error.
 */
export class RunFailed extends Error {
  constructor(kind, { message = "", status = null, code = null } = {}) {
    super(message || kind);
    this.kind = kind;
    this.detail = message;
    this.status = status;
    this.code = code;
  }
}

/** The body of a run: only the new message travels, the server keeps the thread's history. */
export function runInput({ threadId, runId, message, locale }) {
  return {
    threadId,
    runId,
    messages: [{ id: message.id, role: "user", content: message.text }],
    tools: [],
    context: [],
    state: {},
    forwardedProps: locale ? { locale } : {},
  };
}

/** The events of one run, in order. Throws `RunFailed`, or `AbortError` after `signal`. */
export async function* runEvents(input, { tenant, signal }) {
  let response;
  try {
    response = await fetch("v1/runs", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "text/event-stream",
        ...(tenant ? { "X-Manta-Tenant": tenant } : {}),
      },
      body: JSON.stringify(input),
      cache: "no-store",
      signal,
    });
  } catch (error) {
    throw signal.aborted ? error : new RunFailed("connection");
  }
  if (!response.ok) throw await refusal(response);
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    throw new RunFailed("unreadable");
  }
  try {
    for await (const data of messages(response.body)) yield parsed(data);
  } catch (error) {
    throw signal.aborted || error instanceof RunFailed ? error : new RunFailed("cut");
  }
}

async function refusal(response) {
  let message = "";
  try {
    message = String((await response.json()).error?.message ?? "");
  } catch {
    // A proxy's error page is no JSON; the status is then all there is to say.
  }
  return new RunFailed("status", { message, status: response.status });
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new RunFailed("unreadable");
  }
}

/** The `data` of each server-sent event; comments and other fields are passed over. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        }
      }
    }
  } finally {
    // Leaving early must close the connection, or the server would go on working for nobody.
    reader.cancel().catch(() => {});
  }
}
