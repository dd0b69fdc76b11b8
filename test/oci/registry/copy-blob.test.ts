/** Blobs on their way into registries that take them each in its own way. */

import { describe, expect, it, onTestFinished } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import {
  createStore,
  type Quirk,
  startQuirkyRegistry,
  uploadQuirks,
} from "../../fleet/publish/support/quirky-registry.ts";
import { quickClient } from "./support/manifests.ts";

const mebibyte = 1024 * 1024;
const byName: Readonly<Record<string, () => Quirk>> = uploadQuirks;
const bytes = Buffer.alloc(12 * mebibyte, "a layer ");
const blob = { digest: digestOf(bytes), size: bytes.length };

async function start(quirk: Quirk = (_, serve) => serve(), store = createStore()) {
  const server = await startQuirkyRegistry(quirk, store);
  onTestFinished(() => server.stop());
  return server;
}

async function source() {
  const store = createStore();
  store.keepBlob("team/from", bytes);
  return parseImageReference(`${(await start(undefined, store)).host}/team/from`);
}

const patched = (asked: Awaited<ReturnType<typeof start>>["asked"]) =>
  asked.filter(({ method }) => method === "PATCH").map(({ body }) => body.length / mebibyte);

describe("a copy of 12 MiB", () => {
  const sizes: Partial<Record<string, readonly number[]>> = {
    "chunks of at most 4 MiB, and no whole": [12, 4, 4, 4],
    "413 for more than 8 MiB": [12, 8, 4],
    "a cut after 8 MiB": [12, 8, 4],
    "chunks of at least 10 MiB": [12, 10, 2],
  };
  it.each(Object.keys(uploadQuirks) as (keyof typeof uploadQuirks)[])("arrives with %s", async (name) => {
    const server = await start(uploadQuirks[name]());
    const from = await source();
    const to = parseImageReference(`${server.host}/team/app`);
    expect(await quickClient().copyBlob(from, to, blob)).toBe("sent");
    expect(server.store.blobs.get(blob.digest)?.equals(bytes)).toBe(true);
    expect(patched(server.asked)).toEqual(sizes[name] ?? [12]);
  });

  it("is sent where the registry refuses to mount it, and that is said once", async () => {
    for (const status of [401, 403, 404, 405]) {
      const lines: string[] = [];
      const store = createStore();
      const server = await start(byName[`mount ${status}`]?.(), store);
      const client = quickClient({ tell: (line) => lines.push(line) });
      const from = parseImageReference(`${server.host}/team/from`);
      const to = parseImageReference(`${server.host}/team/app`);
      store.keepBlob("team/from", bytes);
      expect(await client.copyBlob(from, to, blob)).toBe("sent");
      expect(lines).toEqual([`${server.host} mounts no blobs: they are sent (${status})`]);
    }
  });

  it("is an error where the registry is in trouble, and where its source fails", async () => {
    const broken = await start((asked, serve) => (asked.method === "PATCH" ? { status: 503 } : serve()));
    const to = parseImageReference(`${broken.host}/team/app`);
    await expect(quickClient().copyBlob(await source(), to, blob)).rejects.toMatchObject({
      status: 503,
      temporary: true,
    });
    const empty = parseImageReference(`${(await start()).host}/team/from`);
    const whole = parseImageReference(`${(await start()).host}/team/app`);
    await expect(quickClient().copyBlob(empty, whole, blob)).rejects.toMatchObject({ status: 404 });
  });

  it.each(["POST", "PATCH", "PUT"])("from memory is sent again after one 503 to %s", async (method) => {
    let failures = 0;
    const server = await start((asked, serve) =>
      asked.method === method && failures++ === 0 ? { status: 503 } : serve(),
    );
    await quickClient().writeBlob(parseImageReference(`${server.host}/team/app`), bytes);
    expect(server.store.blobs.get(blob.digest)?.equals(bytes)).toBe(true);
    expect(failures).toBeGreaterThan(1);
  });

  it("keeps the size that a registry has taken for the next blob", async () => {
    const server = await start(uploadQuirks["413 for more than 8 MiB"]());
    const client = quickClient();
    const to = parseImageReference(`${server.host}/team/app`);
    await client.writeBlob(to, bytes);
    await client.writeBlob(to, Buffer.alloc(12 * mebibyte, "another "));
    expect(patched(server.asked)).toEqual([12, 8, 4, 8, 4]);
  });
});
