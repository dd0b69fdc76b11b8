/** Patterns with `*`, without an expression: tried at every character for every `*`, one takes minutes. */

/** Whether a text is the pattern, each `*` standing for any characters. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return pattern === text;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of parts) {
    // The first place is as good as any later one: it leaves the most for the parts behind.
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
