/** Finds the GPU rows that can be built here: those whose base image can be pulled or made. */

import type { CpuBases, MatrixBases, Replacement, StageBases } from "./bases.ts";
import { makeCudaBase } from "./cuda-base.ts";
import { canPull, type Workshop } from "./image.ts";

export interface GpuRows {
  /** Toolkits whose rows can be built, each with what they are built on. */
  readonly toolkits: ReadonlyMap<string, StageBases>;
  readonly replacements: readonly Replacement[];
}

/** Tries every toolkit of the matrix, newest first, and says what came of each. */
export async function provideGpuBases(
  wanted: MatrixBases,
  cpu: CpuBases,
  workshop: Workshop,
): Promise<GpuRows> {
  const { say, signal } = workshop.context;
  const toolkits = new Map<string, StageBases>();
  const replacements: Replacement[] = [];
  for (const [toolkit, bases] of [...wanted.cuda].reverse()) {
    signal.throwIfAborted();
    // If the CPU rows' base came from a registry, this one probably can too; otherwise the wait is not worth it.
    if (cpu.replacements.length === 0 && (await canPull(bases.run, workshop, 300_000))) {
      say.line(
        `CUDA ${toolkit}: pulling ${bases.build}, several GB where it is not here yet (--cpu-only leaves it out)`,
      );
      if (await canPull(bases.build, workshop, 1_800_000)) {
        toolkits.set(toolkit, bases);
        continue;
      }
    }
    const made = await makeCudaBase(toolkit, cpu.stages, workshop);
    if (!made.ok) {
      say.line(`CUDA ${toolkit}: left out; ${bases.build} cannot be pulled, and ${made.why}`);
      continue;
    }
    say.line(`CUDA ${toolkit}: nvcc from NVIDIA's Python wheels in place of ${bases.build}`);
    toolkits.set(toolkit, made.stages);
    replacements.push({ from: bases.build, to: made.stages.build }, { from: bases.run, to: made.stages.run });
  }
  return { toolkits, replacements };
}
