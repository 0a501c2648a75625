/** Where a quote stands: inside a passage, and inside a public page through its address. */

const TYPOGRAPHIC = new Map([
  ..."‘’‚‛′".split("").map((mark) => [mark, "'"]),
  ..."“”„‟«»″".split("").map((mark) => [mark, '"']),
]);
const EXACT_WORDS = 12;
const EDGE_WORDS = 5;

/** Text with white space and typographic quotes folded, and where each character came from. */
function fold(text) {
  let folded = "";
  const origins = [];
  for (let at = 0; at < text.length; at += 1) {
    const blank = /\s/.test(text[at]);
    if (blank && (folded === "" || folded.endsWith(" "))) continue;
    folded += blank ? " " : (TYPOGRAPHIC.get(text[at]) ?? text[at]);
    origins.push(at);
  }
  return { folded, origins };
}

/** `[start, end]` of the quote in the passage, as the server compares them, or null. */
export function locate(passage, quote) {
  const wanted = fold(quote).folded.trim();
  const { folded, origins } = fold(passage);
  const start = wanted ? folded.indexOf(wanted) : -1;
  return start < 0 ? null : [origins[start], origins[start + wanted.length - 1] + 1];
}

/**
 * The page's address with a text fragment that scrolls to the quote, or null when the address is
 * none that may be followed. A browser finds an exact text only within one block, so a quote that
 * is long, or runs over lines or cells, is given by its first and last words.
 */
export function quoteAddress(url, quote) {
  let address;
  try {
    address = new URL(url);
  } catch {
    return null;
  }
  if (address.protocol !== "http:" && address.protocol !== "https:") return null;
  const anchor = address.hash.split(":~:")[0];
  address.hash = "";
  const directive = fragment(quote ?? "");
  return address.href + (directive ? `${anchor || "#"}:~:text=${directive}` : anchor);
}

function fragment(quote) {
  const blocks = quote
    .split(/[\r\n]+|\s\|\s|^\s*\||\|\s*$/)
    .map((block) => block.replace(/^\s*(?:[-*•>]|#{1,6}|\d{1,4}[.)])\s+/, "").trim())
    .filter((block) => /[\p{L}\p{N}]/u.test(block))
    .map((block) => block.split(/\s+/));
  if (!blocks.length) return "";
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (blocks.length === 1 && first.length <= EXACT_WORDS) return encode(first);
  return `${encode(first.slice(0, EDGE_WORDS))},${encode(last.slice(-EDGE_WORDS))}`;
}

/** The dash, comma and ampersand are syntax in a text directive, and the first is not encoded by default. */
function encode(words) {
  return encodeURIComponent(words.join(" ")).replace(/-/g, "%2D");
}
