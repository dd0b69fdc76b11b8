/** Many runs of a script in one process: starting thousands from Node would take longer than they do. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Dialect } from "./dialects.ts";
import { placeOf } from "../../../support/programs.ts";

export interface ScriptCase {
  readonly script: string;
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** The folder of an nvidia-smi, where the machine has one. */
  readonly smi: string | null;
  /** True if some of its files may not be read: then it is run as a user who is not root. */
  readonly unprivileged?: boolean;
}

export interface ScriptResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `folder` takes the outputs, which are gone with it. */
export function runScripts(
  folder: string,
  dialect: Dialect,
  cases: readonly ScriptCase[],
): readonly ScriptResult[] {
  const runner = join(folder, "run.sh");
  const path = process.env.PATH ?? "/usr/bin:/bin";
  const lines = cases.map(({ script, root, env, args = [], smi, unprivileged = false }, index) => {
    const variables = {
      ...env,
      IMGMATCH_ROOT: root,
      PATH: [dialect.awk, ...(smi === null ? [] : [smi]), path].join(":"),
    };
    const exports = Object.entries(variables).map(
      ([name, value]) => `${name}=${quote(value)}; export ${name}`,
    );
    const user =
      unprivileged && process.getuid?.() === 0
        ? `${placeOf("setpriv")} --reuid=65534 --regid=65534 --clear-groups `
        : "";
    const command = `${user}${dialect.shell} ${quote(script)} ${args.map(quote).join(" ")}`;
    return `( ${exports.join("; ")}; ${command} ) >${index}.out 2>${index}.err; echo $? >${index}.status`;
  });
  const clean = [
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "KUBERNETES_SERVICE_HOST",
    "container",
  ];
  writeFileSync(runner, [`cd ${quote(folder)} || exit`, `unset ${clean.join(" ")}`, ...lines, ""].join("\n"));
  execFileSync("dash", [runner], { stdio: ["ignore", "ignore", "inherit"] });
  return cases.map((_, index) => {
    const read = (kind: string) => readFileSync(join(folder, `${index}.${kind}`), "utf8");
    return { status: Number(read("status")), stdout: read("out"), stderr: read("err") };
  });
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
