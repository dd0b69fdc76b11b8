/** Finds the needs of each CPU variant in an image. A program takes one variant when it runs. */

import { neverNeededFeatures, withImplied, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import type { InspectedFile } from "../file-inspection.ts";
import { atomicsQuestion } from "./own-questions.ts";
import { findCpuNeed } from "./cpu-need.ts";
import { variantFamilies } from "./dispatch.ts";

export interface CpuChoice {
  /** The name in the files' names: `haswell`. */
  readonly by: string;
  /** Needs of the image in any case and of these files: Linux names, sorted. */
  readonly features: readonly string[];
  /** Paths, sorted. */
  readonly files: readonly string[];
}

type VariantFile = Pick<InspectedFile, "path" | "cpu" | "program">;

/** A requirement holds no more. */
const mostChoices = 16;

/**
 * Best first; empty without variants. A program chooses one file of every family: for each name the file of the name, or else the least
 * demanding file. `needed` is the image's needs in any case.
 */
export function cpuChoices(files: readonly VariantFile[], needed: readonly string[]): readonly CpuChoice[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const families = [...variantFamilies(byPath.keys()).values()].map((family) =>
    family
      .flatMap(({ path, name, isPlain }): readonly Member[] => {
        const file = byPath.get(path);
        if (file === undefined) return [];
        return [{ by: name, isPlain, features: isPlain ? [] : featuresOf(file, name), files: [path] }];
      })
      .sort(leastFirst),
  );
  const found = new Map<string, CpuChoice & { readonly variant: string }>();
  const variants = families.flat().sort((a, b) => b.features.length - a.features.length);
  for (const { by, isPlain } of new Map(variants.map((each) => [each.by, each])).values()) {
    const taken = families.flatMap((family) => family.find((each) => each.by === by) ?? family[0] ?? []);
    const variant = withImplied(taken.flatMap((each) => each.features));
    const features = withImplied([...needed, ...variant]);
    const paths = taken.flatMap((each) => each.files).sort();
    const alike = found.get(features.join());
    if (alike === undefined)
      found.set(features.join(), { by, features, files: paths, variant: variant.join() });
    // Two names that use the same features are one choice.
    else if (alike.variant === variant.join() && !isPlain)
      found.set(features.join(), {
        ...alike,
        by: `${alike.by} or ${by}`,
        files: [...new Set([...alike.files, ...paths])].sort(),
      });
  }
  const all = [...found.values()].sort(leastFirst);
  if (all.length < 2 && families.every(([first]) => first?.features.length === 0)) return [];
  return all
    .slice(0, mostChoices)
    .reverse()
    .map(({ by, features, files: paths }) => ({ by, features, files: paths }));
}

interface Member extends CpuChoice {
  readonly isPlain: boolean;
}

function leastFirst(a: CpuChoice, b: CpuChoice): number {
  return a.features.length - b.features.length || (a.by < b.by ? -1 : 1);
}

/**
 * The features that a chosen file uses. A file that asks the CPU, as llama.cpp's files do before the choice, has the features of the CPU in
 * the file's name, if the CPU is known.
 */
function featuresOf({ cpu, program, path }: VariantFile, name: string): readonly string[] {
  const neededLevel = program?.neededLevel ?? null;
  // gcc's helpers ask before they use atomics.
  const guarded = new Set((cpu?.asks ?? []).includes(atomicsQuestion) ? ["atomics"] : []);
  const used = Object.entries(cpu?.features ?? {}).flatMap(([feature, { instructions }]) =>
    instructions > 0 && !neverNeededFeatures.has(feature) && !guarded.has(feature) ? [feature] : [],
  );
  const named = findMarch(name) ?? findMarch(otherNames[name] ?? "");
  const ofName = new Set(named?.features ?? withImplied(used.filter((feature) => isNamed(feature, name))));
  const asks = (cpu?.asks ?? []).length > 0;
  // What a file chooses by itself says nothing of the CPU that it is for: mmseqs-sse3 has zstd with BMI2. Code of Arm is not judged so far.
  const alone =
    cpu?.start == null ? null : findCpuNeed({ cpu, isVariant: false, neededLevel, through: [] }).features;
  const isCounted = (feature: string) =>
    !asks || ofName.has(feature) || (named === null && alone?.[feature] !== "mayBeUsed");
  const enforced = [neededLevel, path.includes("/glibc-hwcaps/") ? name : null].flatMap(
    (level) => (level === null ? null : findMarch(level))?.features ?? [],
  );
  const counted = [...used.filter(isCounted), ...enforced];
  return withImplied(counted.filter((feature) => !x86Baseline.has(feature)));
}

/** The feature is the extension in a file's name: `avx2`, `sse4.1`, `avx512` for each of its parts. */
function isNamed(feature: string, name: string): boolean {
  const [own, wanted] = [feature, name.toLowerCase()].map((text) => text.replace(/[._]/g, ""));
  if (own === undefined || wanted === undefined) return false;
  if (wanted === "avx512" || wanted === "sse4") return own.startsWith(wanted);
  return own === wanted || (own === "pni" && wanted === "sse3");
}

/** The marches of llama.cpp's names for variants (ggml/src/CMakeLists.txt, ggml_add_cpu_backend_variant). */
const otherNames: Readonly<Record<string, string>> = {
  sse42: "x86-64-v2",
  piledriver: "bdver2",
  skylakex: "skylake-avx512",
  icelake: "icelake-server",
  zen4: "znver4",
};
