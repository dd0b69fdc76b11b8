/** Compares the ways of a program on a CPU with all features with those on a CPU without some: what the latter alone leads to, and ends there, refuses. */

import { featuresOf, foundRefusals, noRefusals, type Refusals } from "./refusals.ts";
import { type Walk, walker } from "./refusal-ways.ts";

const mostTimes = 8;

/** Of starts that run one behind the other; null where a bound ended the search. */
export function exactRefusals(
  starts: readonly number[],
  context: Omit<Walk, "seen"> & {
    /** Nobody can tell some answers from others: none is sure. */
    readonly isMerged: () => boolean;
  },
): Refusals | null {
  const seen = new Set<string>();
  const walk = walker({ ...context, seen });
  try {
    const begin = walk.begin(starts);
    const full = walk.ends(begin, new Set(), true);
    if (full.isCut) return null;
    const places = full.ways.places();
    /** `always`: no way passes. `may`: some way refuses that a CPU with all features does not go. */
    const refusing = (missing: readonly string[]): "always" | "may" | "never" | "cut" => {
      const { ends, ways, isCut } = walk.ends(begin, new Set(missing), true);
      if (isCut) return "cut";
      const hasPassed = full.ends.has("passed");
      if (hasPassed && ends.size === 1 && ends.has("refused")) return "always";
      // A program that never ends by itself ends with an error alike.
      return ways.refuses(places, hasPassed) ? "may" : "never";
    };
    let [names, all]: [readonly string[], ReturnType<typeof refusing>] = [[], "never"];
    // Without the features of which a way asks, it asks for others.
    for (let times = 0; times < mostTimes && names.length < [...seen].filter(isFeature).length; times++) {
      names = [...seen].filter(isFeature);
      all = refusing(names);
    }
    if (all === "cut") return null;
    if (all === "never") return noRefusals;
    const [refuses, mayRefuse] = [new Set<string>(), new Set<string>()];
    const alone = names.filter((name) => {
      const is = refusing([name]);
      const isPlain = is === "always" && all === "always" && !name.includes("|") && !context.isMerged();
      if (is !== "never") for (const each of featuresOf(name)) (isPlain ? refuses : mayRefuse).add(each);
      return is !== "never";
    });
    const others = names.filter((name) => !alone.includes(name));
    if (alone.length === 0 || context.isMerged() || refusing(others) !== "never")
      for (const name of others) for (const each of featuresOf(name)) mayRefuse.add(each);
    return foundRefusals(refuses, mayRefuse);
  } finally {
    walk.free();
  }
}

/** The name - is of a bit that nobody needs. */
const isFeature = (name: string) => name !== "-";
