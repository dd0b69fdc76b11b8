import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { manifestTypes } from "../../../src/oci/media-types.ts";
import { withDigest } from "../../../src/oci/reference.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { type PushReceiver, receivePush } from "../../../src/oci/registry/push-receiver.ts";

const layer = Buffer.from("a layer of the image's own");
const known = digestOf(Buffer.from("a layer of the base"));

describe("receivePush", () => {
  let folder: string;
  let receiver: PushReceiver;
  let tooMuch = 0;
  let root: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "imgmatch-receiver-"));
    tooMuch = 0;
    receiver = await receivePush({
      folder,
      isKnown: async (digest) => digest === known,
      maxBytes: 100,
      onTooMuch: () => tooMuch++,
    });
    root = `http://${receiver.reference.registry}/v2/${receiver.reference.repository}`;
  });
  afterEach(async () => {
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** As engines do: begin, send in two pieces, name the digest. */
  async function push(bytes: Buffer, digest: string): Promise<number> {
    const begun = await fetch(`${root}/blobs/uploads/?mount=${known}&from=library/x`, { method: "POST" });
    expect(begun.status).toBe(202);
    const at = new URL(begun.headers.get("location") ?? "", root).href;
    const sent = await fetch(at, { method: "PATCH", body: bytes.subarray(0, 5) });
    expect([sent.status, sent.headers.get("range")]).toEqual([202, "0-4"]);
    return (await fetch(`${at}?digest=${digest}`, { method: "PUT", body: bytes.subarray(5) })).status;
  }

  it("takes an image, asks for no known layer, and gives back what came", async () => {
    const digest = digestOf(layer);
    const head = async (of: string) => (await fetch(`${root}/blobs/${of}`, { method: "HEAD" })).status;
    expect([await head(known), await head(digest)]).toEqual([200, 404]);
    expect(await push(layer, digest)).toBe(201);
    expect(await head(digest)).toBe(200);
    const body = JSON.stringify({ schemaVersion: 2, layers: [{ digest: known }, { digest }] });
    const headers = { "Content-Type": manifestTypes.oci };
    expect((await fetch(`${root}/manifests/opened`, { method: "PUT", headers, body })).status).toBe(201);

    const client = createRegistryClient();
    const read = await client.readManifest(withDigest(receiver.reference, digestOf(Buffer.from(body))));
    expect(read).toMatchObject({ mediaType: manifestTypes.oci });
    expect(Buffer.from(read?.bytes ?? []).toString()).toBe(body);
    expect(Buffer.from(await client.readBlob(receiver.reference, digest))).toEqual(layer);
    // The receiver knows this digest and has no bytes of it.
    expect((await fetch(`${root}/blobs/${known}`)).status).toBe(404);
  });

  it("refuses other bytes than the digest says, other repositories, and paths", async () => {
    expect(await push(layer, known)).toBe(400);
    const other = root.replace(/imgmatch-\w+$/, "imgmatch-other");
    expect((await fetch(`${other}/blobs/uploads/`, { method: "POST" })).status).toBe(404);
    expect((await fetch(`${root}/blobs/uploads/none`, { method: "PATCH", body: "x" })).status).toBe(404);
    expect((await fetch(`${root}/blobs/sha256:..%2f..%2fetc`)).status).toBe(404);
  });

  it("ends a push of more bytes than its image can have", async () => {
    const begun = await fetch(`${root}/blobs/uploads/`, { method: "POST" });
    const at = new URL(begun.headers.get("location") ?? "", root).href;
    await expect(fetch(at, { method: "PATCH", body: Buffer.alloc(101) })).rejects.toThrow();
    expect(tooMuch).toBe(1);
  });
});
