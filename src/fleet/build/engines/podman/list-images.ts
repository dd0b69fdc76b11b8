/** The images in the store that Podman and Buildah share. */

import type { Environment } from "../../../../oci/engine/engine-endpoint.ts";
import { runProgram } from "../program.ts";
import { findProgram } from "./find-podman.ts";

/** `sha256:…` of each. Throws `ENGINE_NOT_FOUND` where neither program is installed. */
export async function podmanIds(env: Environment): Promise<readonly string[]> {
  const { program } = await findProgram(env);
  return (await listImages(program, env)).map(({ id }) => `sha256:${id}`);
}

export interface Listed {
  /** Without `sha256:`. */
  readonly id: string;
  readonly names: number;
}

export async function listImages(program: string, env: Environment): Promise<readonly Listed[]> {
  const json = program === "podman" ? ["--format", "json"] : ["--json"];
  const { status, stdout } = await runProgram(program, ["images", "--all", "--no-trunc", ...json], { env });
  if (status !== 0 || stdout.trim() === "") return [];
  // Podman writes `Id` and `Names`, Buildah `id` and `names`; no images are `null`.
  type Raw = { readonly [key in "Id" | "id"]?: string } & {
    readonly [key in "Names" | "names"]?: readonly string[] | null;
  };
  return ((JSON.parse(stdout) ?? []) as readonly Raw[]).map((image) => ({
    id: (image.Id ?? image.id ?? "").replace(/^sha256:/, ""),
    names: (image.Names ?? image.names ?? []).length,
  }));
}
