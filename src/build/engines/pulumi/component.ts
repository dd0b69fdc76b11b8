/** A fleet in a Pulumi stack: one `docker.Image` for each cell that has to be built. */

import { relative } from "node:path";
import type { Image } from "@pulumi/docker";
import type { ComponentResourceOptions, Input, Output } from "@pulumi/pulumi";
import { ImgmatchError } from "../../../errors.ts";
import type { Lock, LockedImage } from "../../../lock/lock.ts";
import { parseImageReference } from "../../../oci/reference.ts";
import { parseDockerfile } from "../../../render/instructions.ts";
import { endOfTarget } from "../../../render/target-stage.ts";
import { jobOf, lockedImageOf, lockOf, type ReadyCell } from "../../jobs.ts";
import { dockerfileName, partOf, resourceName, type StackImage, stackImages } from "./cells.ts";
import { imageOpener, type MadeImage, nothing } from "./open-images.ts";
import { docker, pulumi } from "./packages.ts";
import type { PreparedFleet } from "./prepare.ts";
import { digestIn, readBack } from "./read-back.ts";
import { withoutStack } from "./run-error.ts";
import { stageBuild } from "./stage.ts";

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
  readonly prepare: () => Promise<PreparedFleet>;
  readonly registry?: RegistryLogin | undefined;
}

/** For the lock: what built the images. */
const builder = "pulumi docker.Image";

export class FleetImages extends pulumi.ComponentResource<FleetData> {
  /** Cell id → `repository@sha256:…` of every image in the registry. */
  readonly references: Output<Readonly<Record<string, string>>>;
  /** The lock of exactly these cells, as `imgmatch build` writes it. */
  readonly lock: Output<Lock>;
  readonly #args: FleetImagesArgs;
  readonly #name: string;
  readonly #options: ComponentResourceOptions;

  constructor(name: string, args: FleetImagesArgs, options: ComponentResourceOptions = {}) {
    super("imgmatch:index:ImageFleet", name, {}, options);
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
      return await this.#register(await this.#args.prepare());
    } catch (error) {
      throw withoutStack(error);
    } finally {
      done?.();
    }
  }

  async #register(prepared: PreparedFleet): Promise<FleetData> {
    const { plan, cells, published, push } = prepared;
    const known = prepared.known ?? (await readStack());
    const opened = imageOpener(prepared, (text) => pulumi.log.warn(text, this));
    const staged = new Map<string, Promise<string>>();
    const images: Record<string, Output<MadeImage>> = {};
    for (const planned of cells) {
      const { id } = planned.cell;
      const imageName = `${plan.matrix.repository}:${planned.tag}`;
      const found = published.get(id) ?? null;
      const own = known.get(resourceName(this.#name, id)) ?? null;
      const part = partOf({ planned, imageName, published: found?.digest ?? null, known: own, push });
      if (part === "adopt") {
        images[id] = pulumi.output(found === null ? nothing : opened(planned, found));
        continue;
      }
      const isReplaced = prepared.replaced.has(id);
      if (part === "lost" && !isReplaced) throw lost(imageName, this.#name, id);
      const image = await this.#image(planned, prepared, staged, { imageName, keep: part === "keep" });
      images[id] =
        push && found !== null
          ? pulumi.output(opened(planned, found))
          : image.repoDigest.apply((digest) => settled(planned, digest, prepared, opened));
    }
    const all = pulumi.output(images) as Output<Readonly<Record<string, MadeImage>>>;
    return {
      references: all.apply((known) => referencesOf(known, plan.matrix.repository)),
      lock: all.apply((known) => lockOfImages(known, prepared)),
    };
  }

  async #image(
    planned: ReadyCell,
    prepared: PreparedFleet,
    staged: Map<string, Promise<string>>,
    { imageName, keep }: { readonly imageName: string; readonly keep: boolean },
  ): Promise<Image> {
    const { plan, fleet, revision, epoch, push, baseDir, workDir } = prepared;
    const { request } = jobOf(planned, { ...fleet, matrix: plan.matrix, revision, push });
    const dockerfile = withLabels(request.dockerfile, request.labels, prepared);
    const name = dockerfileName(planned.cell.id, planned.inputDigest);
    const staging = { folder: workDir, mtime: epoch ?? 0, staged };
    const files = await stageBuild({ ...request, dockerfile }, name, staging);
    const path = (absolute: string) => relative(baseDir, absolute).replaceAll("\\", "/");
    const { dependsOn } = this.#options;
    return new docker.Image(
      resourceName(this.#name, planned.cell.id),
      {
        imageName,
        build: {
          context: path(files.context),
          dockerfile: path(files.dockerfile),
          args: { ...(epoch === null ? {} : { SOURCE_DATE_EPOCH: String(epoch) }), ...request.args },
          platform: request.platform,
          builderVersion: "BuilderBuildKit",
          ...(request.target === null ? {} : { target: request.target }),
        },
        ...(push ? registryOf(this.#args.registry, plan.matrix.repository) : {}),
        skipPush: !push,
      },
      {
        parent: this,
        // An image is never changed: other inputs are another image.
        replaceOnChanges: ["build", "imageName"],
        ...(keep ? { ignoreChanges: ["build", "skipPush", "registry"] } : {}),
        ...(dependsOn === undefined ? {} : { dependsOn }),
      },
    );
  }
}

function registryOf(login: RegistryLogin | undefined, repository: string) {
  if (login === undefined) return {};
  const server = login.server ?? parseImageReference(repository).registry;
  return { registry: { server, username: login.username, password: pulumi.secret(login.password) } };
}

/** The provider has no labels: what the other engines add by their API stands here at the end of the image's stage. */
function withLabels(
  dockerfile: string,
  labels: Readonly<Record<string, string>>,
  { plan }: PreparedFleet,
): string {
  const end = endOfTarget(parseDockerfile(dockerfile), plan.matrix);
  const lines = Object.entries(labels).map(([key, value]) => `LABEL ${key}=${JSON.stringify(value)}\n`);
  return `${dockerfile.slice(0, end).trimEnd()}\n${lines.join("")}${dockerfile.slice(end)}`;
}

/** What the stack has from before this update: a program cannot ask for its own state in another way. */
async function readStack(): Promise<ReadonlyMap<string, StackImage>> {
  const stackName = `${pulumi.getOrganization()}/${pulumi.getProject()}/${pulumi.getStack()}`;
  const read = await pulumi.runtime.invoke("pulumi:pulumi:readStackResourceOutputs", { stackName });
  const { outputs = {} } = read as {
    readonly outputs?: Readonly<Record<string, { readonly outputs?: unknown } | undefined>>;
  };
  return stackImages(
    Object.fromEntries(Object.entries(outputs).map(([urn, resource]) => [urn, resource?.outputs])),
  );
}

/** What the provider has built, and pushed where it pushes. */
async function settled(
  planned: ReadyCell,
  repoDigest: string,
  { plan, publisher, push }: PreparedFleet,
  opened: ReturnType<typeof imageOpener>,
): Promise<MadeImage> {
  if (!push) return opened(planned, null);
  // A preview, whose digest is that of the last update.
  if (publisher === null || pulumi.runtime.isDryRun())
    return { digest: digestIn(repoDigest), manifest: null, measured: null };
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

function lockOfImages(made: Readonly<Record<string, MadeImage>>, { plan, cells }: PreparedFleet): Lock {
  const { matrix } = plan;
  const images = cells.map((planned): [string, LockedImage] => {
    const image = made[planned.cell.id] ?? nothing;
    // No time: an output that changes with every update would never be settled.
    return [
      planned.cell.id,
      {
        ...lockedImageOf(planned, { ...image, image: null }, { described: builder, keeper: null }, ""),
        created: null,
      },
    ];
  });
  return lockOf(matrix, Object.fromEntries(images));
}

function lost(imageName: string, fleet: string, cell: string): ImgmatchError {
  return new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `the stack has pushed ${imageName}, and the registry does not have it any more`,
    fix: `put it back into the registry, or have it built again: pulumi state delete with the URN of ${resourceName(fleet, cell)} (pulumi stack --show-urns), then pulumi up`,
  });
}
