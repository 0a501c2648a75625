/** Requests to the API: who asks, and refusals in the server's own words. */

/**
 * What did not work.
 *
 * `kind`: `connection` nothing was reached, `cut` a run's events ended early, `unreadable` the
 * answer was no data of ours, `status` the server refused (with its message, if it sent one), `run`
 * the run itself reported an error, `config` the settings did not come, `left` somebody else
 * signed in meanwhile.
 */
export class Failed extends Error {
  constructor(kind, { message = "", status = null, code = null } = {}) {
    super(message || kind);
    this.kind = kind;
    this.detail = message;
    this.status = status;
    this.code = code;
  }
}

const caller = { tenant: null, token: null };
let askAgain = null;
let asking = null;

/** Who asks from now on: an organisation where nobody signs in, a key or token elsewhere. */
export function actFor({ tenant = null, token = null }) {
  caller.tenant = tenant;
  caller.token = token;
}

/** `handler(failure)` waits for another key when one was refused; requests then go on by themselves. */
export function whenRefused(handler) {
  askAgain = handler;
}

export function identified(token = caller.token) {
  if (token) return { Authorization: `Bearer ${token}` };
  return caller.tenant ? { "X-Manta-Tenant": caller.tenant } : {};
}

/** One request. Throws `Failed`, or `AbortError` after `signal`. */
export async function call(path, { json, headers = {}, token, signal, ...options } = {}) {
  const given = token ?? caller.token;
  let response;
  try {
    response = await fetch(path, {
      cache: "no-store",
      ...options,
      headers: {
        ...(json === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
        ...identified(given),
      },
      body: json === undefined ? null : JSON.stringify(json),
      signal,
    });
  } catch (error) {
    throw signal?.aborted ? error : new Failed("connection");
  }
  if (response.ok) return response;
  const failure = refusal(response.status, await response.text().catch(() => ""));
  if (failure.status !== 401 || token !== undefined || !askAgain) throw failure;
  // Of several requests that are refused together only the first one asks.
  if (given === caller.token) await (asking ??= askAgain(failure).finally(() => (asking = null)));
  return call(path, { json, headers, signal, ...options });
}

/** The answer's JSON. */
export async function data(path, options) {
  const response = await call(path, options);
  try {
    return await response.json();
  } catch (error) {
    throw options?.signal?.aborted ? error : new Failed("unreadable");
  }
}

/** A proxy's error page is no JSON; the status is then all there is to say. */
export function refusal(status, body) {
  let error = {};
  try {
    error = JSON.parse(body).error ?? {};
  } catch {
    error = {};
  }
  return new Failed("status", { message: String(error.message ?? ""), status, code: error.code ?? null });
}

/** The address of a conversation; its name is one segment, whatever it holds. */
export function conversationPath(id, ...rest) {
  return ["v1/conversations", ...[id, ...rest].map(encodeURIComponent)].join("/");
}
