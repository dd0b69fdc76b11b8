/** The real cosigns, and what they need to work without the public sigstore: services that are none, a root that trusts nobody. */

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capture } from "../../../demo/process.ts";
import { isProgram } from "../../../src/io/run-program.ts";
import { endProcess } from "./children.ts";
import { freePorts } from "./ports.ts";
import type { RunningRegistry } from "./registry.ts";
import { whyNot } from "../../support/programs.ts";

export const cosign3 = process.env.IMGMATCH_COSIGN3_PROGRAM ?? "";
export const cosign2 = process.env.IMGMATCH_COSIGN2_PROGRAM ?? "";
const referrersRegistry = process.env.IMGMATCH_REFERRERS_REGISTRY_PROGRAM ?? "";

export const whyNoCosign: string | null =
  cosign3 === ""
    ? "no cosign 3 (.ci/provide builds it; IMGMATCH_COSIGN3_PROGRAM)"
    : whyNot(cosign3, ["version"], { install: "IMGMATCH_COSIGN3_PROGRAM names it" });
export const whyNoCosign2: string | null =
  cosign2 === ""
    ? "no cosign 2 (.ci/provide builds it; IMGMATCH_COSIGN2_PROGRAM)"
    : (whyNoCosign ?? whyNot(cosign2, ["version"], { install: "IMGMATCH_COSIGN2_PROGRAM names it" }));
/** Those that are here: the second one takes minutes to build. */
export const cosigns: readonly { readonly program: string; readonly version: 2 | 3 }[] = [
  { program: cosign3, version: 3 },
  ...(whyNoCosign2 === null ? [{ program: cosign2, version: 2 as const }] : []),
];
export const whyNoReferrersRegistry: string | null = isProgram(referrersRegistry)
  ? null
  : "no registry with the referrers API (.ci/provide builds it; IMGMATCH_REFERRERS_REGISTRY_PROGRAM)";

export const password = "open sesame";
const trustedRootType = "application/vnd.dev.sigstore.trustedroot+json;version=0.1";
const signingConfigType = "application/vnd.dev.sigstore.signingconfig.v0.2+json";

export interface Workbench {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Standard error and output where it fails. */
  run(program: string, ...args: string[]): Promise<{ readonly status: number | null; readonly said: string }>;
}

/** A folder with `cosign.key`, `cosign.pub`, `services.json` and `root.json`, all of cosign's own making as far as it makes them. */
export function cosignWorkbench(folder: string): Workbench {
  mkdirSync(folder, { recursive: true });
  const env = { ...process.env, COSIGN_PASSWORD: password, HOME: folder };
  writeFileSync(join(folder, "services.json"), JSON.stringify({ mediaType: signingConfigType }));
  writeFileSync(join(folder, "root.json"), JSON.stringify({ mediaType: trustedRootType }));
  execFileSync(cosign3, ["generate-key-pair"], { cwd: folder, env, stdio: "ignore" });
  return {
    folder,
    env,
    run: async (program, ...args) => {
      const { status, stdout, stderr } = await capture([program, ...args], { cwd: folder, env });
      return { status, said: stdout + stderr };
    },
  };
}

/** In memory, by the authors of crane, as their own tests run it. */
export async function startReferrersRegistry(): Promise<RunningRegistry> {
  const [port] = await freePorts(1);
  const host = `127.0.0.1:${port}`;
  const child = spawn(referrersRegistry, [host], { stdio: "ignore" });
  for (let tries = 0; ; tries++) {
    const answered = await fetch(`http://${host}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answered) break;
    if (tries === 200) throw new Error(`${referrersRegistry} gave no answer in 10 s`);
    await sleep(50);
  }
  return { host, stop: () => endProcess(child, 5000) };
}
