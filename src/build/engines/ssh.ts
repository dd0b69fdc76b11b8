/** SSH agents for a build: for the steps that mount them (`RUN --mount=type=ssh`), and in no image, log or digest. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type ImgmatchError, usageError } from "../../errors.ts";

export interface BuildSsh {
  readonly id: string;
  /** Absolute: the agent's socket, or keys. None for the agent that SSH_AUTH_SOCK names. */
  readonly paths: readonly string[];
  /** As `docker buildx build`, bake and `podman build` take it: `default` or `id=path,…`. */
  readonly flag: string;
  /** The agent's socket; null where keys are named, which an engine's own program reads. */
  readonly socket: string | null;
}

/** The form alone: `default`, `ID`, `ID=SOCKET`, `ID=KEY,KEY`. Throws `USAGE`. */
export function checkSsh(texts: readonly string[]): void {
  for (const text of texts) partsOf(text);
}

/** Parses the values of `--ssh`. Throws `USAGE`, also where there is no such agent or key: a step would fail much later. */
export function parseSsh(
  texts: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): readonly BuildSsh[] {
  const agents = texts.map((text): BuildSsh => {
    const { id, paths } = partsOf(text);
    const [first, ...more] = paths;
    if (first === undefined) {
      const socket = env.SSH_AUTH_SOCK || null;
      if (socket === null || !isSocket(socket))
        throw usage(`--ssh ${text}: there is no agent, for SSH_AUTH_SOCK names none`);
      return { id, paths, flag: id, socket };
    }
    const absolute = [first, ...more].map((path) => resolve(path));
    const absent = absolute.find((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
    if (absent !== undefined) throw usage(`--ssh ${id}: there is no ${absent}`);
    const [only = ""] = absolute;
    const socket = more.length === 0 && isSocket(only) ? only : null;
    return { id, paths: absolute, flag: `${id}=${absolute.join(",")}`, socket };
  });
  const twice = agents.find(({ id }, index) => agents.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) throw usage(`--ssh ${twice.id} is given twice`);
  return agents;
}

/** For an engine that is given connections and no keys. Throws `USAGE`. */
export function requireAgents(agents: readonly BuildSsh[]): readonly { id: string; socket: string }[] {
  return agents.map(({ id, socket }) => {
    if (socket !== null) return { id, socket };
    throw usageError(
      `--ssh ${id} names a key, and the docker engine takes an agent`,
      `give the key to an agent and name that: eval "$(ssh-agent)" && ssh-add KEY, then --ssh ${id}; or build with --engine buildx`,
    );
  });
}

function partsOf(text: string): { readonly id: string; readonly paths: readonly string[] } {
  const [, id, , paths] = /^([A-Za-z0-9_.-]+)(=(.+))?$/.exec(text) ?? [];
  if (id === undefined) throw usage(`--ssh ${JSON.stringify(text)} is not ID, ID=SOCKET or ID=KEY`);
  return { id, paths: paths === undefined ? [] : paths.split(",") };
}

function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}

function usage(message: string): ImgmatchError {
  return usageError(
    message,
    "write --ssh default, with SSH_AUTH_SOCK naming an agent's socket, or --ssh ID=PATH",
  );
}
