/** Prepares the fleet of a Pulumi program before its first resource: arguments, plan, and the images that the registry has. */

import { ports } from "../ports.ts";
import { dockerHolder } from "../oci/engine/built-image.ts";
import { dirname, join, resolve as resolvePath } from "node:path";
import type { ComponentResourceOptions, Input, Unwrap } from "@pulumi/pulumi";
import { ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import { sourceDateEpoch } from "../fleet/engines/source-date-epoch.ts";
import { parseSelections } from "../fleet/cells/select.ts";
import { declaredImages } from "../fleet/audit/declared-image.ts";
import type { Examine } from "../fleet/audit/image-examiner.ts";
import { checkedCells, type Fleet, openFleet, readMatrixText } from "../fleet/open/open-fleet.ts";
import { planFleet } from "../fleet/open/plan-fleet.ts";
import type { Plan } from "../fleet/plan/planned-cell.ts";
import { readRevision } from "../io/git.ts";
import { attempt } from "../io/attempt.ts";
import { refuseAdoptedLock } from "../lock/adopted-lock.ts";
import { readLockIfPresent } from "../lock/store/lock-file.ts";
import { lockPath, type LockPins } from "../lock/lock.ts";
import { parseLock } from "../lock/parse-lock.ts";
import { parseImageReference } from "../oci/reference.ts";
import { createBaseLookup, createBaseReader } from "../oci/registry/base-lookup.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import { createRegistryClient } from "../oci/registry/create-client.ts";
import type { CredentialStore } from "../oci/registry/credential.ts";
import { storedCredentials } from "../oci/registry/credentials.ts";
import { proxyFromEnv } from "../oci/registry/proxy.ts";
import { isLoopback } from "../oci/registry/registry-endpoint.ts";
import { awaitArgs, awaitValue, type ImageFleetArgs, type PlainArgs, type RegistryLogin } from "./args.ts";
import { checkMeans } from "./means.ts";
import { type CellsAlone, findAllPublished, type PreparedFleet, readyCells } from "./prepared-fleet.ts";
import type { GivenNow } from "./providers/provider.ts";
import { readStack } from "./stack-view.ts";

/**
 * Waits for what the plan is made of and for what the fleet depends on, and plans. A preview that cannot know the plan yet gets
 * the cells alone.
 */
export async function prepareFleet(
  name: string,
  given: ImageFleetArgs,
  dependsOn: ComponentResourceOptions["dependsOn"],
): Promise<PreparedFleet | CellsAlone> {
  const awaited = await awaitArgs(given);
  const secrets = await checkMeans(given);
  const { args, secret, resources } = awaited;
  const stack = await readStack(given.provider ?? "docker", dependsOn, resources);
  const { env } = process;
  const push = given.push ?? true;
  const [fleet, root] = await open(given, args);
  refuseAttestations(fleet.matrix);
  const only = parseSelections(
    args.only,
    fleet.matrix.axes.map((axis) => axis.name),
    argument("only"),
  );
  const cellsAlone = (unknown: CellsAlone["unknown"]): CellsAlone => ({
    cells: checkedCells(fleet, only).map(({ id }) => id),
    push,
    secret,
    resources,
    unknown,
  });
  if (awaited.unknown !== null) return cellsAlone(awaited.unknown);
  const { repository } = fleet.matrix;
  const plainHttp = (host: string) => isLoopback(host) || args.plainHttp.includes(host);
  const login = await loginFor(given.registry, repository, storedCredentials(env));
  const problems: Problem[] = [];
  const lockFile = given.lock ?? join(root, lockPath);
  // A named lock must exist: without it the bases would not be pinned.
  const lock = await readLockIfPresent(lockFile);
  if (lock === null && given.lock !== undefined) throw noLock(lockFile);
  refuseAdoptedLock(lock, lockFile, argument("lock"));
  const pins = lock === null && !args.updateBases ? pinsIn(stack.lockOf(name)) : null;
  const plan = await planFleet(fleet, {
    lock,
    only,
    published: push,
    findBaseDigest: createBaseLookup(env, (problem) => problems.push(problem), {
      plainHttp,
      credentials: login.credentials,
      replaceBase: argument('replaceBases: { OLD: "NEW" }'),
      told: (why, registry) => (registry === login.own ? aboutLogin(why) : why),
    }),
    readBase: createBaseReader(env, { plainHttp, credentials: login.credentials }),
    ...(pins === null ? {} : { pins }),
    rebuild: args.rebuild,
    replaceBases: new Map(Object.entries(args.replaceBases)),
  });
  const unknown = stack.unknown ?? login.unknown;
  // The base may be in a registry, or behind a login, that is yet to be made.
  if (problems.length > 0 && unknown !== null) return cellsAlone(unknown);
  throwProblems(problems);
  const cells = readyCells(plan);
  const registry =
    unknown === null
      ? createRegistryClient({ credentials: login.credentials, proxy: proxyFromEnv(env), plainHttp })
      : null;
  return {
    plan,
    fleet,
    cells,
    push,
    registry,
    secret,
    resources,
    published: push && registry !== null ? await findPublishedAs(login, cells, repository, registry) : null,
    examine: registry === null ? null : await examinerFor(plan, registry),
    given: { login: login.given, secrets },
    revision: await readRevision(fleet.root, env),
    epoch: sourceDateEpoch(env),
    // `pulumi` runs program and provider in one folder, and gives the program the address of its engine by the environment. A function
    // that the Automation API runs is inside another process, anywhere.
    baseDir: env.PULUMI_NODEJS_MONITOR ? process.cwd() : null,
    workDir: join(root, ".imgmatch", "pulumi"),
    known: stack.images,
  };
}

async function open(
  { folder = "." }: ImageFleetArgs,
  { matrix, publishTo, args }: PlainArgs,
): Promise<readonly [Fleet, string]> {
  const options = {
    ...{ writeGuard: ports.writeGuard, marchHere: ports.marchHere },
    ...(publishTo === undefined ? {} : { registry: publishTo }),
    ...(args === undefined ? {} : { args }),
  };
  if (typeof matrix === "string") {
    const file = resolvePath(matrix);
    const text = await readMatrixText(file, argument("matrix"));
    return [await openFleet(file, { ...options, text }), dirname(file)];
  }
  const root = resolvePath(folder);
  // JSON is YAML: problems name lines of this text.
  const text = `${JSON.stringify(matrix, null, 2)}\n`;
  return [await openFleet(join(root, "matrix.yaml"), { ...options, text }), root];
}

/** A provider gives an image its tag before imgmatch knows the digest. Throws `ATTEST_UNSUPPORTED`. */
function refuseAttestations({ attest }: Fleet["matrix"]): void {
  if (attest === null) return;
  throw new ImgmatchError({
    code: "ATTEST_UNSUPPORTED",
    message: "an ImageFleet gives images their tags unattested",
    fix: "build with imgmatch build, or leave out attest",
    at: attest.at,
  });
}

/** null where the matrix wants its images shut. */
async function examinerFor(plan: Plan, registry: RegistryClient): Promise<Examine | null> {
  if (!plan.matrix.measure) return null;
  const { imageExaminer } = await import("../fleet/audit/image-examiner.ts");
  const { env } = process;
  const declared = declaredImages(plan);
  const audit = await ports.openAuditor({ declared, registry, holder: dockerHolder(env), env });
  return imageExaminer(audit, { declared });
}

interface Logins {
  readonly credentials: CredentialStore;
  /** The host that the program gives a login for; null for none. */
  readonly own: string | null;
  /** Host and user name of the program's login; null without one. */
  readonly given: GivenNow["login"];
  /** In a preview the login may come from a resource that is yet to be made. */
  readonly unknown: CellsAlone["unknown"] | null;
}

/** The login of the program for the host of its images; for other hosts that of `docker login`. */
async function loginFor(
  login: Input<RegistryLogin> | undefined,
  repository: string,
  others: CredentialStore,
): Promise<Logins> {
  if (login === undefined) return { credentials: others, own: null, given: null, unknown: null };
  const own = parseImageReference(repository).registry;
  const { isKnown, value, output } = await awaitValue<Unwrap<RegistryLogin>>(login);
  if (!isKnown) return { credentials: others, own, given: null, unknown: output };
  const { server = own, username, password } = value;
  return {
    credentials: {
      find: async (host) => (host === own ? { kind: "password", username, password } : others.find(host)),
    },
    own,
    given: { server, username },
    unknown: null,
  };
}

async function findPublishedAs({ own }: Logins, ...asked: Parameters<typeof findAllPublished>) {
  try {
    return await findAllPublished(...asked);
  } catch (error) {
    if (own === null || !(error instanceof ImgmatchError)) throw error;
    const [first, ...rest] = error.problems;
    throw new ImgmatchError([aboutLogin(first), ...rest.map(aboutLogin)], { cause: error });
  }
}

/** An option in the words of a program's author. */
function argument(name: string): string {
  return `\`${name}\` of the ImageFleet`;
}

function noLock(file: string): ImgmatchError {
  return new ImgmatchError({
    code: "LOCK_NOT_FOUND",
    message: "no such file",
    fix: `leave \`lock\` away, or name another with ${argument("lock")}`,
    at: { file },
  });
}

/** The same problem with the program's own login as its cure: for its host, `docker login` changes nothing. */
function aboutLogin(problem: Problem): Problem {
  if (problem.code !== "REGISTRY_AUTH") return problem;
  const fix = `correct the login in ${argument("registry")}, or its rights; check that the repository exists`;
  return { ...problem, fix };
}

/** The pins of the lock that the stack has; null where there is none that can be read. */
function pinsIn(lock: unknown): LockPins | null {
  return lock === undefined ? null : attempt(() => parseLock(JSON.stringify(lock), "the stack's lock"), null);
}
