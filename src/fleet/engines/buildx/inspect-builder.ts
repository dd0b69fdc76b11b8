/** Asks `docker buildx inspect` about a builder. */

import type { Environment } from "../../../io/world.ts";
import { ImgmatchError } from "../../../errors.ts";
import { runProgram } from "../../../oci/engine/program.ts";

export interface BuilderFacts {
  readonly name: string;
  /** `docker` is the BuildKit inside an engine; its images are images of that engine. */
  readonly driver: string;
  /** Address or docker context of its first node. */
  readonly endpoint: string;
  /** The version of BuildKit; `?` where it is unknown. */
  readonly version: string;
  /** `rewrite-timestamp` is an output option since BuildKit 0.13. */
  readonly rewritesTimestamps: boolean;
  /** BuildKit attests since 0.11. */
  readonly attests: boolean;
}

/** `builder`: default is the chosen one. Throws `ENGINE_NOT_FOUND` without docker or buildx, `ENGINE_UNREACHABLE` for a builder that does not run. */
export async function inspectBuilder(env: Environment, builder?: string): Promise<BuilderFacts> {
  const name = builder === undefined ? [] : [builder];
  const { status, stdout, lastLines } = await runProgram(
    "docker",
    ["buildx", "inspect", "--bootstrap", ...name],
    { env },
  );
  const said = lastLines.join("\n").trim();
  const [first, ...rest] = said.split("\n");
  if (/is not a docker command|unknown (command|flag): docker buildx|unknown flag: --bootstrap/.test(said)) {
    throw new ImgmatchError({
      code: "ENGINE_NOT_FOUND",
      message: "docker has no buildx here",
      fix: "install the buildx plugin (package docker-buildx or docker-buildx-plugin), or use --engine docker",
    });
  }
  const facts = readInspection(stdout);
  if (status !== 0 || (facts.state !== null && facts.state !== "running")) {
    throw new ImgmatchError({
      code: "ENGINE_UNREACHABLE",
      message: `the buildx builder${name.length > 0 ? ` ${name[0]}` : ""} does not run: ${said === "" ? facts.state : first}`,
      details: rest.map((line) => `    ${line}`),
      fix: "docker buildx ls lists the builders; docker buildx create makes one",
    });
  }
  return facts;
}

/** The environment with which the docker command would find the engine of a builder's node. */
export function engineOfBuilder(env: Environment, { endpoint }: Pick<BuilderFacts, "endpoint">): Environment {
  if (endpoint === "default" || endpoint === "") return env;
  const { DOCKER_HOST: _, DOCKER_CONTEXT: __, ...rest } = env;
  return /^[a-z]+:\/\//.test(endpoint)
    ? { ...rest, DOCKER_HOST: endpoint }
    : { ...rest, DOCKER_CONTEXT: endpoint };
}

/** `BASE_UNRESOLVED`: the builder has no images, and the images of the engine beside it do not count. */
export function seesNoImages({ name, driver }: Pick<BuilderFacts, "name" | "driver">): ImgmatchError {
  return new ImgmatchError({
    code: "BASE_UNRESOLVED",
    message: `the builder ${name} (driver ${driver}) sees no image of an engine, and a base is in no registry`,
    fix: "build with --engine docker, or push the base to a registry that the builder reaches and name it there: --replace-base OLD=NEW",
  });
}

/** The text of `docker buildx inspect` → facts. `state` is null where it does not stand there. */
export function readInspection(text: string): BuilderFacts & { readonly state: string | null } {
  const field = (pattern: string) => new RegExp(`^${pattern}:[ \\t]*(.+)$`, "mi").exec(text)?.[1]?.trim();
  // Up to 0.10 it stands there as "Buildkit:", later as "Buildkit version:" and "BuildKit version:".
  const version = field("BuildKit(?: version)?")?.replace(/^v/, "") ?? "?";
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    name: field("Name") ?? "default",
    driver: field("Driver") ?? "",
    endpoint: field("Endpoint") ?? "",
    version,
    rewritesTimestamps: Number(major) > 0 || Number(minor) >= 13,
    attests: Number(major) > 0 || Number(minor) >= 11,
    state: field("Status") ?? null,
  };
}
