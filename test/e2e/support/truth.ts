/** The truth after every fault: the lock is whole, and no tag in the registry names a wrong image. */

import type { Digest } from "../../../src/oci/digest.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Lock } from "../../../src/lock/lock.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { isIndexType } from "../../../src/oci/media-types.ts";
import { readImageConfig } from "../../../src/oci/registry/platform-image.ts";
import { type ImageReference, parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { lockFile, type Project } from "./project.ts";

/**
 * Reads the lock (null where there is none yet) and every tag of the repository, past any proxy. Each tag must hold the
 * image that its name says: one of a cell, with the inputs that the tag ends with; and where the lock has it, that digest.
 *
 * @param registry host and port of the registry itself
 */
export async function expectTruth(
  project: Project,
  registry: string,
  lockName = lockFile,
): Promise<Lock | null> {
  const lock = existsSync(join(project.folder, lockName)) ? project.lock(lockName) : null;
  const client = createRegistryClient();
  const repository = parseImageReference(`${registry}/${project.repository.split("/").slice(1).join("/")}`);
  const locked = new Map(Object.values(lock?.images ?? {}).map((image) => [image.tag, image]));
  const tags: string[] = [];
  for await (const tag of client.listTags(repository)) if (!tag.startsWith("imgmatch-")) tags.push(tag);
  for (const tag of tags) {
    const reference = { ...repository, tag };
    const found = await client.findManifest(reference);
    if (found === null) throw new Error(`${tag} is listed and not there`);
    if (isIndexType(found.mediaType)) {
      await expectWholeIndex(reference, found.digest);
      continue;
    }
    const image = locked.get(tag);
    const platform = image?.platform ?? `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
    const read = await readImageConfig(client, withDigest(reference, found.digest), platform);
    const labels = read?.config.labels ?? {};
    expect(tag).toBe(
      `1.0.0-${labels["dev.imgmatch.cell"]}-${labels["dev.imgmatch.inputs"]?.slice("sha256:".length).slice(0, 12)}`,
    );
    if (image?.digest != null) expect(found.digest, tag).toBe(image.digest);
  }
  for (const { tag, digest } of locked.values()) {
    if (digest !== null) expect(tags, "a tag of the lock").toContain(tag);
  }
  return lock;
}

/** The index of a version names only what the registry has. */
async function expectWholeIndex(reference: ImageReference, digest: Digest): Promise<void> {
  const client = createRegistryClient();
  const index = await client.readManifest(withDigest(reference, digest));
  const { manifests } = JSON.parse(Buffer.from(index?.bytes ?? []).toString()) as {
    readonly manifests: readonly { readonly digest: Digest }[];
  };
  for (const one of manifests)
    expect(await client.findManifest(withDigest(reference, one.digest))).not.toBeNull();
}

/** The next run, with nothing in its way, ends what was begun; and the one after has nothing to do. */
export async function expectCompletion(
  project: Project,
  registry: string,
  cells: number,
  ...flags: readonly string[]
): Promise<void> {
  const next = await project.run("build", "--push", ...flags);
  expect(next.status, next.stderr).toBe(0);
  const lock = await expectTruth(project, registry);
  const images = Object.values(lock?.images ?? {});
  expect(images.length).toBe(cells);
  expect(images.every(({ digest }) => digest !== null)).toBe(true);
  const again = await project.run("build", "--push");
  expect(again.stderr).toMatch(/^nothing to build/);
}
