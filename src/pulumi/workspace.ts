/** A stack through the Automation API: with an embedded back end where there is no project and no back end of the user's. */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as automation from "@pulumi/pulumi/automation/index.js";
import type { Environment } from "../io/world.ts";
import { ImgmatchError, usageError } from "../errors.ts";
import { ignoring } from "../io/files.ts";
import { isAlive } from "../io/owner.ts";
import { makeProjectFolder } from "../io/project-folder.ts";
import { digestOf } from "../oci/digest-of.ts";
import { imageType, type StackImage, stackImages } from "./stack-images.ts";

export interface WorkspaceOptions {
  /** Folder of the matrix. */
  readonly root: string;
  readonly env: Environment;
  /** Folder with `bin/pulumi`, or null for the one in PATH. */
  readonly pulumiRoot: string | null;
}

export interface Workspace {
  /** Folder with Pulumi.yaml, where the provider runs. */
  readonly workDir: string;
  readonly project: string;
  readonly open: (stack: string, program: automation.PulumiFn) => Promise<automation.Stack>;
}

/** The name of a project that is imgmatch's own. */
const ownProject = "imgmatch";

/** Opens the workspace. Pulumi.yaml beside the matrix is the user's project; else imgmatch has one below `.imgmatch/pulumi`. */
export async function openWorkspace({ root, env, pulumiRoot }: WorkspaceOptions): Promise<Workspace> {
  const own = resolve(root, ".imgmatch", "pulumi");
  makeProjectFolder(root, join(own, "state"));
  const isUsers = existsSync(join(root, "Pulumi.yaml"));
  const workDir = isUsers ? resolve(root) : own;
  const pulumiCommand = await automation.PulumiCommand.get(pulumiRoot === null ? {} : { root: pulumiRoot });
  const envVars = {
    PULUMI_SKIP_UPDATE_CHECK: "true",
    ...defined(env),
    ...(isUsers || env.PULUMI_BACKEND_URL ? {} : await embedded(own, env)),
  };
  const projectSettings = { name: ownProject, runtime: "nodejs", ...settingsFolder(env) } as const;
  const settings = { workDir, pulumiCommand, envVars };
  const project = isUsers
    ? (await (await automation.LocalWorkspace.create(settings)).projectSettings()).name
    : ownProject;
  return {
    workDir,
    project,
    open: (stackName, program) =>
      automation.LocalWorkspace.createOrSelectStack(
        { stackName, projectName: project, program },
        { ...settings, ...(isUsers ? {} : { projectSettings }) },
      ),
  };
}

/** Pulumi's settings of a stack beside its project belong to one passphrase, so to one back end: each has another folder. */
function settingsFolder({ PULUMI_BACKEND_URL: url }: Environment): { readonly stackConfigDir?: string } {
  return url ? { stackConfigDir: `backends/${digestOf(Buffer.from(url)).slice("sha256:".length, 23)}` } : {};
}

/** A state in files, encrypted with a passphrase that is made once. */
async function embedded(own: string, env: Environment): Promise<Record<string, string>> {
  const backend = { PULUMI_BACKEND_URL: `file://${join(own, "state").replaceAll("\\", "/")}` };
  if (env.PULUMI_CONFIG_PASSPHRASE !== undefined || env.PULUMI_CONFIG_PASSPHRASE_FILE) return backend;
  const file = join(own, "passphrase");
  const passphrase = `${randomBytes(24).toString("base64url")}\n`;
  await writeFile(file, passphrase, { flag: "wx", mode: 0o600 }).catch(ignoring("EEXIST"));
  return { ...backend, PULUMI_CONFIG_PASSPHRASE_FILE: file };
}

export interface StackState {
  /** By resource name. */
  readonly images: ReadonlyMap<string, StackImage>;
  /** By resource name. */
  readonly urns: ReadonlyMap<string, string>;
}

interface Resource {
  readonly urn: string;
  readonly type: string;
  readonly outputs?: Readonly<Record<string, unknown>>;
  readonly delete?: boolean;
}

interface DeploymentState {
  readonly resources?: readonly Resource[];
  readonly pending_operations?: readonly unknown[];
}

const ownTypes: readonly string[] = [
  "pulumi:pulumi:Stack",
  "pulumi:providers:docker",
  "imgmatch:index:ImageFleet",
];

/**
 * Reads the images of the stack. Drops operations that a killed update has left pending: the registry knows what became of an image. Throws
 * `USAGE` for a stack with resources of another program, which an update would remove.
 */
export async function readState(stack: automation.Stack): Promise<StackState> {
  const exported = await stack.exportStack();
  const state = (exported.deployment ?? {}) as DeploymentState;
  const resources = (state.resources ?? []).filter((resource) => resource.delete !== true);
  const foreign = resources.filter(({ type }) => type !== imageType && !ownTypes.includes(type));
  const images = resources.filter(({ type }) => type === imageType);
  if (foreign.length > 0) {
    throw usageError(
      `the stack ${stack.name} has ${foreign.length} resources of another program, the first being ${foreign[0]?.urn}: an update would remove them`,
      "name another stack with --stack, or put ImageFleet of imgmatch/pulumi into that program",
    );
  }
  if ((state.pending_operations ?? []).length > 0) {
    await stack.importStack({ ...exported, deployment: { ...state, pending_operations: [] } });
  }
  return {
    images: stackImages(Object.fromEntries(images.map(({ urn, outputs }) => [urn, outputs])), "docker"),
    urns: new Map(images.map(({ urn }) => [urn.split("::").slice(3).join("::"), urn])),
  };
}

/** How long the rest of a killed update gets to end by itself. */
const patienceMs = 60_000;

/**
 * Runs an update of a stack. The file back end's lock stays when `pulumi` is killed: one whose process on this machine is
 * gone is removed, one whose process lives is waited for, at most a minute. Throws `ENGINE_FAILED` for a lock of others.
 */
export async function withStackLock<T>(stack: automation.Stack, run: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof automation.ConcurrentUpdateError)) throw error;
      const holders = lockHolders(error.message);
      if (holders.length > 0 && holders.every(isGone)) await stack.cancel();
      else if (performance.now() > deadline || holders.some(({ host }) => host !== hostname())) {
        throw new ImgmatchError(
          {
            code: "ENGINE_FAILED",
            message: `the stack ${stack.name} is locked by ${holders.map(({ pid, host }) => `process ${pid} on ${host}`).join(", ") || "another update"}`,
            fix: `wait for it; if there is none: pulumi cancel --stack ${stack.name}`,
          },
          { cause: error },
        );
      } else await sleep(500);
    }
  }
}

export interface LockHolder {
  readonly host: string;
  readonly pid: number;
}

/** `…/locks/…/<id>.json: created by user@host (pid 123) at 2026-…` */
export function lockHolders(message: string): readonly LockHolder[] {
  return [...message.matchAll(/created by \S*@(\S+) \(pid (\d+)\)/g)].map(([, host = "", pid]) => ({
    host,
    pid: Number(pid),
  }));
}

function isGone({ host, pid }: LockHolder): boolean {
  return host === hostname() && !isAlive(pid);
}

/**
 * The errors of `pulumi`, else the end of all its output, without the empty lines. The message of a CommandError has the two streams, and
 * then the second one once more (automation/errors.ts and cmd.ts of `@pulumi/pulumi`).
 */
export function errorLines(error: unknown, count = 12): readonly string[] {
  const text = error instanceof Error ? error.message : String(error);
  const [, stdout = "", stderr = text] =
    /stdout: ([\s\S]*?)\n\s*stderr: ([\s\S]*?)\n\s*err\?: /.exec(text) ?? [];
  const said = /^Diagnostics:\n([\s\S]*)/m.exec(stdout)?.[1] ?? /^error: [\s\S]*/m.exec(stderr)?.[0] ?? text;
  return said
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-count);
}

function defined(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
