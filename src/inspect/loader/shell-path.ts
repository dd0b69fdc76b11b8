/** Finds the values that a shell script gives to `LD_LIBRARY_PATH`. */

export interface PathSetting {
  /** The text without quotes. */
  readonly value: string;
  /** It stands in a condition, a function, or behind `&&`: it may not run. */
  readonly isConditional: boolean;
}

/** Scripts that start a program are shorter. */
export const maxScript = 2 ** 18;
const maxValue = 4096;

const opens = /^(?:if|case|for|while|until|select)\b|(?:^|\s)\{$|\(\)\s*\{|^\($/;
const closes = /^(?:fi|esac|done)\b|^[})]/;
const setting = /(?:^|[\s;&|({])LD_LIBRARY_PATH=("(?:[^"\\]|\\.)*"|'[^']*'|[^\s;&|]*)/;
/** Other ways to set the path, whose result is unknown. */
const otherWays = /\b(?:ldconfig|ld\.so\.(?:conf|cache))\b|\bln\s/;

/** Empty for a script without a folder `compat`. */
export function pathSettings(script: string): readonly PathSetting[] {
  if (!/compat/i.test(script)) return [];
  const found: PathSetting[] = [];
  let depth = 0;
  let here: string | null = null;
  for (const line of script.replace(/\\\r?\n/g, " ").split("\n")) {
    if (here !== null) {
      if (line.trim() === here) here = null;
      continue;
    }
    const text = line.replace(/(^|\s)#.*$/, "$1").trim();
    here = /(?<!<)<<(?!<)-?\s*(["']?)([A-Za-z_]\w*)\1/.exec(text)?.[2] ?? null;
    for (const part of text.split(/;(?!;)/).map((each) => each.trim().replace(/^(?:then|else|do)\s+/, ""))) {
      if (closes.test(part)) depth = Math.max(0, depth - 1);
      const set = setting.exec(part);
      const before = set === null ? "" : part.slice(0, set.index);
      if (set?.[1] !== undefined)
        found.push({
          value: set[1].replace(/^(["'])(.*)\1$/s, "$2").slice(0, maxValue),
          isConditional:
            depth > 0 || opens.test(part) || set[1].length > maxValue || /&&|\|\||\bif\b/.test(before),
        });
      else if (otherWays.test(part) && /compat/i.test(part))
        found.push({ value: part.slice(0, 200), isConditional: true });
      if (opens.test(part)) depth++;
      // `exec` ends the script.
      if (depth === 0 && /^exec\s+[^<>\d&]/.test(part)) return found;
    }
  }
  return found;
}
