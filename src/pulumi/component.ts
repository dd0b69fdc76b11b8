/** A fleet in a Pulumi stack: one image resource for each cell that has to be built. */

import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import type {
  ComponentResourceOptions,
  CustomResourceOptions,
  Input,
  Output,
  Resource,
} from "@pulumi/pulumi";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { parseImageReference } from "../oci/reference.ts";
import { parseDockerfile } from "../fleet/dockerfile/instructions.ts";
import { endOfTarget } from "../fleet/dockerfile/stages.ts";
import { jobOf, lockedImageOf, lockOf, type ReadyCell } from "../fleet/build/jobs.ts";
import { type CellPart, dockerfileName, partOf, resourceName, timesBuilt } from "./stack-cells.ts";
import { type FleetMeans, meansOf } from "./means.ts";
import { imageOpener, type MadeImage, nothing } from "./open-images.ts";
import { pulumi } from "./packages.ts";
import type { CellsAlone, PreparedFleet } from "./prepare-stack.ts";
import type { GivenNow, ImageMeans, ImageProvider, ServerLogin } from "./providers/provider.ts";
import { imageProviders } from "./providers/providers.ts";
import { digestIn, readBack } from "./results.ts";
import { withoutStack } from "./events.ts";
import type { ProviderName, StackImage } from "./stack-images.ts";
import { fleetType } from "./stack-view.ts";
import { type OpenStaging, openStaging, stageBuild, stagedTime } from "./stage.ts";

/** Login for the registry that the fleet is pushed to. Without it the provider takes the logins of `docker login`. */
export interface RegistryLogin {
  /** Default: the host of the matrix's registry. */
  readonly server?: Input<string>;
  readonly username: Input<string>;
  /** Always a secret in the state, also when it is given as plain text. */
  readonly password: Input<string>;
}

interface FleetData {
  readonly references: Output<Readonly<Record<string, string>>>;
  readonly lock: Output<Lock>;
}

export interface FleetImagesArgs {
  readonly prepare: () => Promise<PreparedFleet | CellsAlone>;
  readonly provider: ProviderName;
  readonly registry?: Input<RegistryLogin> | undefined;
  readonly means?: FleetMeans;
}

export class FleetImages extends pulumi.ComponentResource<FleetData> {
  /** Cell id → `repository@sha256:…` of every image in the registry. */
  readonly references: Output<Readonly<Record<string, string>>>;
  /** The lock of exactly these cells, as `imgmatch build` writes it. */
  readonly lock: Output<Lock>;
  readonly #args: FleetImagesArgs;
  readonly #name: string;
  readonly #options: ComponentResourceOptions;

  constructor(name: string, args: FleetImagesArgs, options: ComponentResourceOptions = {}) {
    super(fleetType, name, {}, options);
    this.#args = args;
    this.#name = name;
    this.#options = options;
    const data = this.getData();
    this.references = pulumi.output(data.then(({ references }) => references));
    this.lock = pulumi.output(data.then(({ lock }) => lock));
  }

  /** Whoever depends on the component waits for this, so for all images. */
  protected override async initialize(): Promise<FleetData> {
    // Reading files and asking registries is nothing that the program waits for by itself.
    const done = pulumi.runtime.rpcKeepAlive();
    try {
      // The base class calls this in its constructor, before the fields above are set.
      await Promise.resolve();
      const prepared = await this.#args.prepare();
      const provider = imageProviders[this.#args.provider]();
      const data =
        "unknown" in prepared ? this.#announce(prepared, provider) : await this.#register(prepared, provider);
      return prepared.secret
        ? { references: pulumi.secret(data.references), lock: pulumi.secret(data.lock) }
        : data;
    } catch (error) {
      throw withoutStack(error);
    } finally {
      done?.();
    }
  }

  /** In a preview: that there will be images, and nothing of them. */
  #announce({ cells, push, resources, unknown }: CellsAlone, provider: ImageProvider): FleetData {
    const later = <T>() => unknown.apply((value) => value as T);
    const options = this.#optionsFor(resources);
    for (const id of cells) {
      const own = { ...options, ...provider.options(null, nothingGiven) };
      provider.announce(resourceName(this.#name, id), push, later, own);
    }
    return { references: later(), lock: later() };
  }

  async #register(prepared: PreparedFleet, provider: ImageProvider): Promise<FleetData> {
    const { plan, cells, published, push, known } = prepared;
    const opened = imageOpener(prepared, (text) => pulumi.log.warn(text, this));
    const staging = openStaging(prepared.workDir, provider.ignoreFiles);
    const means = meansOf(this.#args.means ?? {}, prepared.given.secrets);
    const images: Record<string, Output<MadeImage>> = {};
    const lost: string[] = [];
    let building = 0;
    for (const planned of cells) {
      const { id } = planned.cell;
      const imageName = `${plan.matrix.repository}:${planned.tag}`;
      const found = published?.get(id) ?? null;
      const own = known.get(resourceName(this.#name, id)) ?? null;
      const asked = published === null ? undefined : (found?.digest ?? null);
      const part = partOf({ planned, imageName, published: asked, known: own, push });
      if (part === "lost") lost.push(imageName);
      const isBuilt = part === "register" || part === "lost";
      const image = { imageName, part, own, means: means(id, isBuilt && building++ === 0) };
      const digest =
        part === "adopt" ? null : await this.#image(planned, prepared, { provider, staging, image });
      if (found !== null && (digest === null || push)) images[id] = pulumi.output(opened(planned, found));
      else if (digest !== null) images[id] = digest.apply((made) => settled(planned, made, prepared, opened));
    }
    if (lost.length > 0) pulumi.log.warn(lostText(lost), this);
    const all = made(images).apply((known) => {
      staging.end();
      return known;
    });
    return {
      references: all.apply((known) => referencesOf(known, plan.matrix.repository)),
      lock: all.apply((known) => lockOfImages(known, prepared, provider.builder)),
    };
  }

  /** The digest; null for one that the stack has from another machine, and the registry too: what it was built from is not here. */
  async #image(
    planned: ReadyCell,
    prepared: PreparedFleet,
    { provider, staging, image: { imageName, part, own, means } }: Registration,
  ): Promise<Output<string> | null> {
    const { plan, fleet, revision, epoch, push, baseDir, resources } = prepared;
    const { cell, inputDigest } = planned;
    const { request } = jobOf(planned, { ...fleet, matrix: plan.matrix, revision, push });
    const dockerfile = provider.labels
      ? request.dockerfile
      : withLabels(request.dockerfile, request.labels, cell);
    const built = own === null ? null : timesBuilt(own.dockerfile, cell.id, inputDigest);
    const again = (built ?? 0) + (part === "lost" ? 1 : 0);
    // An image that is kept is compared by its old paths: the provider reads them again.
    const mtime = part === "keep" && own !== null ? stagedTime(own.path ?? "") : (epoch ?? 0);
    const files = await stageBuild(
      { ...request, dockerfile },
      dockerfileName(cell.id, inputDigest, again),
      staging.of(mtime),
    );
    const path = (absolute: string) =>
      (baseDir === null ? absolute : relative(baseDir, absolute)).replaceAll("\\", "/");
    const isHere = own !== null && (own.path === null || existsSync(resolve(baseDir ?? "", own.path)));
    if (part === "keep" && !isHere && prepared.published?.has(cell.id)) return null;
    const { labels, platform, target, args } = request;
    const context = { context: path(files.context), dockerfile: path(files.dockerfile) };
    const epochArg = epoch === null ? {} : { SOURCE_DATE_EPOCH: String(epoch) };
    const login = registryOf(this.#args.registry, plan.matrix.repository);
    return provider.make(
      resourceName(this.#name, cell.id),
      {
        ...{ imageName, labels, platform, target, push, login, means },
        ...context,
        args: { ...epochArg, ...args },
      },
      {
        ...this.#optionsFor(resources),
        ...provider.options(part === "keep" && isHere ? own : null, prepared.given),
      },
    );
  }

  #optionsFor(resources: readonly Resource[]): CustomResourceOptions {
    const { dependsOn = [] } = this.#options;
    return {
      parent: this,
      dependsOn:
        resources.length === 0
          ? dependsOn
          : pulumi.all([dependsOn, [...resources]]).apply((all) => all.flat()),
    };
  }
}

interface Registration {
  readonly provider: ImageProvider;
  readonly staging: OpenStaging;
  readonly image: {
    readonly imageName: string;
    readonly part: CellPart;
    readonly own: StackImage | null;
    readonly means: ImageMeans;
  };
}

const nothingGiven: GivenNow = { login: null, secrets: null };

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
    const { isKnown, promise } = image as unknown as {
      readonly isKnown: Promise<boolean>;
      promise(): Promise<MadeImage>;
    };
    return [id, (await isKnown) ? await promise.call(image) : nothing] as const;
  });
  return pulumi.output(Promise.all(each).then((all) => Object.fromEntries(all)));
}

/** The provider has no labels: what the other engines add by their API stands here at the end of the image's stage. */
function withLabels(
  dockerfile: string,
  labels: Readonly<Record<string, string>>,
  { settings }: ReadyCell["cell"],
): string {
  const end = endOfTarget(parseDockerfile(dockerfile), settings);
  const lines = Object.entries(labels).map(([key, value]) => `LABEL ${key}=${JSON.stringify(value)}\n`);
  return `${dockerfile.slice(0, end).trimEnd()}\n${lines.join("")}${dockerfile.slice(end)}`;
}

/** The image that the provider has built, and pushed if it pushes. */
async function settled(
  planned: ReadyCell,
  repoDigest: string,
  { plan, publisher, push }: PreparedFleet,
  opened: ReturnType<typeof imageOpener>,
): Promise<MadeImage> {
  if (!push) return opened(planned, null);
  // A preview, whose digest is that of the last update.
  if (publisher === null || pulumi.runtime.isDryRun()) return { ...nothing, digest: digestIn(repoDigest) };
  try {
    return await opened(
      planned,
      await readBack(planned, plan.matrix.repository, repoDigest, publisher, "update"),
    );
  } catch (error) {
    throw withoutStack(error);
  }
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
  const images = cells.map((planned): [string, LockedImage] => {
    const image = made[planned.cell.id] ?? nothing;
    // No time: an output that changes with every update would never be settled.
    return [
      planned.cell.id,
      {
        ...lockedImageOf(
          planned,
          { ...image, image: null, buildMs: null },
          { described: builder, keeper: null },
          "",
        ),
        created: null,
      },
    ];
  });
  return lockOf(matrix, Object.fromEntries(images));
}

function lostText(names: readonly string[]): string {
  const some = names.slice(0, 10).join(", ");
  return `the registry does not have ${names.length} ${names.length === 1 ? "image" : "images"} any more that this stack has pushed: ${some}${names.length > 10 ? " …" : ""}; built again from the same inputs`;
}
