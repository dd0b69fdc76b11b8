/** CPUs as `qemu-x86_64` emulates them, with the facts that a kernel on them would tell. */

import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pLimit from "p-limit";
import { cpuLevel } from "../../../src/hardware/cpu-levels.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { cpuidProgram } from "./cpuid-program.ts";

const run = promisify(execFile);
export const limit = pLimit(2);

export interface Machine {
  readonly model: string;
  readonly facts: HostFacts;
}

export async function compile(
  folder: string,
  name: string,
  source: string,
  flags: readonly string[],
): Promise<string> {
  const file = join(folder, name.replaceAll(/[^\w.-]/g, "_"));
  writeFileSync(`${file}.c`, source);
  await limit(() => run("gcc", [...flags, "-static", "-o", file, `${file}.c`]));
  return file;
}

/** Those of the models that this emulator knows. */
export async function readMachines(folder: string, models: readonly string[]): Promise<readonly Machine[]> {
  const program = await compile(folder, "cpuid", cpuidProgram(), ["-O1"]);
  // It exits with 1 after its list.
  const known = spawnSync("qemu-x86_64", ["-cpu", "help"], { encoding: "utf8" }).stdout;
  const present = models.filter((model) => new RegExp(`^x86 ${model.split(",")[0]}\\s`, "m").test(known));
  return Promise.all(
    present.map(async (model) => {
      const { stdout } = await run("qemu-x86_64", ["-cpu", model, program]);
      const features = stdout.trim().split("\n").sort();
      const cpu = { vendor: null, model, features, level: cpuLevel("amd64", features) };
      return { model, facts: cpuHost({ cpu }) };
    }),
  );
}
