/** Podman or Buildah, whichever is installed: both take the same flags, need no service and run without root. */

import { access, copyFile, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ImgmatchError } from "../../../errors.ts";
import { isDigest } from "../../../oci/digest.ts";
import type { Environment } from "../../../io/world.ts";
import { lostBase } from "../../../oci/engine/tag-local-bases.ts";
import { replaceLocalBases } from "../../../oci/local-base.ts";
import { findBases } from "../../dockerfile/bases.ts";
import { formatImageReference, parseImageReference } from "../../../oci/reference.ts";
import { podmanTls } from "../../../oci/registry/registry-endpoint.ts";
import type { BuildRequest, Engine } from "../engine.ts";
import type { BuildWatch, BuiltImage } from "../../../oci/engine/built-image.ts";
import { contextTime, sourceDateEpoch } from "../source-date-epoch.ts";
import { type Advice, adviceFor } from "../advice.ts";
import type { StepOptions } from "../step-options.ts";
import { buildFlags } from "../docker-build.ts";
import { buildFailure } from "../build-failure.ts";
import type { DockerEngineOptions } from "../docker/docker-engine.ts";
import { lastLineOf, runProgram } from "../../../oci/engine/program.ts";
import { pushFailure } from "../push-failure.ts";
import {
  createStaging,
  namedContextFlags,
  noNamedContexts,
  nothingMore,
  type StageContext,
} from "../staged-context.ts";
import { discard, withTemporaryFolder } from "../../../io/temporary-folder.ts";
import {
  findPodman,
  findPodmanImage,
  type Podman,
  podmanAnswer,
  podmanArchive,
} from "../../../oci/engine/podman-images.ts";

/** `ca`: beside the certificates that it trusts already. */
export type PodmanOptions = Pick<DockerEngineOptions, "env" | "ca" | keyof StepOptions>;

export async function createPodmanEngine({ env, ca, ...stepOptions }: PodmanOptions): Promise<Engine> {
  const usable = await withAuthority(await withReadableConfig(env), ca);
  const advice = adviceFor("containers", ca);
  const podman = await findPodman(usable);
  const { program, version } = podman;
  const epoch = sourceDateEpoch(env);
  const means = { podman, stepOptions, stage: createStaging(contextTime(env)), epoch, advice };
  return {
    isHere: true,
    attests: false,
    describe: async () => `${program} ${version}`,
    diffIds: (name, watch) => diffIds(podman, name, watch),
    build: (request, watch) => build(means, request, watch),
    save: ({ id }, { signal, onLog }) => podmanArchive(podman, id, { signal, onLine: onLog }),
    async push(image, to, { signal, onLog }) {
      const name = formatImageReference(to);
      return withTemporaryFolder(async (folder) => {
        const file = join(folder, "digest");
        const { status, lastLines } = await runProgram(
          program,
          [
            "push",
            ...podmanTls(to.registry),
            "--digestfile",
            file,
            image.id.slice("sha256:".length),
            `docker://${name}`,
          ],
          { env: usable, signal, onLine: onLog },
        );
        if (status !== 0) throw pushFailure(name, lastLineOf(lastLines), advice);
        const digest = (await readFile(file, "utf8")).trim();
        if (isDigest(digest)) return digest;
        throw engineFailed(`${program} pushed ${name} without naming a digest`);
      });
    },
  };
}

async function diffIds(podman: Podman, name: string, { signal }: BuildWatch): Promise<readonly string[]> {
  const { program } = podman;
  const [kind, layers] =
    program === "buildah"
      ? [["inspect", "--type", "image"], ".OCIv1.RootFS.DiffIDs"]
      : [["image", "inspect"], ".RootFS.Layers"];
  const format = `{{range ${layers}}}{{println .}}{{end}}`;
  const bare = name.replace(/^sha256:/, "");
  const said = await podmanAnswer(podman, [...kind, "--format", format, "--", bare], { signal });
  return said.split("\n").filter(isDigest);
}

interface PodmanBuildMeans {
  readonly podman: Podman;
  readonly stepOptions: StepOptions;
  readonly stage: StageContext;
  readonly epoch: number | null;
  readonly advice: Advice;
}

async function build(
  { podman, stepOptions, stage, epoch, advice }: PodmanBuildMeans,
  request: BuildRequest,
  { signal, onLog }: BuildWatch,
): Promise<BuiltImage> {
  const { program, env, version } = podman;
  if (request.contexts !== undefined && !takesContexts(podman))
    throw noNamedContexts(request, `${program} ${version}`);
  for (const id of request.localBases ?? []) {
    if ((await findPodmanImage(podman, id)) === null) throw lostBase(id, program);
  }
  await pullFromLoopback(podman, request, { signal, onLog });
  const context = await stage(request);
  const named = await namedContextFlags(request, stage);
  return withTemporaryFolder(async (folder) => {
    const [file, idFile] = [join(folder, "Dockerfile"), join(folder, "id")];
    // They know an image by its id too.
    await writeFile(
      file,
      replaceLocalBases(request.dockerfile, (id) => id.slice("sha256:".length)),
    );
    const ignoreFile = join(folder, "ignore");
    await writeFile(ignoreFile, nothingMore);
    // Older than 4 they do not know the flag.
    const mayHide = request.contextFiles.some(({ path }) => /^\.(docker|container)ignore$/.test(path));
    const steps: string[] = [];
    const { status, lastLines } = await runProgram(
      program,
      [
        // Buildah would keep the container of a step that fails.
        ...["build", "--layers", "--force-rm", "--format", "docker", "--file", file],
        ...["--iidfile", idFile],
        ...(mayHide ? ["--ignorefile", ignoreFile] : []),
        ...(epoch === null ? [] : ["--timestamp", String(epoch)]),
        ...buildFlags(request, stepOptions),
        ...named,
        ...request.tags.flatMap((tag) => ["--tag", tag]),
        context,
      ],
      {
        env,
        signal,
        onLine: onLog,
        // The steps come on standard output, what they print on standard error.
        onOutput: (line) => {
          if (/^(\[\d+\/\d+\] )?STEP /.test(line)) steps.push(line);
          onLog(line);
        },
      },
    );
    if (status !== 0) {
      const failure = {
        step: steps.at(-1) ?? null,
        message: lastLineOf(lastLines),
        lastLines: lastLines.slice(-13, -1),
      };
      throw buildFailure(request, failure, advice);
    }
    const id = (await readFile(idFile, "utf8")).trim().replace(/^sha256:/, "");
    return { id: `sha256:${id}`, size: null };
  });
}

/**
 * The bases of registries on loopback are pulled before, so that `--tls-verify=false` counts for them alone. The build pulls what could not be
 * had, and tells why.
 */
async function pullFromLoopback(
  { program, env }: Podman,
  { dockerfile, args, platform, contexts = [] }: BuildRequest,
  { signal, onLog }: BuildWatch,
): Promise<void> {
  const folders = Object.fromEntries(contexts.map(({ name, contextDir }) => [name, contextDir]));
  const bases = findBases(dockerfile, "Dockerfile", { args, platform, contexts: folders });
  for (const ref of new Set(bases.flatMap(({ ref, isFrontEnd }) => (isFrontEnd ? [] : [ref])))) {
    const { registry, repository, digest } = parseImageReference(ref);
    const tls = podmanTls(registry);
    if (digest === null || tls.length === 0) continue;
    // Podman 4 takes no tag beside a digest.
    const flags = ["--quiet", ...tls, "--platform", platform];
    await runProgram(program, ["pull", ...flags, `${registry}/${repository}@${digest}`], {
      env,
      signal,
      onLine: onLog,
    });
  }
}

/** Since Podman 4.2 and Buildah 1.27 (their release notes, `--build-context`). */
function takesContexts({ program, version }: Podman): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return program === "buildah" ? major > 1 || minor >= 27 : major > 4 || (major === 4 && minor >= 2);
}

/** A DOCKER_CONFIG without config.json is no login; these programs take it for an error. */
async function withReadableConfig(env: Environment): Promise<Environment> {
  const { DOCKER_CONFIG: folder, ...rest } = env;
  if (folder === undefined) return env;
  return access(join(folder, "config.json")).then(
    () => env,
    () => rest,
  );
}

function engineFailed(message: string): ImgmatchError {
  return new ImgmatchError({ code: "ENGINE_FAILED", message });
}

/**
 * SSL_CERT_DIR is what Go's crypto/x509 (`root_unix.go`) reads beside the system's bundle, and replaces its usual folders.
 * `--cert-dir` would hide the certificates and keys of all other registries (containers/image, `docker_client.go`).
 */
async function withAuthority(env: Environment, ca: string | undefined): Promise<Environment> {
  if (ca === undefined) return env;
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-ca-"));
  process.once("exit", () => discard(folder));
  await copyFile(ca, join(folder, "ca.pem"));
  return { ...env, SSL_CERT_DIR: `${env.SSL_CERT_DIR || usualFolders}:${folder}` };
}

// crypto/x509, root_linux.go
const usualFolders = "/etc/ssl/certs:/etc/pki/tls/certs";
