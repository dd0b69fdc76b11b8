/** Reads lists of GPUs, as `--gpus` and the environment's variables name them. Each vendor finds an entry its own way. */

import { ImgmatchError } from "../errors.ts";
import type { GpuFacts, HostProblem } from "../facts/facts.ts";

/** The GPUs that an option or a variable leaves visible. */
export interface Narrowing<Gpu = GpuFacts> {
  readonly gpus: readonly Gpu[];
  readonly problems: readonly HostProblem[];
  /** The option or variable that narrowed them, or null. */
  readonly source: string | null;
}

/** The answer of several variables: all problems, all sources, and the GPUs of `all` that remain after all steps. */
export function joinNarrowings<Gpu>(
  code: "HOST_GPUS_HIDDEN" | "HOST_AMD_GPUS_HIDDEN",
  all: readonly Gpu[],
  gpus: readonly Gpu[],
  narrowings: readonly Narrowing<Gpu>[],
): Narrowing<Gpu> {
  const sources = narrowings.flatMap(({ source }) => source ?? []);
  const source = sources.length === 0 ? null : sources.join(", ");
  const problems = narrowings.flatMap(({ problems }) => problems);
  const isHidden = all.length > 0 && gpus.length === 0 && problems.length === 0;
  const hidden: HostProblem = {
    code,
    message: `${source} hides ${all.length === 1 ? "the GPU" : `all ${all.length} GPUs`} of this host`,
    fix: "unset the variable, name GPUs in it, or give --gpus all",
  };
  return { gpus, problems: isHidden ? [hidden] : problems, source };
}

/**
 * The items that the entries of a list name, in the order of the list, and the first entry that names none. An entry without an item ends the
 * list if `stops` is set, and is left out otherwise.
 */
export function readEntries<Found>(
  list: string,
  find: (entry: string, before: readonly Found[]) => Found | null,
  stops: boolean,
): { readonly found: readonly Found[]; readonly invalid: string | null } {
  const all: Found[] = [];
  let invalid: string | null = null;
  for (const entry of list.split(",")) {
    const found = find(entry, all);
    if (found !== null) all.push(found);
    else {
      invalid ??= entry;
      if (stops) break;
    }
  }
  return { found: all, invalid };
}

export function refuseSelection(
  gpus: readonly Pick<GpuFacts, "index" | "uuid">[],
  option: string,
  invalid: string,
): ImgmatchError {
  const known = gpus.map(({ index, uuid }) => (uuid === null ? `${index}` : `${index} (${uuid})`)).join(", ");
  return new ImgmatchError({
    code: "SELECTION_INVALID",
    message: `--gpus ${option}: there is no GPU ${JSON.stringify(invalid)}`,
    fix: known === "" ? "this host has no GPU; leave out --gpus" : `choose among ${known}`,
  });
}
