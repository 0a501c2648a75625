/** Server-sent events from the body of a response. */

import { Failed } from "./server.js";

/** `{ id, event }` of each message with data, in order; `id` is its number, or null. */
export async function* sentEvents(body) {
  for await (const { id, data } of messages(body)) yield { id, event: parsed(data) };
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new Failed("unreadable");
  }
}

/** Comments and fields that mean nothing here are passed over. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let id = null;
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { id, data: data.join("\n") };
          id = null;
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        } else if (/^id: ?\d+$/.test(line)) {
          id = Number(line.slice(3));
        }
      }
    }
  } finally {
    // Leaving early must close the connection, or the server would think that somebody still reads.
    reader.cancel().catch(() => {});
  }
}
