/**
 * Matches paths with the patterns of COPY and ADD. `*`, `?` and `[a-z]` stay within one part of a path (Go, path.Match), `**` does not. A
 * pattern also matches the paths below a folder that it matches. Not a regular expression: with many stars that takes minutes.
 */

interface Token {
  readonly repeated: boolean;
  readonly matches: (character: string) => boolean;
}

/** null for a pattern with an impossible class, as `[z-a]`. */
export function compilePathPattern(pattern: string): ((path: string) => boolean) | null {
  const tokens = tokensOf(pattern);
  return tokens === null ? null : (path) => matchesTokens(tokens, path);
}

/** Follows all states at once, so the time is at most the pattern's length times the path's. */
function matchesTokens(tokens: readonly Token[], path: string): boolean {
  let states = withoutRepeats(tokens, [0]);
  for (const character of path) {
    if (character === "/" && states.has(tokens.length)) return true;
    const next: number[] = [];
    for (const state of states) {
      const token = tokens[state];
      if (token?.matches(character)) next.push(token.repeated ? state : state + 1);
    }
    if (next.length === 0) return false;
    states = withoutRepeats(tokens, next);
  }
  return states.has(tokens.length);
}

/** Adds the states behind repeated tokens, which may match nothing. */
function withoutRepeats(tokens: readonly Token[], states: readonly number[]): ReadonlySet<number> {
  const reached = new Set<number>();
  for (let state of states) {
    while (!reached.has(state)) {
      reached.add(state);
      if (tokens[state]?.repeated) state++;
    }
  }
  return reached;
}

const inOnePart = (character: string) => character !== "/";

function tokensOf(pattern: string): Token[] | null {
  const tokens: Token[] = [];
  const lastClassEnd = pattern.lastIndexOf("]");
  for (let at = 0; at < pattern.length; ) {
    const character = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    if (character === "*") {
      const start = at;
      while (pattern[at] === "*") at++;
      tokens.push({ repeated: true, matches: at - start === 2 ? () => true : inOnePart });
      continue;
    }
    at += character.length;
    if (character === "?") tokens.push({ repeated: false, matches: inOnePart });
    else if (character === "[" && at < lastClassEnd) {
      const end = pattern.indexOf("]", at + (pattern[at] === "^" ? 2 : 1));
      const matches = end < 0 ? null : classOf(pattern.slice(at, end));
      if (matches === null) return null;
      tokens.push({ repeated: false, matches });
      at = end + 1;
    } else {
      const escaped = character === "\\" && at < pattern.length;
      const literal = escaped ? String.fromCodePoint(pattern.codePointAt(at) ?? 0) : character;
      if (escaped) at += literal.length;
      tokens.push({ repeated: false, matches: (other) => other === literal });
    }
  }
  return tokens;
}

/** Reads `a-z_` and `^a-z_`; in `a\-z` the hyphen is a character. */
function classOf(text: string): Token["matches"] | null {
  const negated = text.startsWith("^");
  const ranges: (readonly [string, string])[] = [];
  const written = negated ? text.slice(1) : text;
  for (const [, low = "", high = low] of written.matchAll(/\\?(.)(?:-\\?(.))?/gsu)) {
    if (low > high) return null;
    ranges.push([low, high]);
  }
  return (character) => ranges.some(([low, high]) => low <= character && character <= high) !== negated;
}
