import { describe, expect, it } from "vitest";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { promoteIndex, publishAdopted } from "../../../src/fleet/publish/publish-plan-index.ts";
import { fetchLock } from "../../../src/lock/store/fetch-lock.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const settleMs = 50;

/** As a machine without a lock has it. */
function fleetOf(registry: MemoryRegistry, { repository }: Lock, version: string): Promise<Lock> {
  return fetchLock(parseImageReference(`${repository}:${version}`), {
    connect: async () => registry,
    cache: null,
    now: () => new Date(),
    tell: () => {},
  });
}

async function setUp() {
  const registry = createMemoryRegistry();
  const cells = ["a", "b"].map((cell) => [cell, image({ digest: registry.pushImage(cell, {}, cell) })]);
  const lock: Lock = {
    ...lockOf(Object.fromEntries(cells)),
    version: "1.1.0-rc1",
    prefer: ["cpu"],
  };
  await publishAdopted(lock, { registry, settleMs });
  return { registry, lock, tried: await fleetOf(registry, lock, "1.1.0-rc1") };
}

it("publishes a part of an adopted lock, and keeps what else the index has", async () => {
  const { registry, lock } = await setUp();
  const a = image({ tag: "a2", digest: registry.pushImage("a2", {}, "a2") });
  const part = { registry, settleMs, replace: true, isPart: true };
  const { published } = await publishAdopted({ ...lock, images: { a } }, part);
  expect(published).toMatchObject({ how: "replaced", cells: 2, dropped: [] });
  const { images } = await fleetOf(registry, lock, "1.1.0-rc1");
  expect([images.a?.digest, images.b?.digest]).toEqual([a.digest, lock.images.b?.digest]);
});

describe("promote", () => {
  it("writes the same images under the other version, and nothing the second time", async () => {
    const { registry, lock, tried } = await setUp();
    const { published, missing } = await promoteIndex(tried, "1.1.0", { registry, settleMs });
    expect({ ...published, missing }).toMatchObject({ how: "written", cells: 2, missing: [] });
    const now = await fleetOf(registry, lock, "1.1.0");
    expect(now).toMatchObject({ version: "1.1.0", prefer: ["cpu"] });
    expect(now.images).toEqual(tried.images);
    expect(await fleetOf(registry, lock, "1.1.0-rc1")).toEqual(tried);
    const again = await promoteIndex(tried, "1.1.0", { registry, settleMs });
    expect(again.published).toMatchObject({ how: "unchanged", digest: published.digest });
  });

  it.each([
    ["another image for a cell", "a", "has a as sha256:"],
    ["a cell more", "c", "has c, and 1.1.0-rc1 does not"],
  ])("refuses a version that has %s, unless it is to be replaced", async (_, cell, message) => {
    const { registry, lock, tried } = await setUp();
    const other = image({ digest: registry.pushImage(`other-${cell}`, {}, "other") });
    const there: Lock = { ...lock, version: "1.1.0", images: { [cell]: { ...other, tag: `other-${cell}` } } };
    await publishAdopted(there, { registry, settleMs });
    await expect(promoteIndex(tried, "1.1.0", { registry, settleMs })).rejects.toMatchObject({
      code: "INDEX_CONFLICT",
      message: expect.stringContaining(message),
    });
    expect(Object.keys((await fleetOf(registry, lock, "1.1.0")).images)).toEqual([cell]);
    await promoteIndex(tried, "1.1.0", { registry, settleMs, replace: true });
    expect((await fleetOf(registry, lock, "1.1.0")).images).toEqual(tried.images);
  });

  it("refuses the version that it has, and one that an image has as its tag", async () => {
    const { registry, tried } = await setUp();
    await expect(promoteIndex(tried, "1.1.0-rc1", { registry })).rejects.toMatchObject({ code: "USAGE" });
    await expect(promoteIndex(tried, "a", { registry })).rejects.toMatchObject({ code: "TAG_COLLISION" });
  });
});
