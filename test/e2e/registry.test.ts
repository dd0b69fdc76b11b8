import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf } from "../../src/oci/digest-of.ts";
import { indexTypes, manifestTypes } from "../../src/oci/media-types.ts";
import { type ImageReference, parseImageReference, withDigest, withTag } from "../../src/oci/reference.ts";
import type { RegistryClient } from "../../src/oci/registry/client.ts";
import type { Manifest } from "../../src/oci/descriptor.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { transientTag } from "../../src/oci/registry/transient-tag.ts";
import { copyImage } from "../../src/fleet/publish/copy-image.ts";
import { sweep } from "../../src/fleet/publish/sweep.ts";
import type { CredentialStore } from "../../src/oci/registry/credential.ts";
import { readImageConfig } from "../../src/oci/registry/platform-image.ts";
import {
  registry3,
  type RunningRegistry,
  startRegistry,
  whyNoRegistry,
  whyNoRegistry3,
} from "./support/registry.ts";
import { startTokenServer, type TokenServer } from "./support/token-server.ts";
import { needs } from "../support/needs.ts";
import { whyNoOpenssl } from "../support/programs.ts";

describe.each([
  { name: "a real registry", missing: whyNoRegistry(), options: {} },
  { name: "distribution 3", missing: whyNoRegistry3(), options: { program: registry3 } },
])("$name", ({ missing, options }) => {
  describe("on loopback", needs(missing), () => {
    let server: RunningRegistry;
    let client: ReturnType<typeof createRegistryClient>;
    let app: ImageReference;

    beforeAll(async () => {
      if (missing !== null) return;
      server = await startRegistry(options);
      client = createRegistryClient({ retries: 1 });
      app = parseImageReference(`${server.host}/team/app`);
    });
    afterAll(() => server?.stop());

    test("what is not there is absent", async () => {
      const absent = parseImageReference(`${server.host}/team/nothing:1`);
      expect(await client.findManifest(absent)).toBeNull();
      expect(await client.readManifest(absent)).toBeNull();
      expect(await tagsOf(client, absent)).toEqual([]);
      await expect(client.readBlob(absent, digestOf(Buffer.from("x")))).rejects.toMatchObject({
        code: "REGISTRY_FAILED",
      });
    });

    test("writes a manifest by digest, then under tags, and reads it back", async () => {
      const manifest = await pushImage(app, "amd64", { "dev.imgmatch.test": "1" });
      expect(await client.writeManifest(withDigest(app, manifest.digest), manifest)).toBe(manifest.digest);
      expect(await client.findManifest(withTag(app, "1.0"))).toBeNull();
      expect(await client.writeManifest(withTag(app, "1.0"), manifest)).toBe(manifest.digest);

      const { bytes, ...descriptor } = manifest;
      expect(await client.findManifest(withTag(app, "1.0"))).toEqual(descriptor);
      expect(await client.findManifest(withDigest(app, manifest.digest))).toEqual(descriptor);
      const read = await client.readManifest(withTag(app, "1.0"));
      expect(read?.mediaType).toBe(manifestTypes.oci);
      expect(Buffer.from(read?.bytes ?? [])).toEqual(Buffer.from(bytes));
    });

    test("a manifest whose blobs are missing is refused with the registry's own words", async () => {
      const broken = manifestOf({ ...imageManifest(Buffer.from("{}"), 2), layers: [] });
      await expect(client.writeManifest(withTag(app, "broken"), broken)).rejects.toMatchObject({
        code: "REGISTRY_FAILED",
        message: expect.stringMatching(
          /PUT .*\/v2\/team\/app\/manifests\/broken: 400 .*MANIFEST_BLOB_UNKNOWN/,
        ),
      });
      expect(await client.findManifest(withTag(app, "broken"))).toBeNull();
    });

    test("an index leads to each platform's configuration", async () => {
      const amd64 = await pushImage(app, "amd64", { cell: "a" });
      const arm64 = await pushImage(app, "arm64", { cell: "b" });
      for (const manifest of [amd64, arm64])
        await client.writeManifest(withDigest(app, manifest.digest), manifest);
      const index = manifestOf(
        {
          schemaVersion: 2,
          mediaType: indexTypes.oci,
          manifests: [
            { ...descriptor(amd64), platform: { os: "linux", architecture: "amd64" } },
            { ...descriptor(arm64), platform: { os: "linux", architecture: "arm64", variant: "v8" } },
          ],
        },
        indexTypes.oci,
      );
      await client.writeManifest(withTag(app, "fleet"), index);
      const found = await readImageConfig(client, withTag(app, "fleet"), "linux/arm64");
      expect(found).toMatchObject({
        digest: arm64.digest,
        config: { architecture: "arm64", labels: { cell: "b" } },
      });
      expect(await readImageConfig(client, withTag(app, "absent"), "linux/arm64")).toBeNull();
      await expect(readImageConfig(client, withTag(app, "fleet"), "linux/ppc64le")).rejects.toThrow(
        "no image for linux/ppc64le, only for linux/amd64, linux/arm64/v8",
      );
    });

    test("takes a fleet of two platforms into another repository by mounting, into another registry in pieces", async () => {
      const manifests = [
        await pushImage(app, "amd64", { copied: "a" }),
        await pushImage(app, "arm64", { copied: "b" }),
      ];
      for (const manifest of manifests)
        await client.writeManifest(withDigest(app, manifest.digest), manifest);
      const index = manifestOf(
        {
          schemaVersion: 2,
          mediaType: indexTypes.oci,
          manifests: manifests.map((each, at) => ({
            ...descriptor(each),
            platform: { os: "linux", architecture: at === 0 ? "amd64" : "arm64" },
          })),
        },
        indexTypes.oci,
      );
      await client.writeManifest(withTag(app, "copied"), index);
      // Three pieces of what is read, and more of what is sent.
      const large = randomBytes(40 * 2 ** 20);
      const digest = digestOf(large);
      await pushBlob(app, large);

      const elsewhere = await startRegistry(options);
      try {
        const [near, far] = [server.host, elsewhere.host].map((host) =>
          parseImageReference(`${host}/other/app:1`),
        );
        if (near === undefined || far === undefined) throw new Error("no registries");
        const blob = { digest, size: large.length };
        expect(await client.copyBlob(app, near, blob)).toBe("mounted");
        expect(await client.copyBlob(app, far, blob)).toBe("sent");
        expect(await client.copyBlob(app, far, blob)).toBe("there");
        const stored = [];
        for await (const piece of client.streamBlob(far, digest, large.length)) stored.push(piece);
        expect(Buffer.concat(stored).equals(large)).toBe(true);
        // Of another size than its digest is of.
        const short = { digest: digestOf(Buffer.from("x")), size: 1 };
        await expect(client.copyBlob(app, far, short)).rejects.toMatchObject({ code: "REGISTRY_FAILED" });

        for (const to of [near, far]) {
          await copyImage(withDigest(app, index.digest), to, { registry: client });
          expect((await client.findManifest(to))?.digest).toBe(index.digest);
          expect((await readImageConfig(client, to, "linux/arm64"))?.config.labels).toEqual({ copied: "b" });
          // The second time there is nothing to do; another image under the tag is a conflict, and stays.
          await copyImage(withDigest(app, index.digest), to, { registry: client });
          const other = copyImage(withDigest(app, manifests[0]?.digest ?? index.digest), to, {
            registry: client,
          });
          await expect(other).rejects.toMatchObject({ code: "TAG_CONFLICT" });
          expect((await client.findManifest(to))?.digest).toBe(index.digest);
          // This registry cannot remove tags.
          expect((await tagsOf(client, to)).filter((tag) => !tag.startsWith("imgmatch-"))).toEqual(["1"]);
        }
      } finally {
        await elsewhere.stop();
      }
    });

    test("lists 250 tags, each once", async () => {
      const many = parseImageReference(`${server.host}/team/many`);
      const manifest = await pushImage(many, "amd64", {});
      const tags = Array.from({ length: 250 }, (_, number) => `t${String(number).padStart(3, "0")}`);
      await Promise.all(tags.map((tag) => client.writeManifest(withTag(many, tag), manifest)));
      const paged = createRegistryClient({ retries: 1, pageSize: 100 });
      expect((await tagsOf(paged, many)).sort()).toEqual(tags);
    });

    test("a sweep takes transient tags, and nothing that is published", async () => {
      const swept = parseImageReference(`${server.host}/team/swept:1.0`);
      const manifest = await pushImage(swept, "amd64", { swept: "yes" });
      const transient = transientTag(swept.tag ?? "");
      await client.writeManifest(swept, manifest);
      await client.writeManifest(withTag(swept, transient), manifest);
      const { removed, emptied } = await sweep(swept, { registry: client, keep: new Set() });
      expect([...removed, ...emptied]).toEqual([transient]);
      expect(await client.findManifest(swept)).toMatchObject({ digest: manifest.digest });
      const left = await client.findManifest(withTag(swept, transient));
      expect(left?.digest).not.toBe(manifest.digest);
      if (removed.length > 0) expect(left).toBeNull();
    });

    test("says whether it can remove a tag, and never removes the manifest", async () => {
      const manifest = await pushImage(app, "amd64", { removed: "yes" });
      await client.writeManifest(withTag(app, "temporary"), manifest);
      const removed = await client.removeTag(withTag(app, "temporary"));
      expect(await client.findManifest(withTag(app, "temporary"))).toEqual(
        removed ? null : expect.anything(),
      );
      expect(await client.findManifest(withDigest(app, manifest.digest))).not.toBeNull();
    });
  });
});

describe("a real registry with a login", needs(whyNoRegistry()), () => {
  let server: RunningRegistry;
  let app: ImageReference;

  beforeAll(async () => {
    // htpasswd -nbBC 5 builder open-sesame
    server = await startRegistry({
      htpasswd: "builder:$2b$05$KHl6yQErIvdYKXbhAvK.nOrySt45thXFEimscpX3CKQBTadQY1nru\n",
    });
    app = parseImageReference(`${server.host}/team/app:1`);
  });
  afterAll(() => server?.stop());

  test("the right login works", async () => {
    const client = createRegistryClient({ credentials: login("open-sesame"), retries: 0 });
    expect(await client.findManifest(app)).toBeNull();
    const manifest = await pushImage(app, "amd64", {}, "builder:open-sesame");
    expect(await client.writeManifest(app, manifest)).toBe(manifest.digest);
    expect(await client.findManifest(app)).toMatchObject({ digest: manifest.digest });
  });

  test.each([
    ["a wrong one", login("wrong")],
    ["none", { find: async () => null }],
  ])("%s is REGISTRY_AUTH, never absent", async (_, credentials) => {
    const client = createRegistryClient({ credentials, retries: 0 });
    const error = { code: "REGISTRY_AUTH", message: expect.stringContaining(`docker login ${server.host}`) };
    await expect(client.findManifest(app)).rejects.toMatchObject(error);
    await expect(tagsOf(client, app)).rejects.toMatchObject(error);
  });
});

const whyNoTokens = whyNoOpenssl();
describe("a real registry with a token server", needs(whyNoRegistry(), whyNoTokens), () => {
  let tokenServer: TokenServer;
  let server: RunningRegistry;
  let app: ImageReference;

  beforeAll(async () => {
    tokenServer = await startTokenServer("builder:open-sesame");
    server = await startRegistry({ token: tokenServer });
    tokenServer.standBefore(server.host);
    app = parseImageReference(`${tokenServer.host}/team/app:1`);
  });
  afterAll(async () => {
    await server?.stop();
    await tokenServer?.stop();
  });

  test("everybody reads, the builder writes, with one token for each", async () => {
    const reader = createRegistryClient({ retries: 0 });
    expect(await reader.findManifest(app)).toBeNull();
    expect(await tagsOf(reader, app)).toEqual([]);
    expect(tokenServer.given).toEqual([["repository:team/app:pull"]]);

    const index = manifestOf({ schemaVersion: 2, mediaType: indexTypes.oci, manifests: [] }, indexTypes.oci);
    const anonymous = createRegistryClient({ retries: 0 }).writeManifest(app, index);
    await expect(anonymous).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
      message: expect.stringContaining("401"),
    });

    const builder = createRegistryClient({ credentials: login("open-sesame"), retries: 0 });
    const before = tokenServer.given.length;
    await Promise.all(["1", "2", "3", "4"].map((tag) => builder.writeManifest(withTag(app, tag), index)));
    expect(tokenServer.given.slice(before)).toHaveLength(1);
    expect(await reader.findManifest(app)).toMatchObject({ digest: index.digest });
  });

  test("a token server at another port of this machine gets no login", async () => {
    const direct = parseImageReference(`${server.host}/team/app:1`);
    const builder = createRegistryClient({ credentials: login("open-sesame"), retries: 0 });
    const index = manifestOf({ schemaVersion: 2, mediaType: indexTypes.oci, manifests: [] }, indexTypes.oci);
    await expect(builder.writeManifest(direct, index)).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
    expect(await builder.findManifest(withTag(direct, "nothing"))).toBeNull();
  });

  test("a wrong password is REGISTRY_AUTH", async () => {
    const client = createRegistryClient({ credentials: login("wrong"), retries: 0 });
    await expect(client.findManifest(app)).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
  });
});

function login(password: string): CredentialStore {
  return { find: async () => ({ kind: "password", username: "builder", password }) };
}

async function tagsOf(client: RegistryClient, repository: ImageReference): Promise<string[]> {
  const tags: string[] = [];
  for await (const tag of client.listTags(repository)) tags.push(tag);
  return tags;
}

/** Uploads configuration and layer, which is the engine's work otherwise, and answers the manifest, not yet written. */
async function pushImage(
  { registry, repository }: ImageReference,
  architecture: string,
  labels: Record<string, string>,
  login?: string,
): Promise<Manifest> {
  const config = Buffer.from(
    JSON.stringify({
      os: "linux",
      architecture,
      config: { Labels: labels, Env: ["PATH=/bin"] },
      rootfs: { type: "layers", diff_ids: [] },
    }),
  );
  const layer = Buffer.from(`layer of ${architecture}`);
  const headers: Record<string, string> =
    login === undefined ? {} : { authorization: `Basic ${Buffer.from(login).toString("base64")}` };
  for (const blob of [config, layer]) {
    await pushBlob({ registry, repository }, blob, headers);
  }
  return manifestOf(imageManifest(config, config.byteLength, layer));
}

async function pushBlob(
  { registry, repository }: Pick<ImageReference, "registry" | "repository">,
  blob: Buffer,
  headers: Record<string, string> = {},
): Promise<void> {
  const started = await fetch(`http://${registry}/v2/${repository}/blobs/uploads/`, {
    method: "POST",
    headers,
  });
  const upload = new URL(started.headers.get("location") ?? "", `http://${registry}`);
  upload.searchParams.set("digest", digestOf(blob));
  const done = await fetch(upload, { method: "PUT", headers, body: new Uint8Array(blob) });
  expect(done.status).toBe(201);
}

function imageManifest(config: Uint8Array, size: number, layer?: Uint8Array): Record<string, unknown> {
  const layerType = "application/vnd.oci.image.layer.v1.tar";
  return {
    schemaVersion: 2,
    mediaType: manifestTypes.oci,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: digestOf(config), size },
    layers:
      layer === undefined ? [] : [{ mediaType: layerType, digest: digestOf(layer), size: layer.byteLength }],
  };
}

function manifestOf(json: unknown, mediaType: string = manifestTypes.oci): Manifest {
  const bytes = Buffer.from(JSON.stringify(json));
  return { digest: digestOf(bytes), mediaType, size: bytes.byteLength, bytes };
}

function descriptor({ digest, mediaType, size }: Manifest): Omit<Manifest, "bytes"> {
  return { digest, mediaType, size };
}
