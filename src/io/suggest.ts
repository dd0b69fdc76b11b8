/** Finds the known word that a mistyped one means. */

const longestWord = 200;

/** null if no word is near. */
export function suggest(word: string, known: Iterable<string>): string | null {
  // Comparing takes the product of both lengths.
  if (word.length > longestWord) return null;
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The beginning of a fix; empty without a near word. */
export function didYouMean(near: string | null): string {
  return near === null ? "" : `did you mean ${near}? `;
}

/** True if a word differs from another in one letter (added, missing or changed) or in two swapped neighbours. */
export function isSlipOf(word: string, known: string): boolean {
  const at = Array.from(known).findIndex((letter, index) => letter !== word[index]);
  const swapped = `${known.slice(0, at)}${known[at + 1]}${known[at]}${known.slice(at + 2)}`;
  return word === swapped || (word.length <= known.length + 1 && editDistance(word, known) === 1);
}

/** Levenshtein distance: insertions, deletions and substitutions. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
