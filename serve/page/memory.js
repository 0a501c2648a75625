/** What the browser remembers: choices in this browser, the thread in this tab only. */

function shelf(storage) {
  // Reading the property itself throws where storage is switched off.
  const use = (action) => {
    try {
      return action(window[storage]);
    } catch {
      return null;
    }
  };
  return {
    get: (key) => use((kept) => kept.getItem(`manta.${key}`)),
    set: (key, value) => use((kept) => kept.setItem(`manta.${key}`, value)),
    drop: (key) => use((kept) => kept.removeItem(`manta.${key}`)),
    clear: () =>
      use((kept) => {
        for (const key of Object.keys(kept)) if (key.startsWith("manta.")) kept.removeItem(key);
      }),
  };
}

export const choices = shelf("localStorage");
export const tab = shelf("sessionStorage");

/** A random version 4 UUID; `crypto.randomUUID` is missing on plain HTTP beyond loopback. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
