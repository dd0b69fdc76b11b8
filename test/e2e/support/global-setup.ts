/** One engine and one registry for all end-to-end files. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { whyNoClient } from "./buildkitd.ts";
import { whyNoBusybox } from "./busybox.ts";
import { engineAvailable, type RunningEngine, startEngine } from "./engine.ts";
import { runContainer } from "./try-daemon.ts";
import { startRegistry, whyNoRegistry } from "./registry.ts";
import { doesNotWork } from "../../support/programs.ts";

/** The engine and the registry that every end-to-end file gets by `inject("stack")`. */
export type Stack =
  | {
      readonly available: true;
      readonly engineEnv: Readonly<Record<string, string>>;
      /** Host with port of a registry that everybody may write to. */
      readonly registry: string;
      /** A folder of what one file has made and the next may take, as long as the registry is there. */
      readonly made: string;
    }
  | { readonly available: false; readonly reason: string };
export type RunningStack = Extract<Stack, { readonly available: true }>;

declare module "vitest" {
  interface ProvidedContext {
    readonly stack: Stack;
  }
}

/** If it is set, as by `.ci/run`, a machine without an engine fails and does not skip. */
const isRequired = Boolean(process.env.IMGMATCH_E2E_REQUIRED);

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const reason = engineAvailable() ?? whyNoRegistry();
  if (reason !== null) return skip(project, reason);
  const registry = await startRegistry();
  let engine: RunningEngine | null = null;
  try {
    engine = await startEngine();
    if (whyNoBusybox === null) await runContainer(engine.env);
    const noClient = whyNoClient(engine.env);
    if (noClient !== null) throw new Error(noClient);
  } catch (error) {
    await engine?.stop();
    await registry.stop();
    return skip(
      project,
      `no engine: ${doesNotWork("docker", error instanceof Error ? error.message : String(error))}`,
    );
  }
  const made = mkdtempSync(join(tmpdir(), "imgmatch-made-"));
  project.provide("stack", { available: true, engineEnv: engine.env, registry: registry.host, made });
  return async () => {
    await engine.stop();
    await registry.stop();
    rmSync(made, { recursive: true, force: true });
  };
}

/** The one line that says why; each file of tests then shows as skipped. */
function skip(project: TestProject, reason: string): undefined {
  if (isRequired) throw new Error(`IMGMATCH_E2E_REQUIRED is set, but there is ${reason}`);
  console.error(`end-to-end tests skipped: ${reason}`);
  project.provide("stack", { available: false, reason });
}
