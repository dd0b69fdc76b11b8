/** Compares the rules with the probes of CPU variants in a folder. */

import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { faultOf, ImgmatchError } from "../errors.ts";
import { neverNeededFeatures, x86Baseline } from "../hardware/cpu-features.ts";
import type { CpuFacts } from "../facts/facts.ts";
import { openLibrary } from "../host/native-library.ts";
import { fileSource } from "../inspect/byte-source.ts";
import { answerWithin, startLineProgram } from "../io/line-program.ts";
import type { World } from "../io/world.ts";

export interface ProvedVariant {
  /** The name of the file. */
  readonly file: string;
  /** The features that its code uses beyond the baseline: Linux names, sorted; null if the code cannot be read. */
  readonly features: readonly string[] | null;
  /** The rules' verdict; null if features of the file or the CPU are unknown. */
  readonly runs: boolean | null;
  /** The answer of `ggml_backend_score`, 0 for no; null if the library does not load, has no probe, or ended its process. */
  readonly score: number | null;
  /** null if either does not decide. */
  readonly agreed: boolean | null;
}

/** llama.cpp's variants. Its loader takes the one with the highest score (ggml-backend-reg.cpp, ggml_backend_load_best). */
const variantFile = /^libggml-cpu-.+\.so$/;
const probeName = "ggml_backend_score";
const timeoutMs = 30_000;
const absent = -1;

/** The command answers with {@link scoreOf}. Each library runs in a process of its own. */
export async function proveVariants(
  folder: string,
  cpu: CpuFacts,
  command: readonly [string, ...string[]],
  { env, signal }: Pick<World, "env" | "signal">,
): Promise<readonly ProvedVariant[]> {
  const variants: ProvedVariant[] = [];
  const libraries = [folder, env.LD_LIBRARY_PATH].filter(Boolean).join(":");
  for (const file of listVariants(folder)) {
    const helper = startLineProgram(command, { ...env, LD_LIBRARY_PATH: libraries }, 3);
    const answer = await answerWithin(helper, join(folder, file), timeoutMs, signal).finally(helper.kill);
    const score = typeof answer === "string" ? (JSON.parse(answer) as number | null) : null;
    const features = await featuresOf(join(folder, file));
    const runs = features && cpu.features && features.every((feature) => cpu.features?.includes(feature));
    const agreed = runs === null || score === null ? null : runs === score > 0;
    variants.push({ file, features, runs, score, agreed });
  }
  return variants;
}

function listVariants(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => variantFile.test(name))
      .sort();
  } catch (error) {
    throw new ImgmatchError({
      code: "FILE_UNREADABLE",
      message: `${folder}: ${faultOf(error)}`,
      fix: "name the folder with the files libggml-cpu-*.so",
    });
  }
}

/** All features of the code count, even behind a check of the CPU: the probe answers for the whole file. */
async function featuresOf(path: string): Promise<readonly string[] | null> {
  const { inspectFile } = await import("../inspect/inspect-file.ts");
  const descriptor = openSync(path, "r");
  try {
    const found = await inspectFile(fileSource(descriptor, fstatSync(descriptor).size), false);
    if (found?.cpu == null) return null;
    return Object.entries(found.cpu.features)
      .filter(([name, { instructions }]) => instructions > 0 && !neverNeededFeatures.has(name))
      .map(([name]) => name)
      .filter((name) => !x86Baseline.has(name));
  } finally {
    closeSync(descriptor);
  }
}

/** The score that a library gives this CPU. Runs the library's code. */
export async function scoreOf(path: string): Promise<number | null> {
  const score = (await openLibrary([path], absent))?.bind(probeName, [])();
  return score === undefined || score === absent ? null : score;
}
