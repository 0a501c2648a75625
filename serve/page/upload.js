/** One file to the server, with the share that has been sent; `fetch` cannot tell that. */

import { Failed, identified, refusal } from "./server.js";

/** The server's answer. Throws `Failed`; after `signal` whatever it throws is of no interest. */
export function upload(path, file, { signal, progress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("file", file);
    request.open("POST", path);
    for (const [header, value] of Object.entries(identified())) request.setRequestHeader(header, value);
    request.upload.addEventListener("progress", ({ loaded, total }) => progress(total ? loaded / total : 0));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(refusal(request.status, request.responseText));
    });
    request.addEventListener("error", () => reject(new Failed("connection")));
    request.addEventListener("abort", () => reject(new Failed("cut")));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}
