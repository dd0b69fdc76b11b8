/** The parts that npm does not bring, and how to get each. */

import { homedir } from "node:os";
import { join } from "node:path";
import { ImgmatchError } from "../errors.ts";
import type { Environment } from "../io/world.ts";
import { findProgram, isProgram } from "../io/run-program.ts";
import { runProgram } from "../fleet/build/engines/program.ts";
import { installPackages } from "./install-packages.ts";

const install = "curl -fsSL https://get.pulumi.com | sh";

export interface PulumiParts {
  /** `3.230.0` */
  readonly version: string;
  /** Of the plug-in: `5.2.0`, or `PATH` for one that is taken from there whatever its version. */
  readonly plugin: string;
  /** Folder with `bin/pulumi` where it is not in PATH. */
  readonly root: string | null;
}

/** Throws one `ENGINE_NOT_FOUND` that names all missing parts with the commands that install them. */
export async function findParts(env: Environment): Promise<PulumiParts> {
  const missing: { readonly what: string; readonly command: string }[] = [];
  // The plug-in must be of the version of its package.
  const docker = await packageVersion();
  if (docker === null) missing.push({ what: "the npm packages of Pulumi", command: installPackages });
  const root = findRoot(env);
  const cli = root === undefined ? null : await versionOf(env, root);
  const wanted = docker ?? "5.2.0";
  let plugin: string | null = null;
  if (cli === null) missing.push({ what: "the pulumi program", command: install });
  else plugin = await findPlugin(env, root ?? null);
  if (plugin === null) {
    missing.push({
      what: "Pulumi's docker plug-in",
      command: `pulumi plugin install resource docker v${wanted}`,
    });
  }
  if (cli !== null && plugin !== null && docker !== null) return { version: cli, plugin, root: root ?? null };
  throw new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: `--engine pulumi needs ${missing.map(({ what }) => what).join(" and ")}`,
    fix: `${missing.map(({ command }) => command).join("; ")}; or build with --engine docker`,
  });
}

async function packageVersion(): Promise<string | null> {
  try {
    await import("@pulumi/pulumi/automation/index.js");
    const { default: docker } = await import("@pulumi/docker/package.json", { with: { type: "json" } });
    return docker.version;
  } catch (error) {
    if (error instanceof Error && /ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND/.test(codeOf(error))) return null;
    throw error;
  }
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : "";
}

/** null where it is in PATH, undefined where it is nowhere. */
function findRoot(env: Environment): string | null | undefined {
  if (findProgram("pulumi", env) !== null) return null;
  const home = env.PULUMI_HOME || join(env.HOME || homedir(), ".pulumi");
  return isProgram(pulumiIn(home)) ? home : undefined;
}

function pulumiIn(root: string | null): string {
  if (root === null) return "pulumi";
  return join(root, "bin", process.platform === "win32" ? "pulumi.exe" : "pulumi");
}

async function versionOf(env: Environment, root: string | null): Promise<string | null> {
  const { status, stdout } = await runProgram(pulumiIn(root), ["version"], { env: quiet(env) });
  return status === 0 ? stdout.trim().replace(/^v/, "") : null;
}

async function findPlugin(env: Environment, root: string | null): Promise<string | null> {
  if (findProgram("pulumi-resource-docker", env) !== null) return "PATH";
  const { status, stdout } = await runProgram(pulumiIn(root), ["plugin", "ls", "--json"], {
    env: quiet(env),
  });
  if (status !== 0) return null;
  const plugins = JSON.parse(stdout) as readonly { readonly name: string; readonly version?: string }[];
  return plugins.find(({ name }) => name === "docker")?.version ?? null;
}

function quiet(env: Environment): Environment {
  return { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" };
}
