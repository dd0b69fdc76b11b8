import { describe, expect, test } from "vitest";
import type { Manifest } from "../../../src/oci/descriptor.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { indexTypes, manifestTypes } from "../../../src/oci/media-types.ts";
import { parseImageConfig, readImageConfig } from "../../../src/oci/registry/platform-image.ts";
import { storedBlobs } from "../../../src/oci/registry/stored-blobs.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { manifestOf } from "./support/manifests.ts";

const fleet = parseImageReference("r.example/team/app:1");

test("a manifest's own configuration", async () => {
  const image = imageOf({ os: "linux", architecture: "amd64", config: { Labels: { a: "1" }, Env: ["X=1"] } });
  const registry = holding({ "1": image.manifest }, [image]);
  expect(await readImageConfig(registry, fleet, "linux/amd64")).toEqual({
    digest: image.manifest.digest,
    configDigest: digestOf(image.config),
    config: {
      os: "linux",
      architecture: "amd64",
      variant: null,
      labels: { a: "1" },
      env: ["X=1"],
      onbuild: false,
      start: { entrypoint: [], cmd: [], hasShell: false },
    },
    blobs: storedBlobs(JSON.parse(Buffer.from(image.manifest.bytes).toString())),
  });
});

test.each([
  [{ Cmd: ["bash"] }, [], true],
  [{ Entrypoint: ["/bin/sh", "-c", "x"] }, [], true],
  [{ Shell: ["/bin/bash", "-lc"] }, [], true],
  [{ Cmd: ["/app"] }, ["RUN /bin/sh -c apt-get update # buildkit"], true],
  [{ Cmd: ["/app"] }, ["RUN |1 V=2 /bin/sh -c make # buildkit"], true],
  [{ Cmd: ["/app"] }, ["/bin/sh -c make"], true],
  // The old builder's word for a step that ran nothing, and an image without a shell.
  [{ Cmd: ["/app"] }, ['/bin/sh -c #(nop)  CMD ["/app"]'], false],
  [{ Entrypoint: ["/usr/bin/python3"] }, ["bazel build ...", "COPY /bin/sh -c x / # buildkit"], false],
])("a start of %j after %j shows a shell: %s", async (config, steps, hasShell) => {
  const history = steps.map((created_by) => ({ created_by }));
  const image = imageOf({ os: "linux", architecture: "amd64", config, history });
  const found = await readImageConfig(holding({ "1": image.manifest }, [image]), fleet, "linux/amd64");
  expect(found?.config.start).toMatchObject({ hasShell });
});

describe.each([indexTypes.oci, indexTypes.docker])("an index of type %s", (type) => {
  const amd64 = imageOf({ os: "linux", architecture: "amd64" });
  const v7 = imageOf({ os: "linux", architecture: "arm", variant: "v7" });
  const v6 = imageOf({ os: "linux", architecture: "arm", variant: "v6" });
  const attestation = imageOf({ os: "unknown", architecture: "unknown" });
  const index = manifestOf(
    {
      schemaVersion: 2,
      manifests: [
        entry(attestation.manifest, "unknown", "unknown"),
        entry(v6.manifest, "linux", "arm", "v6"),
        entry(v7.manifest, "linux", "arm", "v7"),
        entry(amd64.manifest, "linux", "amd64"),
      ],
    },
    type,
  );
  const registry = holding({ "1": index }, [amd64, v6, v7, attestation]);

  test.each([
    ["linux/amd64", amd64],
    ["linux/arm/v7", v7],
    ["linux/arm", v6],
  ])("%s", async (platform, image) => {
    expect((await readImageConfig(registry, fleet, platform))?.digest).toBe(image.manifest.digest);
  });

  test("a platform that it does not have is an error and names those that it has", async () => {
    await expect(readImageConfig(registry, fleet, "linux/arm64")).rejects.toThrow(
      "no image for linux/arm64, only for linux/arm/v6, linux/arm/v7, linux/amd64",
    );
  });

  test("a manifest that is promised and missing is an error", async () => {
    await expect(readImageConfig(holding({ "1": index }, []), fleet, "linux/amd64")).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
    });
  });
});

test("an absent reference is null", async () => {
  expect(await readImageConfig(holding({}, []), fleet, "linux/amd64")).toBeNull();
});

test.each([
  ["a manifest without configuration", { schemaVersion: 2, layers: [] }],
  ["an index without manifests", { schemaVersion: 2 }],
])("%s is an error", async (_, json) => {
  for (const type of [manifestTypes.oci, indexTypes.oci]) {
    const registry = holding({ "1": manifestOf(json, type) }, []);
    await expect(readImageConfig(registry, fleet, "linux/amd64")).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
    });
  }
});

test("configurations as other tools write them", () => {
  const parse = (json: unknown) => parseImageConfig(Buffer.from(JSON.stringify(json)));
  expect(parse({ os: "linux", architecture: "amd64", config: { Labels: null, Env: null } })).toMatchObject({
    labels: {},
    env: [],
  });
  expect(parse({ os: "linux", architecture: "amd64", config: null })).toMatchObject({ labels: {} });
  expect(parse({ architecture: "amd64" })).toBeNull();
  expect(parse([])).toBeNull();
});

interface Image {
  readonly manifest: Manifest;
  readonly config: Uint8Array;
}

function imageOf(json: unknown): Image {
  const config = Buffer.from(JSON.stringify(json));
  const layer = {
    mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
    digest: digestOf(Buffer.from("l")),
  };
  const manifest = manifestOf({
    schemaVersion: 2,
    mediaType: manifestTypes.oci,
    config: {
      mediaType: "application/vnd.oci.image.config.v1+json",
      digest: digestOf(config),
      size: config.byteLength,
    },
    layers: [
      { ...layer, size: 100 },
      { ...layer, size: 200 },
    ],
  });
  return { manifest, config };
}

function entry(
  { digest, mediaType, size }: Manifest,
  os: string,
  architecture: string,
  variant?: string,
): unknown {
  return { digest, mediaType, size, platform: { os, architecture, ...(variant && { variant }) } };
}

function holding(
  tags: Record<string, Manifest>,
  images: readonly Image[],
): Parameters<typeof readImageConfig>[0] {
  return {
    readManifest: async ({ tag, digest }) =>
      (digest === null
        ? tags[tag ?? ""]
        : images.find(({ manifest }) => manifest.digest === digest)?.manifest) ?? null,
    readBlob: async (_, digest) => {
      const found = images.find(({ config }) => digestOf(config) === digest);
      if (found === undefined) throw new Error(`no blob ${digest}`);
      return found.config;
    },
  };
}
