/** `docker build` where it is a client of BuildKit: buildx, or what docker 20.10 has in it. */

import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Environment } from "../../../oci/engine/engine-endpoint.ts";
import { type Digest, digestOf, isDigest } from "../../../oci/digest.ts";
import type { BuildRequest, BuildWatch } from "../engine.ts";
import { buildFlags } from "./build-flags.ts";
import { cacheReference } from "./cache.ts";
import type { BuildFailure } from "./docker/build-output.ts";
import { plainFailure } from "./plain-failure.ts";
import { runProgram } from "./program.ts";
import type { SharedFailures } from "./shared-failure.ts";
import { nothingMore, type StageContext } from "./staged-context.ts";
import type { StepOptions } from "./step-options.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";

export interface BuildClient {
  readonly env: Environment;
  /** `buildx build`, perhaps with a builder; `build` for docker 20.10. */
  readonly command: readonly string[];
}

/** Attestations that nobody asked for would make an index of every image. */
export const noAttestations = {
  BUILDX_NO_DEFAULT_ATTESTATIONS: "1",
  BUILDX_METADATA_PROVENANCE: "disabled",
} as const;

export interface DockerBuildMeans extends BuildClient {
  readonly given: StepOptions;
  readonly cacheFrom: readonly string[];
  readonly stage: StageContext;
  readonly shared: SharedFailures;
}

export interface DockerBuilt {
  /** Of the image's configuration, where it is told. */
  readonly config: Digest | null;
  /** By which an engine knows the image: what BuildKit calls its digest. */
  readonly digest: Digest | null;
  /** What went wrong; the digests are null then. */
  readonly failure: BuildFailure | null;
}

/** `more`: flags for this build alone. */
export async function runDockerBuild(
  { env, command, given, cacheFrom, stage, shared }: DockerBuildMeans,
  request: BuildRequest,
  more: readonly string[],
  { signal, onLog }: BuildWatch,
): Promise<DockerBuilt> {
  const context = await stage(request);
  const text = Buffer.from(request.dockerfile);
  // A name of its own for each text: BuildKit takes a file of the same name, size and time for the one that it has.
  const name = `${digestOf(text).slice("sha256:".length, "sha256:".length + 16)}.Dockerfile`;
  const isBuildx = command[0] === "buildx";
  return shared.during(onLog, (complete) =>
    withTemporaryFolder(async (folder) => {
      const [dockerfile, result] = [join(folder, name), join(folder, "result")];
      await writeFile(dockerfile, text);
      await writeFile(`${dockerfile}.dockerignore`, nothingMore);
      const { status, lastLines } = await runProgram(
        "docker",
        [
          ...command,
          ...[
            "--progress",
            "plain",
            isBuildx ? "--metadata-file" : "--iidfile",
            result,
            "--file",
            dockerfile,
          ],
          ...buildFlags(request, given),
          ...cacheFrom.flatMap((from) => ["--cache-from", cacheReference(from, request.cell)]),
          ...more,
          // By its name alone, which with docker 20.10 is what BuildKit keeps the files under.
          basename(context),
        ],
        { env, cwd: dirname(context), signal, onLine: onLog },
      );
      if (status !== 0) return { ...nothing, failure: await complete(plainFailure(lastLines)) };
      const said = await readFile(result, "utf8");
      if (!isBuildx) return { ...nothing, digest: isDigest(said) ? said : null };
      const json = JSON.parse(said) as Readonly<Record<string, unknown>>;
      const digestAt = (key: string) => (isDigest(json[key]) ? json[key] : null);
      const config = digestAt("containerimage.config.digest");
      return { ...nothing, config, digest: digestAt("containerimage.digest") };
    }),
  );
}

const nothing: DockerBuilt = { config: null, digest: null, failure: null };
