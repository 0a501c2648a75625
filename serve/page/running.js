/** Runs that were begun in this tab and have not ended: a reload finds them again. */

import { tab } from "./memory.js";

const key = (threadId) => `run.${threadId}`;

/** A browser breaks the connections of a page that it leaves; that is no end of their runs. */
let leaving = false;
addEventListener("pagehide", () => (leaving = true));
addEventListener("pageshow", () => (leaving = false));

export function keepRun(begun) {
  tab.set(key(begun.threadId), JSON.stringify(begun));
}

export function dropRun(begun) {
  if (!leaving && keptRun(begun.threadId)?.runId === begun.runId) tab.drop(key(begun.threadId));
}

export function keptRun(threadId) {
  try {
    return JSON.parse(tab.get(key(threadId)));
  } catch {
    return null;
  }
}

/** Whether the conversation, as the server keeps it, already shows how the run ended. */
export function isOver(begun, conversation) {
  const open = conversation.pause?.id ?? null;
  if (conversation.messages.some((message) => message.run_id === begun.runId)) return true;
  // A run that only closes a pause says nothing; one that pauses leaves another pause open.
  if (begun.resume?.status === "cancelled") return open !== begun.resume.interruptId;
  return open !== null && open !== begun.pauseBefore;
}
