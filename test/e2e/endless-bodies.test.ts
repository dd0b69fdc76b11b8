/** Bodies that are longer than what names them says, or have no end: how much memory the program takes, and what it answers. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference, withTag } from "../../src/oci/reference.ts";
import { referrersTag, signatureTag } from "../../src/oci/registry/attachment-tags.ts";
import { bundleType, layerAnnotations, simpleSigningType } from "../../src/trust/evidence.ts";
import { makeTar } from "../inspect/support/make-image.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { needs } from "../support/needs.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { imgmatch, type Ran } from "./support/program.ts";
import { createSigningKey, publishFleet, registry } from "./support/signed-fleet.ts";

const stack = inject("stack");
const MiB = 2 ** 20;
const mostMemory = 150 * MiB;
/** With pieces of a layer, and files of it on their way to the threads that open them. */
const mostToInspect = 240 * MiB;
const manifestType = "application/vnd.oci.image.manifest.v1+json";
const key = createSigningKey();

describe("a registry with bodies of any length", needs(stack.available ? null : stack.reason), () => {
  let proxy: FaultProxy;
  let folder: string;
  let count = 0;
  /** By way of the proxy; of no other test. */
  let repository: string;

  beforeAll(async () => {
    if (!stack.available) return;
    proxy = await startFaultProxy(stack.registry);
    folder = mkdtempSync(join(tmpdir(), "imgmatch-endless-"));
    writeFileSync(join(folder, "cosign.pub"), key.pem);
    writeFileSync(join(folder, "host.json"), formatHostFacts(cpuHost()));
    writeFileSync(
      join(folder, "memory.cjs"),
      `process.on("exit", () => require("node:fs").writeFileSync(process.env.MEMORY_FILE, String(process.resourceUsage().maxRSS)));`,
    );
  });
  afterAll(async () => {
    await proxy?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    repository = `${proxy.host}/endless${count++}/app`;
    proxy.fault = null;
  });

  /** The bundled program, and the most memory that it had, in bytes. */
  async function measured(...args: readonly string[]): Promise<Ran & { readonly memory: number }> {
    const file = join(folder, "memory");
    const env = {
      ...process.env,
      NODE_OPTIONS: `--require ${join(folder, "memory.cjs")}`,
      MEMORY_FILE: file,
    };
    const ran = await imgmatch(args, { cwd: folder, env });
    return { ...ran, memory: Number(readFileSync(file, "utf8")) * 1024 };
  }
  const resolve = () =>
    measured("resolve", `${repository}:1.0.0`, "--host", "host.json", "--key", "cosign.pub", "--json");

  async function write(name: string, content: object, mediaType = manifestType) {
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...content }));
    const manifest = { bytes, mediaType, digest: digestOf(bytes), size: bytes.length };
    await registry.writeManifest(withTag(parseImageReference(repository), name), manifest);
    return manifest;
  }
  async function blob(bytes: Uint8Array): Promise<Digest> {
    return registry.writeBlob(parseImageReference(repository), bytes);
  }
  async function config(bytes = Buffer.from("{}")) {
    const mediaType = "application/vnd.oci.image.config.v1+json";
    return { mediaType, digest: await blob(bytes), size: bytes.length };
  }

  /** Beside the good one, and before it: layers under cosign's own tag that name this blob. */
  async function addLayers(index: Digest, digest: Digest, size: number): Promise<void> {
    const name = signatureTag(index);
    const held = await registry.readManifest(parseImageReference(`${repository}:${name}`));
    const good = held === null ? [] : JSON.parse(Buffer.from(held.bytes).toString()).layers;
    const liars = Array.from({ length: 16 }, () => ({
      mediaType: simpleSigningType,
      digest,
      size,
      annotations: { [layerAnnotations.signature]: "AAAA" },
    }));
    await write(name, { config: await config(), layers: [...liars, ...good] });
  }
  /** The same as bundles, each with a manifest of its own. */
  async function addBundles(index: Digest, digest: Digest, size: number): Promise<void> {
    const name = referrersTag(index);
    const held = await registry.readManifest(parseImageReference(`${repository}:${name}`));
    const good = held === null ? [] : JSON.parse(Buffer.from(held.bytes).toString()).manifests;
    const liars: object[] = [];
    for (let number = 0; number < 16; number++) {
      const layers = [{ mediaType: bundleType, digest, size }];
      const more = { config: await config(), layers, annotations: { number: `${number}` } };
      const { digest: own, mediaType, size: length } = await write(`liar-${number}`, more);
      liars.push({ digest: own, mediaType, size: length, artifactType: bundleType });
    }
    await write(name, { manifests: [...liars, ...good] }, "application/vnd.oci.image.index.v1+json");
  }
  const forms = { tag: addLayers, bundle: addBundles } as const;

  it.each(["tag", "bundle"] as const)(
    "has 200 MB where sixteen signatures say 100 bytes: the good one beside them counts, in little memory (%s)",
    async (form) => {
      const { index } = await publishFleet(repository, "1.0.0", ["a"]);
      await key.sign(repository, index, form);
      await forms[form](index, await blob(Buffer.alloc(200 * MiB)), 100);
      const { status, stdout, stderr, memory } = await resolve();
      expect(memory).toBeLessThan(mostMemory);
      expect(stderr).toBe("");
      expect({ status, signed: JSON.parse(stdout).signed?.digest }).toEqual({ status: 0, signed: index });
    },
  );

  it.each(["tag", "bundle"] as const)(
    "sends sixteen signatures without end: the good one beside them counts, in little memory (%s)",
    async (form) => {
      const { index } = await publishFleet(repository, "1.0.0", ["a"]);
      await key.sign(repository, index, form);
      const liar = await blob(Buffer.from(`endless ${form}`));
      await forms[form](index, liar, 200_000);
      proxy.fault = ({ path }) =>
        path.endsWith(liar) ? { kind: "endless", bytes: Buffer.alloc(MiB) } : null;
      const { status, stdout, stderr, memory } = await resolve();
      expect(memory).toBeLessThan(mostMemory);
      expect(stderr).toBe("");
      expect({ status, signed: JSON.parse(stdout).signed?.digest }).toEqual({ status: 0, signed: index });
      expect(proxy.met.filter(({ path }) => path.endsWith(liar))).toHaveLength(16);
    },
  );

  it("and where no signature is a good one, that is said of those that cannot be read", async () => {
    const { index } = await publishFleet(repository, "1.0.0", ["a"]);
    await createSigningKey().sign(repository, index, "tag");
    await addLayers(index, await blob(Buffer.alloc(MiB)), 100);
    const { status, stdout } = await resolve();
    expect(status).toBe(6);
    expect(JSON.parse(stdout).errors[0]).toMatchObject({
      code: "SIGNATURE_INVALID",
      message: expect.stringContaining("longer than 100 bytes"),
    });
  });

  describe("inspect", () => {
    const endlessTar = makeTar([{ path: "usr/lib/large", content: Buffer.alloc(4 * MiB) }]).subarray(
      0,
      -1024,
    );

    it.each([
      ["a layer without end, of few bytes by its manifest", 100, endlessTar],
      ["of many", 300 * MiB, endlessTar],
      ["of more than any disk has, whose archive ends at once", 2 ** 50, Buffer.alloc(MiB)],
    ])("%s: ends with an error that names the layer, in little memory", async (_, size, bytes) => {
      const digest = await blob(Buffer.from("endless"));
      const mediaType = "application/vnd.oci.image.layer.v1.tar";
      const settings = {
        architecture: "amd64",
        os: "linux",
        rootfs: { type: "layers", diff_ids: [digest] },
      };
      const described = await config(Buffer.from(JSON.stringify(settings)));
      await write("1", { config: described, layers: [{ mediaType, digest, size }] });
      proxy.fault = ({ path }) => (path.endsWith(digest) ? { kind: "endless", bytes } : null);
      const { status, stdout, memory } = await measured(
        "inspect",
        `${repository}:1`,
        "--from",
        "registry",
        "--json",
      );
      expect(JSON.parse(stdout).errors[0]).toMatchObject({
        message: expect.stringContaining(`layer 1 of ${repository}:1`),
      });
      expect(status).not.toBe(0);
      expect(memory).toBeLessThan(mostToInspect);
    });
  });
});
