/** SSH agents for a build: for the steps that mount them (`RUN --mount=type=ssh`), and in no image, log or digest. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type ImgmatchError, usageError } from "../../../errors.ts";

export interface BuildSsh {
  readonly id: string;
  /** Absolute: the agent's socket, or keys. None for the agent that SSH_AUTH_SOCK names. */
  readonly paths: readonly string[];
  /** As `docker buildx build`, bake and `podman build` take it: `default` or `id=path,…`. */
  readonly flag: string;
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
      const socket = env.SSH_AUTH_SOCK;
      if (!socket || !statSync(socket, { throwIfNoEntry: false })?.isSocket())
        throw usage(`--ssh ${text}: there is no agent, for SSH_AUTH_SOCK names none`);
      return { id, paths, flag: id };
    }
    const absolute = [first, ...more].map((path) => resolve(path));
    const absent = absolute.find((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
    if (absent !== undefined) throw usage(`--ssh ${id}: there is no ${absent}`);
    return { id, paths: absolute, flag: `${id}=${absolute.join(",")}` };
  });
  const twice = agents.find(({ id }, index) => agents.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) throw usage(`--ssh ${twice.id} is given twice`);
  return agents;
}

function partsOf(text: string): { readonly id: string; readonly paths: readonly string[] } {
  const [, id, , paths] = /^([A-Za-z0-9_.-]+)(=(.+))?$/.exec(text) ?? [];
  if (id === undefined) throw usage(`--ssh ${JSON.stringify(text)} is not ID, ID=SOCKET or ID=KEY`);
  return { id, paths: paths === undefined ? [] : paths.split(",") };
}

function usage(message: string): ImgmatchError {
  return usageError(
    message,
    "write --ssh default, with SSH_AUTH_SOCK naming an agent's socket, or --ssh ID=PATH",
  );
}
