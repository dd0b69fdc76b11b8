/** What an image needs of a CPU by each of the variants that it carries, of which it takes one when it runs. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import type { CpuCode } from "./cpu-code.ts";
import { variantFamilies } from "./dispatch.ts";

export interface CpuChoice {
  /** As the files' names say it: `haswell`. */
  readonly by: string;
  /** Linux names, sorted: what the image needs in any case, and what these files need. */
  readonly features: readonly string[];
  /** Paths, sorted. */
  readonly files: readonly string[];
}

export interface VariantFile {
  readonly path: string;
  readonly cpu: CpuCode | null;
  /** Its note, which the loader enforces. */
  readonly neededLevel: string | null;
}

/** As many as a requirement holds. */
const mostChoices = 16;

/**
 * Best first; empty where no file is one of several. Families of files are chosen from apart: for each name all of them have to run, by that
 * name or by their least demanding one. `needed` is what the image needs in any case.
 */
export function cpuChoices(files: readonly VariantFile[], needed: readonly string[]): readonly CpuChoice[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const families = [...variantFamilies(byPath.keys()).values()].map((family) =>
    family
      .flatMap(({ path, name, isPlain }): readonly CpuChoice[] => {
        const file = byPath.get(path);
        if (file === undefined) return [];
        return [{ by: name, features: isPlain ? [] : featuresOf(file, name), files: [path] }];
      })
      .sort(leastFirst),
  );
  const found = new Map<string, CpuChoice>();
  const variants = families.flat().sort((a, b) => b.features.length - a.features.length);
  for (const name of new Set(variants.map(({ by }) => by))) {
    const taken = families.flatMap((family) => family.find(({ by }) => by === name) ?? family[0] ?? []);
    const features = [...new Set([...needed, ...taken.flatMap((each) => each.features)])].sort();
    const paths = taken.flatMap((each) => each.files).sort();
    // Which of two that need the same is taken, nobody can tell apart.
    if (!found.has(features.join())) found.set(features.join(), { by: name, features, files: paths });
  }
  const all = [...found.values()].sort(leastFirst);
  return all.length < 2 && families.every(([first]) => first?.features.length === 0)
    ? []
    : all.slice(0, mostChoices).reverse();
}

function leastFirst(a: CpuChoice, b: CpuChoice): number {
  return a.features.length - b.features.length || (a.by < b.by ? -1 : 1);
}

/**
 * What a file uses when it is taken. One that asks the CPU, as llama.cpp's ask whether they are to be taken at all, is held to the CPU in its
 * name, where that is known.
 */
function featuresOf({ cpu, neededLevel, path }: VariantFile, name: string): readonly string[] {
  const used = Object.entries(cpu?.features ?? {}).flatMap(([feature, { instructions }]) =>
    instructions > 0 && !neverNeededFeatures.has(feature) ? [feature] : [],
  );
  const named = findMarch(name) ?? findMarch(otherNames[name] ?? "");
  const own = new Set(named?.features);
  const isHeld = named !== null && (cpu?.asks ?? []).length > 0;
  const enforced = [neededLevel, path.includes("/glibc-hwcaps/") ? name : null].flatMap(
    (level) => (level === null ? null : findMarch(level))?.features ?? [],
  );
  return [...(isHeld ? used.filter((feature) => own.has(feature)) : used), ...enforced].filter(
    (feature) => !x86Baseline.has(feature),
  );
}

/** Names of llama.cpp's variants (ggml/src/CMakeLists.txt, ggml_add_cpu_backend_variant) that are no compiler's, and the CPUs that they mean. */
const otherNames: Readonly<Record<string, string>> = {
  sse42: "x86-64-v2",
  piledriver: "bdver2",
  skylakex: "skylake-avx512",
  icelake: "icelake-server",
  zen4: "znver4",
};
