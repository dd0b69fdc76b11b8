/** Registers the images of a fleet: one resource for each cell that has to be built. */

import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import type {
  ComponentResource,
  ComponentResourceOptions,
  CustomResourceOptions,
  Input,
  Output,
  Resource,
} from "@pulumi/pulumi";
import { lockEntryOf, lockOf } from "../fleet/engines/built-cell.ts";
import { jobOf, type ReadyCell } from "../fleet/engines/jobs.ts";
import { parseDockerfile } from "../fleet/dockerfile/instructions.ts";
import { endOfTarget } from "../fleet/dockerfile/stages.ts";
import { count, firstOf } from "../io/table.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { parseImageReference } from "../oci/reference.ts";
import type { ImageFleetArgs, RegistryLogin } from "./args.ts";
import { meansOf } from "./means.ts";
import { imageOpener, type MadeImage, nothing } from "./open-images.ts";
import { hiddenOutput, pulumi } from "./packages.ts";
import type { CellsAlone, PreparedFleet } from "./prepared-fleet.ts";
import type { ImageMeans, ImageProvider, ServerLogin } from "./providers/provider.ts";
import type { StackImage } from "./stack-images.ts";
import { usualTime } from "../fleet/engines/source-date-epoch.ts";
import { openStaging, stagedTime, type Staging } from "./stage.ts";
import type { Digest } from "../oci/digest.ts";

export interface FleetData {
  readonly references: Output<Readonly<Record<string, string>>>;
  readonly lock: Output<Lock>;
}

/** The component and what its images have of it. */
export interface FleetComponent {
  readonly parent: ComponentResource;
  readonly name: string;
  readonly args: ImageFleetArgs;
  readonly options: ComponentResourceOptions;
  readonly provider: ImageProvider;
}

/** Registers, in a preview, images of which nothing is known. */
export function announceImages(
  component: FleetComponent,
  { cells, push, resources, unknown }: CellsAlone,
): FleetData {
  const { name, provider } = component;
  const later = <T>() => unknown.apply((value) => value as T);
  const options = {
    ...optionsFor(component, resources),
    ...provider.options(null, { login: null, secrets: null }),
  };
  for (const id of cells) provider.announce(resourceName(name, id), push, later, options);
  return { references: later(), lock: later() };
}

export async function registerImages(component: FleetComponent, prepared: PreparedFleet): Promise<FleetData> {
  const { parent, name, args, provider } = component;
  const { plan, cells, published, push, known } = prepared;
  const open = imageOpener(prepared, (text) => pulumi.log.warn(text, parent));
  const staging = openStaging(prepared.workDir, provider.ignoreFiles);
  const means = meansOf(args, prepared.given.secrets);
  const images: Record<string, Output<MadeImage>> = {};
  const lost: string[] = [];
  let building = 0;
  for (const planned of cells) {
    const { id } = planned.cell;
    const imageName = `${plan.matrix.repository}:${planned.tag}`;
    const inRegistry = published?.get(id) ?? null;
    const inStack = known.get(resourceName(name, id)) ?? null;
    const digestThere = published === null ? undefined : (inRegistry?.digest ?? null);
    const part = partOf({ planned, imageName, published: digestThere, known: inStack, push });
    if (part === "lost") lost.push(imageName);
    const isBuilt = part === "register" || part === "lost";
    const image = { imageName, part, inStack, means: means(id, isBuilt && building++ === 0) };
    const digest =
      part === "adopt" ? null : await registerImage(component, planned, prepared, staging, image);
    if (inRegistry !== null && (digest === null || push))
      images[id] = pulumi.output(open.published(planned, inRegistry));
    else if (digest !== null) images[id] = digest.apply((repoDigest) => open.built(planned, repoDigest));
  }
  if (lost.length > 0)
    pulumi.log.warn(
      `the registry does not have ${count(lost.length, "image")} any more that this stack has pushed: ${firstOf(lost, 10)}; built again from the same inputs`,
      parent,
    );
  const all = made(images).apply((known) => {
    staging.end();
    return known;
  });
  return {
    references: all.apply((known) => referencesOf(known, plan.matrix.repository)),
    lock: all.apply((known) => lockOfImages(known, prepared, provider.builder)),
  };
}

/** The digest; null for an image that the stack built on another machine and the registry has: its context is not here. */
async function registerImage(
  component: FleetComponent,
  planned: ReadyCell,
  prepared: PreparedFleet,
  staging: Staging,
  { imageName, part, inStack, means }: Registration,
): Promise<Output<string> | null> {
  const { name, args, provider } = component;
  const { plan, revision, epoch, push, baseDir, resources } = prepared;
  const { cell, inputDigest } = planned;
  const { request } = jobOf(planned, { ...prepared.fleet, matrix: plan.matrix, revision, push });
  const dockerfile = provider.labels
    ? request.dockerfile
    : withLabels(request.dockerfile, request.labels, cell);
  const built = inStack === null ? null : timesBuilt(inStack.dockerfile, cell.id, inputDigest);
  const again = (built ?? 0) + (part === "lost" ? 1 : 0);
  // The provider reads the old paths of an image that is kept.
  const mtime = part === "keep" && inStack !== null ? stagedTime(inStack.path ?? "") : (epoch ?? usualTime);
  const files = await staging.stage(
    { ...request, dockerfile },
    dockerfileName(cell.id, inputDigest, again),
    mtime,
  );
  const path = (absolute: string) =>
    (baseDir === null ? absolute : relative(baseDir, absolute)).replaceAll("\\", "/");
  const isHere =
    inStack !== null && (inStack.path === null || existsSync(resolve(baseDir ?? "", inStack.path)));
  if (part === "keep" && !isHere && prepared.published?.has(cell.id)) return null;
  const { labels, platform, target } = request;
  const context = { context: path(files.context), dockerfile: path(files.dockerfile) };
  const epochArg = epoch === null ? {} : { SOURCE_DATE_EPOCH: String(epoch) };
  const login = registryOf(args.registry, plan.matrix.repository);
  return provider.make(
    resourceName(name, cell.id),
    {
      ...{ imageName, labels, platform, target, push, login, means },
      ...context,
      args: { ...epochArg, ...request.args },
    },
    {
      ...optionsFor(component, resources),
      ...provider.options(part === "keep" && isHere ? inStack : null, prepared.given),
    },
  );
}

function optionsFor(
  { parent, options: { dependsOn = [] } }: FleetComponent,
  resources: readonly Resource[],
): CustomResourceOptions {
  return {
    parent,
    dependsOn:
      resources.length === 0 ? dependsOn : pulumi.all([dependsOn, [...resources]]).apply((all) => all.flat()),
  };
}

interface Registration {
  readonly imageName: string;
  readonly part: CellPart;
  readonly inStack: StackImage | null;
  readonly means: ImageMeans;
}

function registryOf(login: Input<RegistryLogin> | undefined, repository: string): Output<ServerLogin> | null {
  if (login === undefined) return null;
  const host = parseImageReference(repository).registry;
  return pulumi.output(login).apply(({ server = host, username, password }) => ({
    ...{ server, username },
    password: pulumi.secret(password),
  }));
}

/**
 * The images that were made. An image that failed while the update went on (`--continue-on-error`), or that a target leaves out, is not
 * there. A preview knows none of the images that it would make.
 */
function made(
  images: Readonly<Record<string, Output<MadeImage>>>,
): Output<Readonly<Record<string, MadeImage>>> {
  if (pulumi.runtime.isDryRun()) return pulumi.all(images) as Output<Readonly<Record<string, MadeImage>>>;
  const each = Object.entries(images).map(async ([id, image]) => {
    const inner = hiddenOutput(image);
    return [id, (await inner.isKnown) ? await inner.promise() : nothing] as const;
  });
  return pulumi.output(Promise.all(each).then((all) => Object.fromEntries(all)));
}

/** The provider has no labels: here they stand at the end of the image's stage. */
function withLabels(
  dockerfile: string,
  labels: Readonly<Record<string, string>>,
  { settings }: ReadyCell["cell"],
): string {
  const end = endOfTarget(parseDockerfile(dockerfile), settings);
  const lines = Object.entries(labels).map(([key, value]) => `LABEL ${key}=${JSON.stringify(value)}\n`);
  return `${dockerfile.slice(0, end).trimEnd()}\n${lines.join("")}${dockerfile.slice(end)}`;
}

function referencesOf(images: Readonly<Record<string, MadeImage>>, repository: string) {
  return Object.fromEntries(
    Object.entries(images).flatMap(([cell, { digest }]) =>
      digest === null ? [] : [[cell, `${repository}@${digest}`]],
    ),
  );
}

function lockOfImages(
  made: Readonly<Record<string, MadeImage>>,
  { plan, cells }: PreparedFleet,
  builder: string,
): Lock {
  const { matrix } = plan;
  const builtBy = { described: builder, localEngine: null };
  const images = cells.map((planned): [string, LockedImage] => {
    const built = { ...(made[planned.cell.id] ?? nothing), image: null, buildMs: null };
    // Without a time: an output must not change with every update.
    return [planned.cell.id, { ...lockEntryOf(planned, built, builtBy, ""), created: null }];
  });
  return lockOf(matrix, Object.fromEntries(images));
}

/**
 * - `register`: the provider builds it.
 * - `keep`: the stack has it. Its build is compared by input digest alone, so the provider's own comparison (a commit in an
 *   argument, a path) must change nothing.
 * - `adopt`: somebody else has pushed the same inputs. The provider would push over them, so there is no resource.
 * - `lost`: the stack has pushed it and the registry does not have it any more. The provider sees no drift: it is built again
 *   from a Dockerfile of another name.
 */
type CellPart = "register" | "keep" | "adopt" | "lost";

interface CellViews {
  readonly planned: ReadyCell;
  readonly imageName: string;
  /** The image of the same inputs that the registry has under the tag; null when it has none, undefined when it was not asked. */
  readonly published: Digest | null | undefined;
  /** The image that the stack has under the cell's name. */
  readonly known: StackImage | null;
  readonly push: boolean;
}

/** Decides the part of a cell in the stack from the plan, the registry and the stack's state. Pure. */
export function partOf({ planned, imageName, published, known, push }: CellViews): CellPart {
  const same =
    known !== null &&
    known.imageName === imageName &&
    timesBuilt(known.dockerfile, planned.cell.id, planned.inputDigest) !== null;
  if (published) return same ? "keep" : "adopt";
  if (!same) return "register";
  if (!push || published === undefined) return "keep";
  // Built before without a push: the provider pushes it now by itself.
  return known.pushed ? "lost" : "register";
}

/**
 * Name of a cell's Dockerfile inside the context: with the inputs, so that the state tells of which inputs an image is. One that
 * was lost is built `again`, once more each time: another name is another build to the provider.
 */
export function dockerfileName(cell: string, inputDigest: Digest, again = 0): string {
  const safeName = cell.replace(/[^a-zA-Z0-9._+-]/g, "_").slice(0, 100);
  const inputs = inputDigest.slice("sha256:".length, "sha256:".length + 16);
  return `${safeName}-${inputs}${again === 0 ? "" : `.again${again}`}.Dockerfile`;
}

/** How often the stack has built an image again, from its Dockerfile's path; null for one of other inputs. */
export function timesBuilt(dockerfile: string, cell: string, inputDigest: Digest): number | null {
  const name = dockerfile.slice(dockerfile.lastIndexOf("/") + 1);
  const again = Number(/\.again(\d{1,9})\.Dockerfile$/.exec(name)?.[1] ?? 0);
  return name === dockerfileName(cell, inputDigest, again) ? again : null;
}

/** Stable: the name depends neither on the other cells nor on the order of the cells. */
export function resourceName(fleet: string, cell: string): string {
  return `${fleet}-${cell}`;
}
