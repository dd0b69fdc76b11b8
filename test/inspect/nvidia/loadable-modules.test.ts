import { lookInEngine } from "../../../src/inspect/image/from-engine.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { collectModules } from "../../../src/inspect/nvidia/loadable-modules.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { openSubject } from "../../../src/inspect/open-subject.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { makeFolder } from "../../support/folders.ts";
import { makeContainer, makeEntry } from "../support/make-fatbin.ts";
import { gpuFile, layoutFiles, makeImage, makeTar, savedFiles } from "../support/make-image.ts";
import { makeLayout } from "../support/make-layout.ts";
import { makeZip } from "../support/make-zip.ts";

const image = makeImage([
  makeTar([{ path: "opt/app.fatbin", content: gpuFile(90) }]),
  makeTar([{ path: "opt/app.whl", content: makeZip([{ path: "app.fatbin", content: gpuFile(80) }]) }]),
]);

/** A registry with this image alone. */
const registry = {
  readManifest: async () => ({
    bytes: image.manifest,
    digest: digestOf(image.manifest),
    mediaType: "application/vnd.oci.image.manifest.v1+json",
  }),
  readBlob: async (_: unknown, digest: string) => blob(digest),
  streamBlob: async function* (_: unknown, digest: string) {
    yield blob(digest);
  },
};

function blob(digest: string): Buffer {
  const bytes = image.blobs.get(digest.slice("sha256:".length));
  if (bytes === undefined) throw new Error(digest);
  return bytes;
}

async function modulesOf(subject: string) {
  const collection = collectModules();
  const options = { platform: "linux/amd64", cache: noCache, inspector: collection.inspector };
  await openSubject(subject, "/", {
    ...options,
    look: lookInEngine({ env: {}, signal: new AbortController().signal }, undefined, () => {}),
    registry: registry as never,
    from: "registry",
  });
  return collection;
}

describe("modules that a driver can be given", () => {
  const folder = makeFolder({});
  writeFileSync(join(folder, "image.tar"), makeTar(savedFiles(image)));
  writeFileSync(join(folder, "oci.tar"), makeTar(layoutFiles(image)));

  it.each([
    ["an OCI layout", makeLayout(image)],
    ["docker save's archive", join(folder, "image.tar")],
    ["an OCI archive", join(folder, "oci.tar")],
    ["a registry", "registry.example.com/team/app:1"],
  ])("are found in all layers of %s", async (_, subject) => {
    const modules = (await modulesOf(subject)).modules();
    expect(modules.map(({ target }) => target)).toEqual(["sm_80", "sm_90"]);
    expect(Buffer.from(modules[1]?.bytes ?? [])).toEqual(gpuFile(90));
  });

  it("are no more than an image has that somebody compiled", async () => {
    const file = join(makeFolder({}), "a.fatbin");
    const entries = Array.from({ length: 1000 }, (_, arch) => makeEntry({ kind: 2, arch, version: [1, 7] }));
    writeFileSync(file, makeContainer(entries));
    const { modules, leftOut } = await modulesOf(file);
    expect(modules()).toHaveLength(256);
    expect(leftOut()).toHaveLength(1000 - 256);
  });

  it("are one of each target and version, the smallest, and none of what only a linker or a compiler takes", async () => {
    const big = makeEntry({ kind: 2, arch: 90, version: [1, 7], payload: Buffer.alloc(64) });
    const small = makeEntry({ kind: 2, arch: 90, version: [1, 7] });
    const other = makeEntry({ kind: 2, arch: 90, version: [1, 8] });
    const lto = makeEntry({ kind: 8, arch: 86 });
    const file = join(makeFolder({}), "a.fatbin");
    writeFileSync(file, makeContainer([big, small, other, lto]));
    const modules = (await modulesOf(file)).modules();
    expect(modules.map(({ bytes }) => Buffer.from(bytes))).toEqual([
      makeContainer([small]),
      makeContainer([other]),
    ]);
  });
});
