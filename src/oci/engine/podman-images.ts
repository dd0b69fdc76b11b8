/** Podman or Buildah, and the images in their store. */

import { ImgmatchError } from "../../errors.ts";
import { fieldsOf, parseJson } from "../../io/json.ts";
import { findProgram, type ProgramOptions } from "../../io/run-program.ts";
import { type Digest, isDigest } from "../digest.ts";
import type { Environment } from "../../io/world.ts";
import { lastLineOf, runProgram } from "./program.ts";
import { writtenFile } from "./written-file.ts";

export interface Podman {
  readonly program: string;
  readonly version: string;
  readonly env: Environment;
}

/** `name` may be an id. null where there is none. Throws `ENGINE_FAILED` where the program says neither. */
export async function findPodmanImage({ program, env }: Podman, name: string): Promise<Digest | null> {
  const inspect =
    program === "buildah"
      ? ["inspect", "--type", "image", "--format", "{{.FromImageID}}"]
      : ["image", "inspect", "--format", "{{.Id}}"];
  const { status, stdout, lastLines } = await runProgram(program, [...inspect, "--", name], { env });
  const id = `sha256:${stdout.trim().replace(/^sha256:/, "")}`;
  if (status === 0 && isDigest(id)) return id;
  const said = lastLineOf(lastLines);
  if (status !== 0 && /image not known|no such image|unable to find/i.test(said)) return null;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${program} does not tell what ${name} is: ${said}`,
  });
}

/** Podman, or Buildah alone. */
export function hasPodman(env: Environment): boolean {
  return ["podman", "buildah"].some((program) => findProgram(program, env) !== null);
}

/** Both tell their version in a moment, unless something holds them. */
const versionMs = 5_000;

/** Throws `ENGINE_NOT_FOUND` when neither is installed, and `ENGINE_UNREACHABLE` for one that does not answer. */
export async function findPodman(env: Environment, signal?: AbortSignal): Promise<Podman> {
  for (const program of ["podman", "buildah"]) {
    try {
      const options = { env, timeoutMs: versionMs, ...(signal && { signal }) };
      const { status, stdout, timedOut } = await runProgram(program, ["--version"], options);
      if (timedOut)
        throw new ImgmatchError({
          code: "ENGINE_UNREACHABLE",
          message: `${program} --version gives no answer within ${versionMs / 1000} s`,
          fix: "run it by hand: it waits for something",
        });
      if (status === 0) return { program, version: /version (\S+)/.exec(stdout)?.[1] ?? "?", env };
    } catch (error) {
      if (!(error instanceof ImgmatchError && error.code === "ENGINE_NOT_FOUND")) throw error;
    }
  }
  throw new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: "neither podman nor buildah is installed",
    fix: "apt-get install podman (or buildah), or use --engine docker",
  });
}

/** Throws `ENGINE_FAILED` with the last words of one that fails. */
export async function podmanAnswer(
  { program, env }: Podman,
  args: readonly string[],
  options: Pick<ProgramOptions, "signal" | "onLine"> = {},
): Promise<string> {
  const { status, stdout, lastLines } = await runProgram(program, args, { env, ...options });
  if (status === 0) return stdout;
  throw new ImgmatchError({ code: "ENGINE_FAILED", message: `${program}: ${lastLineOf(lastLines)}` });
}

/** What it says of an image, in the words of Docker's API, which Podman takes and Buildah does not. */
export async function describePodmanImage(podman: Podman, id: Digest): Promise<unknown> {
  const bare = id.slice("sha256:".length);
  if (podman.program === "podman") {
    const said = parseJson(await podmanAnswer(podman, ["image", "inspect", "--", bare]));
    return Array.isArray(said) ? said[0] : null;
  }
  const said = parseJson(await podmanAnswer(podman, ["inspect", "--type", "image", "--", bare]));
  const { os, architecture, variant, config } = fieldsOf(fieldsOf(said).OCIv1);
  return { Id: id, Os: os, Architecture: architecture, Variant: variant, Config: config };
}

/** An archive as `docker save` writes it. It has the layers unchanged, each under its digest: nothing is compressed for one reading. */
export function podmanArchive(
  podman: Podman,
  id: string,
  options: Pick<ProgramOptions, "signal" | "onLine"> = {},
): AsyncIterable<Uint8Array> {
  return writtenFile((file) =>
    podmanAnswer(podman, ["push", id.slice("sha256:".length), `docker-archive:${file}`], options),
  );
}

/** The ids of all images, `sha256:…`. */
export async function podmanImageIds({ program, env }: Podman): Promise<readonly string[]> {
  const { stdout } = await runProgram(program, ["images", "--all", "--no-trunc", "--quiet"], { env });
  return stdout
    .split("\n")
    .flatMap((line) => line.match(/[0-9a-f]{64}/) ?? [])
    .map((id) => `sha256:${id}`);
}
