/** How deep a JSON text is nested, told before it is parsed: what reads the value calls itself once per level. */

/** More than anything that imgmatch writes or reads, and far from what overflows a stack. */
export const deepestJson = 100;

export function isTooDeep(json: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "[" || character === "{") {
      if (++depth > deepestJson) return true;
    } else if (character === "]" || character === "}") depth--;
  }
  return false;
}
