/** The engines and daemons that this machine may have beside the tests' own; one that does not work is as good as absent. */

import { whyNot, doesNotWork, tryOnce, tryProgram } from "../../support/programs.ts";
import { root } from "./program.ts";
import { join } from "node:path";

const howToGet = ".ci/run builds one";

/** The version of a program; null where there is no program, or where it does not tell. */
export function programVersion(program: string): string | null {
  const tried = tryProgram(program, ["--version"], { install: howToGet });
  if (!tried.works) return null;
  return /\bv?(\d+\.\d+\.\d+)/.exec(tried.said)?.[1] ?? tried.said;
}

/** The distribution's program, and a newer one beside it. */
export const containerds = {
  "of the distribution": process.env.IMGMATCH_CONTAINERD_PROGRAM ?? "containerd",
  "2.x": process.env.IMGMATCH_CONTAINERD2_PROGRAM ?? "containerd2",
} as const;

/** null where it starts and answers. */
export function whyNoDaemon(daemon: "dockerd" | "containerd", program: string): string | null {
  const missing = whyNot(program, ["--version"], { install: howToGet });
  if (missing !== null) return missing;
  const tried = tryOnce(`${daemon} ${program} ${process.env.PATH}`, () => {
    const script = join(root, "test/e2e/support/try-daemon.ts");
    const args = ["--import", "tsx", script, daemon, program];
    const ran = tryProgram(process.execPath, args, { install: "" });
    return ran.works ? ran : { works: false, why: doesNotWork(program, ran.why) };
  });
  return tried.works ? null : tried.why;
}
