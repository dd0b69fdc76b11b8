/** GPU targets as real toolkits accept them, compared with the tables. */

import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { cudaToolkits, supportedTargets, toolkitCompiles } from "../../src/hardware/cuda-toolkits.ts";
import { parseGpuTarget } from "../../src/hardware/gpu-target.ts";
import {
  type CudaCompiler,
  cudaCompilers as programs,
  whyNoCompiler,
} from "../inspect/support/cuda-tools.ts";
import { needs } from "../support/needs.ts";

describe("targets", needs(whyNoCompiler), () => {
  it("come from a program that was found", () => expect(programs).not.toEqual([]));

  it.each(programs)("of $kind $release are those of the table", (program) => {
    const targets = supportedTargets(program.release);
    expect(targets, `the table has CUDA ${program.release}`).not.toBeNull();
    const expected = [...(targets?.sm ?? []).map(String), ...(targets?.specific ?? [])].map(
      (number) => `sm_${number}`,
    );
    expect(acceptedTargets(program).sort()).toEqual(expected.sort());
  });

  it.each(programs.filter(({ kind }) => kind === "nvcc"))(
    "of nvcc $release are accepted where toolkitCompiles says so, and refused where not",
    (program) => {
      const toolkit = cudaToolkits.filter(({ minor }) => minor === program.release).at(-1);
      if (toolkit === undefined) throw new Error(`the table has no toolkit ${program.release}`);
      const wrong = everyTarget().filter((name) => {
        const target = parseGpuTarget(name);
        return target !== null && toolkitCompiles(toolkit, target) !== compiles(program, name);
      });
      expect(wrong).toEqual([]);
    },
    120_000,
  );
});

/** Every target that some toolkit has, and some that none has. */
function everyTarget(): readonly string[] {
  const rows = cudaToolkits.flatMap(({ minor }) => supportedTargets(minor) ?? []);
  const numbers = rows.flatMap(({ sm, specific }) => [...sm.map(String), ...specific]);
  return [...new Set([...numbers, "76", "90f", "99", "89a", "130"])].flatMap((number) => [
    `sm_${number}`,
    `compute_${number}`,
  ]);
}

/** A dry run checks the names and compiles nothing. */
function compiles({ path }: CudaCompiler, target: string): boolean {
  const virtual = target.replace("sm_", "compute_");
  const { status, stderr } = spawnSync(
    path,
    ["--dryrun", "-fatbin", "-x", "cu", `-gencode=arch=${virtual},code=${target}`, "/dev/null"],
    { encoding: "utf8" },
  );
  if (status === 0) return true;
  if (/Unsupported gpu architecture|not in list of|invalid value|Value '.*' is not defined/i.test(stderr))
    return false;
  throw new Error(`nvcc ${target}: ${stderr}`);
}

/** The targets that the program itself lists: nvcc leaves out the specific ones, which the ptxas beside it has. */
function acceptedTargets({ path, kind }: CudaCompiler): string[] {
  const ptxas = kind === "ptxas" ? path : join(dirname(realpathSync(path)), "ptxas");
  const help = spawnSync(ptxas, ["--help"], { encoding: "utf8" }).stdout ?? "";
  const option = help.slice(help.indexOf("--gpu-name"));
  const listed = option.slice(0, option.indexOf("Default value")).match(/'sm_\d+[af]?'/g) ?? [];
  const names = listed.map((name) => name.replaceAll("'", ""));
  if (kind === "nvcc") {
    const code = spawnSync(path, ["--list-gpu-code"], { encoding: "utf8" }).stdout.trim().split("\n");
    expect(code.sort(), "nvcc and its ptxas agree").toEqual(names.filter((name) => /\d$/.test(name)).sort());
  }
  return [...new Set(names)];
}
