/** Which version of a program there is; null where there is none. */

import { execFileSync } from "node:child_process";

export function programVersion(program: string): string | null {
  try {
    const text = execFileSync(program, ["--version"], { encoding: "utf8" });
    return /\bv?(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? text.trim();
  } catch {
    return null;
  }
}

/** What the distribution has, and a newer one beside it. */
export const containerds = {
  "of the distribution": process.env.IMGMATCH_CONTAINERD_PROGRAM ?? "containerd",
  "2.x": process.env.IMGMATCH_CONTAINERD2_PROGRAM ?? "containerd2",
} as const;
