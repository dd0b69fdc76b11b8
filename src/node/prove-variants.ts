/** CPU variants of a folder: whether the rules say that each runs here, and what its own probe says. */

import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError } from "../errors.ts";
import { neverNeededFeatures, x86Baseline } from "../hardware/cpu-features.ts";
import type { CpuFacts } from "../host/facts.ts";
import { openLibrary } from "../host/nvidia/native-library.ts";
import { fileSource } from "../inspect/byte-source.ts";
import { attempt } from "../io/attempt.ts";
import { errnoMessage } from "../io/files.ts";
import { runProgram } from "../io/run-program.ts";
import type { World } from "../io/world.ts";

export interface ProvedVariant {
  /** The name of the file. */
  readonly file: string;
  /** Linux names, sorted: what its code uses beyond the baseline; null where it cannot be read. */
  readonly features: readonly string[] | null;
  /** By the rules; null where features of the file or the CPU are not known. */
  readonly runs: boolean | null;
  /** Of `ggml_backend_score`: 0 is no; null where the library cannot be loaded, has no probe, or ended its process. */
  readonly score: number | null;
  /** null where either says nothing. */
  readonly agreed: boolean | null;
}

/** llama.cpp's, whose loader takes the one of the highest score (ggml-backend-reg.cpp, ggml_backend_load_best). */
const variantFile = /^libggml-cpu-.+\.so$/;
const probeName = "ggml_backend_score";
const timeoutMs = 30_000;
const absent = -1;

/** `command` starts what answers with {@link scoreOf}, in a process for each: the code of the folder runs there. */
export async function proveVariants(
  folder: string,
  cpu: CpuFacts,
  [program, ...args]: readonly [string, ...string[]],
  { env, signal }: Pick<World, "env" | "signal">,
): Promise<readonly ProvedVariant[]> {
  const variants: ProvedVariant[] = [];
  const libraries = [folder, env.LD_LIBRARY_PATH].filter(Boolean).join(":");
  for (const file of listVariants(folder)) {
    const { stdout } = await runProgram(program, args, {
      env: { ...env, LD_LIBRARY_PATH: libraries },
      input: `${join(folder, file)}\n`,
      timeoutMs,
      dropErrors: true,
      ...(signal && { signal }),
    });
    const score = attempt(() => JSON.parse(stdout) as number | null, null);
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
      message: `${folder}: ${errnoMessage(error)}`,
      fix: "name the folder with the files libggml-cpu-*.so",
    });
  }
}

/** Whatever it asks the CPU: its probe says for all of its code whether the CPU has it. */
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
