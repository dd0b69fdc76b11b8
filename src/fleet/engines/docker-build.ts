/** `docker build` where it is a client of BuildKit: buildx, or what docker 20.10 has in it. */

import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Digest, isDigest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import type { Environment } from "../../io/world.ts";
import type { BuildRequest } from "./engine.ts";
import type { BuildWatch } from "../../oci/engine/built-image.ts";
import { cacheReference } from "./cache.ts";
import type { BuildFailure } from "./build-failure.ts";
import { copyingAnew } from "./jobs.ts";
import { lastLineOf, runProgram } from "../../oci/engine/program.ts";
import type { SharedFailures } from "./shared-failure.ts";
import { namedContextFlags, noNamedContexts, nothingMore, type StageContext } from "./staged-context.ts";
import { withTemporaryFolder } from "../../io/temporary-folder.ts";
import type { StepOptions } from "./step-options.ts";

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
  readonly stepOptions: StepOptions;
  readonly cacheFrom: readonly string[];
  readonly stage: StageContext;
  readonly shared: SharedFailures;
}

export interface DockerBuilt {
  /** Digest of the image's configuration, if the program says it. */
  readonly config: Digest | null;
  /** The engine's id of the image: BuildKit calls it the digest. */
  readonly digest: Digest | null;
  readonly failure: BuildFailure | null;
}

export async function runDockerBuild(
  { env, command, stepOptions, cacheFrom, stage, shared }: DockerBuildMeans,
  request: BuildRequest,
  more: readonly string[],
  { signal, onLog }: BuildWatch,
): Promise<DockerBuilt> {
  const isBuildx = command[0] === "buildx";
  if (!isBuildx && request.contexts !== undefined)
    throw noNamedContexts(request, "a docker command without buildx");
  const context = await stage(request);
  const named = await namedContextFlags(request, stage);
  const text = Buffer.from(copyingAnew(request));
  // Each text has another name: BuildKit takes a file of the same name, size and time for the file it has.
  const name = `${digestOf(text).slice("sha256:".length, "sha256:".length + 16)}.Dockerfile`;
  return shared.during(onLog, (complete) =>
    withTemporaryFolder(async (folder) => {
      const [dockerfile, result] = [join(folder, name), join(folder, "result")];
      await writeFile(dockerfile, text);
      await writeFile(`${dockerfile}.dockerignore`, nothingMore);
      const { status, lastLines } = await runProgram(
        "docker",
        [
          ...command,
          ...["--progress", "plain", "--file", dockerfile],
          ...[isBuildx ? "--metadata-file" : "--iidfile", result],
          ...buildFlags(request, stepOptions),
          ...named,
          ...cacheFrom.flatMap((from) => ["--cache-from", cacheReference(from, request.cell)]),
          ...more,
          // The name alone: docker 20.10 has BuildKit keep the files under this text.
          basename(context),
        ],
        { env, cwd: dirname(context), signal, onLine: onLog },
      );
      if (status !== 0)
        return { config: null, digest: null, failure: await complete(plainFailure(lastLines)) };
      const said = await readFile(result, "utf8");
      if (!isBuildx) return { config: null, digest: isDigest(said) ? said : null, failure: null };
      const json = JSON.parse(said) as Readonly<Record<string, unknown>>;
      const digestAt = (key: string) => (isDigest(json[key]) ? json[key] : null);
      const config = digestAt("containerimage.config.digest");
      return { config, digest: digestAt("containerimage.digest"), failure: null };
    }),
  );
}

/** The flags that `docker buildx build`, `podman build` and `buildah build` share. */
export function buildFlags(
  request: BuildRequest,
  { secrets = [], ssh = [], network = "default" }: StepOptions,
): readonly string[] {
  const pairs = (flag: string, values: Readonly<Record<string, string>>) =>
    Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
  return [
    ...["--platform", request.platform],
    ...(request.target === null ? [] : ["--target", request.target]),
    ...pairs("--build-arg", request.args),
    ...pairs("--label", request.labels),
    ...secrets.flatMap(({ flag }) => ["--secret", flag]),
    ...ssh.flatMap(({ flag }) => ["--ssh", flag]),
    // Buildah's default has no name that both programs take.
    ...(network === "default" ? [] : ["--network", network]),
  ];
}

type Attested = Pick<BuildRequest, "attest">;

/** `type=provenance,mode=max`, `type=sbom,generator=…` (docker/buildx, docs/reference/buildx_build.md, --attest). */
export function attestValues({ attest }: Attested): readonly string[] {
  if (attest === undefined) return [];
  const { provenance, sbom } = attest;
  return [
    ...(provenance === null ? [] : [`type=provenance,mode=${provenance}`]),
    ...(sbom === null ? [] : [`type=sbom${sbom.generator === null ? "" : `,generator=${sbom.generator}`}`]),
  ];
}

/** The request's build arguments and, where provenance repeats arguments, the arguments that name the cell. */
export function argsWithExtra({ args, attest }: Attested & Pick<BuildRequest, "args">): BuildRequest["args"] {
  return attest?.provenance === "max" ? { ...args, ...attest.extraArgs } : args;
}

const keptLines = 12;

/** @param lastLines of standard error, the last one last */
export function plainFailure(lastLines: readonly string[]): BuildFailure {
  const last = lastLines.findLast((line) => /^(ERROR|error): /.test(line));
  const message = (last ?? lastLineOf(lastLines)).replace(/^(ERROR|error): /, "");
  // The failing step again, between two rules: ` > [2/3] RUN make:` and its last lines with their seconds.
  const start = lastLines.findLastIndex((line) => /^ > .*:$/.test(line));
  if (start < 0) return { step: null, message, lastLines: [] };
  const rest = lastLines.slice(start + 1);
  const end = rest.findIndex((line) => /^-+$/.test(line));
  const again = end < 0 ? rest : rest.slice(0, end);
  const printed = again.length > 0 ? again : printedBefore(lastLines);
  return {
    step: (lastLines[start] ?? "").slice(3, -1),
    message,
    lastLines: printed.map((line) => line.replace(/^\d+\.\d+ /, "")).slice(-keptLines),
  };
}

/** Docker 20.10 does not say again what the step printed: it stands above as `#6 0.229 cc: error`, before `#6 ERROR: exit code: 1`. */
function printedBefore(lines: readonly string[]): readonly string[] {
  const [, number] =
    lines.map((line) => /^#(\d+) ERROR: (?!.*context canceled)/.exec(line)).findLast(Boolean) ?? [];
  return lines.flatMap((line) => new RegExp(`^#${number} (\\d+\\.\\d+ .*)$`).exec(line)?.[1] ?? []);
}
