/**
 * A fleet of images for a Pulumi program. Needs `@pulumi/pulumi` and `@pulumi/docker` beside imgmatch: the import throws
 * `ENGINE_NOT_FOUND` where they are not there.
 *
 * @example
 * import { ImageFleet } from "imgmatch/pulumi";
 *
 * const fleet = new ImageFleet("vision", { matrix: "matrix.yaml", only: ["cuda=none"] });
 * export const references = fleet.references;
 *
 * @packageDocumentation
 */

import { dirname, join, resolve as resolvePath } from "node:path";
import type { ComponentResourceOptions, Input, Output } from "@pulumi/pulumi";
import { FleetImages, type RegistryLogin } from "./build/engines/pulumi/component.ts";
import { pulumi } from "./build/engines/pulumi/packages.ts";
import { findPublished, type PreparedFleet, readyCells } from "./build/engines/pulumi/prepare.ts";
import { withoutStack } from "./build/engines/pulumi/run-error.ts";
import type { Examiner } from "./build/examiner.ts";
import { sourceDateEpoch } from "./build/source-date-epoch.ts";
import { ImgmatchError, type Problem, throwProblems } from "./errors.ts";
import { declaredImages } from "./fleet/declared-image.ts";
import { type Fleet, openFleet, openFleetText } from "./fleet/open-fleet.ts";
import { planOpenFleet } from "./fleet/plan-open-fleet.ts";
import type { HostFacts } from "./host/facts.ts";
import { parseHostFacts } from "./host/parse-facts.ts";
import { readRevision } from "./io/revision.ts";
import { refuseAdoptedLock } from "./lock/adopted-lock.ts";
import { lockPath } from "./lock/lock.ts";
import { readLock, readLockIfPresent } from "./lock/lock-file.ts";
import { parseImageReference } from "./oci/reference.ts";
import type { Plan } from "./plan/planned-cell.ts";
import { parseSelections } from "./plan/select.ts";
import { registryPublisher } from "./publish/registry-publisher.ts";
import { createBaseLookup } from "./registry/base-lookup.ts";
import type { RegistryClient } from "./registry/client.ts";
import { createRegistryClient } from "./registry/create-client.ts";
import type { CredentialStore } from "./registry/credential.ts";
import { dockerCredentials } from "./registry/credentials.ts";
import { isLoopback } from "./registry/endpoint.ts";
import { proxyFromEnv } from "./registry/proxy.ts";
import { type ResolveOptions, resolveImage } from "./resolve/resolve.ts";
import type { Resolution } from "./resolve/verdict.ts";

export type { RegistryLogin } from "./build/engines/pulumi/component.ts";
export type { HostFacts } from "./host/facts.ts";
export type { Lock, LockedImage } from "./lock/lock.ts";
export type { ResolveOptions } from "./resolve/resolve.ts";
export type { Resolution } from "./resolve/verdict.ts";

export interface ImageFleetArgs {
  /** Path of `matrix.yaml`, from the folder of the Pulumi program, or what would stand in that file. */
  readonly matrix: string | Readonly<Record<string, unknown>>;
  /** Where the paths of a matrix that is given as an object start. Default: the folder of the Pulumi program. */
  readonly folder?: string;
  /** Only these cells: `axis=value,…` or a cell's id. Default: all. */
  readonly only?: readonly string[];
  /** Login for the registry that the images go to. Default: that of `docker login`. */
  readonly registry?: RegistryLogin;
  /** `host/path` to publish to in place of the matrix's registry. */
  readonly publishTo?: string;
  /** False leaves the images in the engine; then there are no references. Default: true. */
  readonly push?: boolean;
  /** Base reference → the one to build with instead. */
  readonly replaceBases?: Readonly<Record<string, string>>;
  /** Build arguments that go before the matrix's. Never secrets: images keep them in their history. */
  readonly args?: Readonly<Record<string, string>>;
  /** Build all cells anew though nothing else has changed, once for each word: `2026-W47`. Default: what the lock says of each. */
  readonly rebuild?: string;
  /** Lock that pins base images. Default: `images/imgmatch.lock.json` beside the matrix, where it is there. */
  readonly lock?: string;
  /** Registry hosts that are asked without TLS, beside this machine. */
  readonly plainHttp?: readonly string[];
}

/**
 * The images of a matrix as resources: one `docker.Image` for each cell, named `<name>-<cell>`.
 *
 * Before the first resource everything is checked that `imgmatch plan` checks, and every tag is looked up: one with other
 * inputs is `TAG_CONFLICT` and nothing is built; one with the same inputs that this stack has not pushed is taken as it is,
 * without a resource. After each push the registry's digest is read back.
 *
 * Unless the matrix says `measure: false`, every image is then opened, and `lock` says what its files showed. The provider builds and
 * pushes in one step, so that this is after its tag exists: a lie (`AUDIT_…`) fails the program, which then has neither references nor
 * a lock, and leaves tag and resource as they are. With `push: false` it is before anybody else sees the image.
 *
 * The program fails with an `ImgmatchError` that names every problem.
 */
export class ImageFleet extends FleetImages {
  constructor(name: string, args: ImageFleetArgs, options: ComponentResourceOptions = {}) {
    super(name, { prepare: () => prepare(args), registry: args.registry }, options);
  }

  /**
   * The image of this fleet that fits a host, by the rules of `imgmatch resolve`; `match` is null where none does. What is no
   * host facts fails the program with `FACTS_SCHEMA`, a pin of an axis that no image has with `PIN_UNKNOWN`.
   *
   * @param host what `imgmatch probe --json` prints on that host
   */
  resolve(host: Input<HostFacts>, options: ResolveOptions = {}): Output<Resolution> {
    return pulumi.all([this.lock, pulumi.output(host as Input<unknown>)]).apply(([lock, facts]) => {
      try {
        return resolveImage(lock, checkedFacts(facts), options);
      } catch (error) {
        throw withoutStack(error);
      }
    });
  }
}

/** They come from a configuration or from another program: whatever the types say, anything may stand there. */
function checkedFacts(facts: unknown): HostFacts {
  return parseHostFacts(JSON.stringify(facts) ?? "null", "host");
}

async function prepare(args: ImageFleetArgs): Promise<PreparedFleet> {
  const push = args.push ?? true;
  const baseDir = process.cwd();
  const [fleet, root] = await open(args, baseDir);
  const { env } = process;
  const plainHttp = (host: string) => isLoopback(host) || (args.plainHttp ?? []).includes(host);
  const problems: Problem[] = [];
  const lookUp = createBaseLookup(env, (problem) => problems.push(problem), { plainHttp });
  const lockFile = args.lock ?? join(root, lockPath);
  // One that is named and is not there would leave the bases unpinned in silence.
  const lock = await (args.lock === undefined ? readLockIfPresent(lockFile) : readLock(lockFile));
  refuseAdoptedLock(lock, lockFile);
  const plan = await planOpenFleet(fleet, {
    lock,
    only: parseSelections(
      args.only ?? [],
      fleet.matrix.axes.map(({ name }) => name),
    ),
    published: push,
    replaceBases: new Map(Object.entries(args.replaceBases ?? {})),
    rebuild: args.rebuild,
    findBaseDigest: lookUp,
  });
  throwProblems(problems);
  const cells = readyCells(plan);
  const { repository } = fleet.matrix;
  const registry = await registryFor(args, repository, plainHttp);
  const publisher = push && registry !== null ? registryPublisher(registry) : null;
  return {
    plan,
    fleet,
    cells,
    push,
    publisher,
    published:
      publisher === null
        ? new Map()
        : await findPublished(cells, repository, publisher).catch((error: unknown) => {
            throw args.registry === undefined ? error : aboutLogin(error);
          }),
    examiner: registry === null ? null : await examinerFor(plan, fleet, registry),
    revision: await readRevision(fleet.root, env),
    epoch: sourceDateEpoch(env),
    baseDir,
    workDir: join(root, ".imgmatch", "pulumi"),
    known: null,
    replaced: new Set(),
  };
}

async function open(args: ImageFleetArgs, baseDir: string): Promise<readonly [Fleet, string]> {
  const { matrix, folder = ".", publishTo } = args;
  const options = {
    ...(publishTo === undefined ? {} : { registry: publishTo }),
    ...(args.args === undefined ? {} : { args: args.args }),
  };
  if (typeof matrix === "string") {
    const file = resolvePath(baseDir, matrix);
    return [await openFleet(file, options), dirname(file)];
  }
  const root = resolvePath(baseDir, folder);
  // JSON is YAML: problems are told with lines of this text.
  const text = `${JSON.stringify(matrix, null, 2)}\n`;
  return [await openFleetText(text, join(root, "matrix.yaml"), options), root];
}

/** The same refusal with a next step for who has given the login here. */
function aboutLogin(error: unknown): unknown {
  if (!(error instanceof ImgmatchError) || error.code !== "REGISTRY_AUTH") return error;
  const fix =
    "correct the login in `registry` of the ImageFleet, or its rights; check that the repository exists";
  const [first] = error.problems;
  return new ImgmatchError({ ...first, fix }, { cause: error });
}

/** null where the matrix wants its images shut. */
async function examinerFor(plan: Plan, fleet: Fleet, registry: RegistryClient): Promise<Examiner | null> {
  if (!plan.matrix.measure) return null;
  const [{ imageExaminer }, { engineArchive, engineLayers }, { cacheFolder, folderCache }] =
    await Promise.all([
      import("./inspect/audit/image-examiner.ts"),
      import("./inspect/image/from-engine.ts"),
      import("./inspect/image/layer-cache.ts"),
    ]);
  const { env } = process;
  return imageExaminer({
    declared: declaredImages(plan, fleet),
    registry,
    holder: {
      save: ({ id }, { signal }) => engineArchive(env, id, signal),
      layers: ({ id }, { signal }) => engineLayers(env, id, signal),
      push: null,
    },
    cache: folderCache(cacheFolder(env)),
  });
}

/** null while the login is not known: in a preview it may come from a resource that is yet to be made. */
async function registryFor(
  { registry: login }: ImageFleetArgs,
  repository: string,
  plainHttp: (host: string) => boolean,
): Promise<RegistryClient | null> {
  const { env } = process;
  let credentials: CredentialStore = dockerCredentials(env);
  if (login !== undefined) {
    const known = await plainValueOf({ username: login.username, password: login.password });
    if (known === null) return null;
    const own = parseImageReference(repository).registry;
    const others = credentials;
    credentials = {
      find: async (host) => (host === own ? { kind: "password", ...known } : others.find(host)),
    };
  }
  return createRegistryClient({ credentials, proxy: proxyFromEnv(env), plainHttp });
}

/** The plain value of inputs, secrets included, which is never given to an output; null when it is not known yet. */
async function plainValueOf<T extends Record<string, Input<string>>>(
  inputs: T,
): Promise<{ [Key in keyof T]: string } | null> {
  const output = pulumi.output(inputs) as unknown as {
    readonly isKnown: Promise<boolean>;
    promise(): Promise<{ [Key in keyof T]: string }>;
  };
  return (await output.isKnown) ? output.promise() : null;
}
