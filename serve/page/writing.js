/**
 * An answer's text as nodes: paragraphs, lists, quotations, bold, code and source numbers.
 *
 * Whatever is not one of these few forms stays as it was written. No markup is ever parsed.
 */

import { node } from "./nodes.js";

const BULLET = /^\s*[-*•]\s+(.*)$/;
const NUMBERED = /^\s*(\d{1,4})[.)]\s+(.*)$/;
const QUOTED = /^\s*>\s?(.*)$/;
const INLINE = /`([^`\n]+)`|\*\*(\S(?:[^\n]*?\S)?)\*\*|\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/g;
const DEEPEST = 4;

/**
 * @param text the answer
 * @param marker a function from a source number to a node, or null where there is no such source
 */
export function write(text, marker = () => null) {
  return blocks(text.split(/\r\n|\r|\n/), marker, 0);
}

function blocks(lines, marker, depth) {
  const made = [];
  for (let at = 0; at < lines.length; ) {
    const kind = kindOf(lines[at], depth);
    let end = at + 1;
    while (end < lines.length && continues(kind, lines[end], depth)) end += 1;
    const part = lines.slice(at, end);
    if (kind === "quote") {
      const inner = part.map((line) => QUOTED.exec(line)[1]);
      made.push(node("blockquote", {}, ...blocks(inner, marker, depth + 1)));
    } else if (kind === "bullets" || kind === "numbers") {
      made.push(list(kind, part, marker));
    } else if (kind === "text") {
      made.push(node("p", {}, ...broken(part, marker)));
    }
    at = end;
  }
  return made;
}

function kindOf(line, depth) {
  if (!line.trim()) return "blank";
  if (depth < DEEPEST && QUOTED.test(line)) return "quote";
  if (BULLET.test(line)) return "bullets";
  return NUMBERED.test(line) ? "numbers" : "text";
}

function continues(kind, line, depth) {
  const next = kindOf(line, depth);
  if (next === kind) return true;
  // An indented line belongs to the item above it.
  return (kind === "bullets" || kind === "numbers") && next === "text" && /^\s{2,}/.test(line);
}

function list(kind, lines, marker) {
  const form = kind === "bullets" ? BULLET : NUMBERED;
  const items = [];
  for (const line of lines) {
    const match = form.exec(line);
    if (match) items.push([match.at(-1)]);
    else items.at(-1).push(line.trim());
  }
  const entries = items.map((item) => node("li", {}, ...broken(item, marker)));
  if (kind === "bullets") return node("ul", {}, ...entries);
  const start = Number(form.exec(lines[0])[1]);
  return node("ol", { start: start === 1 ? null : start }, ...entries);
}

function broken(lines, marker) {
  return lines.flatMap((line, at) => [...(at ? [node("br")] : []), ...inline(line, marker)]);
}

function inline(text, marker) {
  const made = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, numbers] = match;
    let nodes = null;
    if (code !== undefined) nodes = [node("code", {}, code)];
    else if (bold !== undefined) nodes = [node("strong", {}, ...inline(bold, marker))];
    else {
      const marks = numbers.split(",").map((number) => marker(Number(number)));
      if (marks.every(Boolean)) nodes = marks;
    }
    if (nodes) {
      made.push(text.slice(from, match.index), ...nodes);
      from = match.index + whole.length;
    }
  }
  made.push(text.slice(from));
  return made.filter((part) => part !== "");
}
