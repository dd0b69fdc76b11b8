/** A part of a fleet replaces its rows in the indexes of the version, and what an index lacks is found. */

import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { formatLock } from "../../../src/lock/format-lock.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { withRegistryView } from "../../../src/fleet/plan/registry-view.ts";
import { planIndexConflicts } from "../../../src/fleet/publish/index-conflicts.ts";
import { publishPlanIndex } from "../../../src/fleet/publish/publish-plan-index.ts";
import { verifyLock } from "../../../src/fleet/publish/verify-lock.ts";
import { buildPlan, type BuildPlanOptions } from "../../../src/fleet/run/build-plan.ts";
import { readLock } from "../../../src/lock/store/lock-file.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const settleMs = 10;
const [amd, arm] = ["x86-64-v2", "armv8-a"] as const;
const flavors = ["plain", "spicy"] as const;
const all = [amd, arm].flatMap((march) => flavors.map((flavor) => `${march}_${flavor}`)).sort();

const matrix = (version = "1.0", more = "") =>
  matrixText(`version: "${version}"
template: Dockerfile.hbs
base: scratch
measure: false
variants: ["{{version}}-{{flavor}}"]
axes:
  march: [${amd}, ${arm}]
  flavor: [${flavors}]
${more}`);

describe("the indexes of a version", () => {
  let root = "";
  let registry: MemoryRegistry;
  let lock: Lock;

  const planned = async (only: readonly string[] = []) => {
    const fleet = await openFleet(join(root, "matrix.yaml"), {});
    const selections = only.map((cell) => ({ cell }));
    const plan = await planFleet(fleet, {
      ...{ lock, only: selections, published: true },
      findBaseDigest: async () => null,
    });
    return { fleet, plan };
  };
  const build = async (only: readonly string[] = []) => {
    const { fleet, plan } = await planned(only);
    const inputs = new Map<string, string>();
    const engine: BuildPlanOptions["engine"] = {
      build: async ({ cell, labels }) => {
        inputs.set(cell, labels["dev.imgmatch.inputs"] ?? "");
        return { id: cell, size: 1 };
      },
      push: async ({ id }, { tag }) =>
        registry.pushImage(
          tag ?? "",
          { "dev.imgmatch.inputs": inputs.get(id) ?? "" },
          `${id} ${inputs.get(id)}`,
        ),
    };
    const lockFile = join(root, "images/imgmatch.lock.json");
    writeIn(root, "images/imgmatch.lock.json", formatLock(lock));
    await buildPlan(plan, fleet, {
      ...{ engine, lockFile, concurrency: 1, revision: "", examine: null, onEvent: () => {} },
      builder: { described: "test", localEngine: "docker" },
      publishing: { registry, settleMs, attest: null, signing: null },
      logFolder: join(root, "logs"),
      now: () => new Date(0),
    });
    lock = await readLock(lockFile);
  };
  const publish = async (only: readonly string[] = [], replace = true) => {
    const { plan } = await planned(only);
    const written = await publishPlanIndex(plan, { registry, settleMs, replace, isPart: only.length > 0 });
    return [written, ...(written.variants ?? [])].map(({ published }) => published);
  };
  const rows = async (tag: string) => {
    const reference = parseImageReference(`${lock.repository}:${tag}`);
    const stored = await readFleetIndex(registry, reference);
    const { entries } = parseFleetIndex(stored ?? expect.fail("no index"), reference);
    return [...entries]
      .map(
        ([
          cell,
          {
            image: { digest },
          },
        ]) => [cell, digest] as const,
      )
      .sort();
  };
  const digests = (cells: readonly string[]) => cells.map((cell) => [cell, lock.images[cell]?.digest]);
  const tags = ["1.0", "1.0-plain", "1.0-spicy"] as const;
  const ofTag = (tag: string) =>
    all.filter((cell) => tag === "1.0" || tag.endsWith(cell.split("_")[1] ?? ""));
  const verified = async (fleetMatrix = true) => {
    const { plan } = await planned();
    const { conflicts } = await verifyLock(lock, { registry, plan: fleetMatrix ? plan : null });
    return conflicts.map(({ code, message }) => `${code} ${message.slice(lock.repository.length + 1)}`);
  };
  const plannedRemote = async (only: readonly string[] = []) => {
    const { plan } = await planned(only);
    const found = await planIndexConflicts(plan, registry, lock);
    return found.map(({ code, message }) => `${code} ${message.slice(lock.repository.length + 1)}`);
  };

  beforeEach(async () => {
    root = makeFolder({
      "matrix.yaml": matrix(),
      "Dockerfile.hbs": "FROM {{base}}\nENV FLAVOR={{flavor}}\n",
    });
    registry = createMemoryRegistry();
    lock = {
      schemaVersion: 2,
      name: "app",
      version: "1.0",
      repository: "registry.example.com/team/app",
      images: {},
    };
    await build();
  });

  it("keep all rows that --only did not select, the variants' too, though those of the lock are others or none", async () => {
    await publish();
    for (const tag of tags) expect(await rows(tag)).toEqual(digests(ofTag(tag)));
    const before = await Promise.all(tags.map(rows));
    writeIn(root, "Dockerfile.hbs", "FROM {{base}}\nENV FLAVOR={{flavor}} NEW=1\n");
    const cell = `${amd}_plain`;
    const then = lock.images;
    await build();
    // The lock of a job that built this cell alone.
    lock = { ...lock, images: { [cell]: lock.images[cell] ?? expect.fail("not built") } };
    expect(lock.images[cell]?.digest).not.toBe(then[cell]?.digest);
    const published = await publish([cell]);
    expect(published).toMatchObject([
      { how: "replaced", cells: 4, added: [], dropped: [] },
      { how: "replaced", cells: 2, added: [], dropped: [] },
    ]);
    for (const [index, tag] of tags.entries())
      expect(await rows(tag)).toEqual(
        before[index]?.map(([id, digest]) => [id, id === cell ? lock.images[cell]?.digest : digest]),
      );
  });

  it("lose what a replacement of the whole does not publish, by name", async () => {
    await publish();
    lock = { ...lock, images: { [all[0] ?? ""]: lock.images[all[0] ?? ""] ?? expect.fail("not built") } };
    expect((await publish()).map(({ dropped }) => dropped)).toEqual([all.slice(1), [`${amd}_plain`]]);
  });

  it("are told of where they lack published cells of the lock's version, by verify and by the plan", async () => {
    const whole = lock;
    // No index yet.
    expect([await verified(), await plannedRemote()]).toEqual([[], []]);
    await publish();
    expect([await verified(), await plannedRemote()]).toEqual([[], []]);
    const variants = flavors.map((flavor) => `1.0-${flavor}`);
    const [first = ""] = all;
    lock = { ...lock, images: { [first]: lock.images[first] ?? expect.fail("not built") } };
    await publish();
    lock = { ...whole, variants };
    const lacks = [
      `INDEX_INCOMPLETE 1.0 lacks 3 cells that the lock has as published: ${all.slice(1).join(", ")}`,
      `INDEX_INCOMPLETE 1.0-plain lacks 1 cell that the lock has as published: ${amd}_plain`,
    ];
    expect(first).toBe(`${arm}_plain`);
    expect(await verified()).toEqual(lacks);
    expect(await plannedRemote()).toEqual(lacks);
    expect(await plannedRemote([first])).toEqual([]);
    // Without the matrix nobody knows the cells of a variant.
    expect(await verified(false)).toEqual(lacks.slice(0, 1));
    const { plan } = await planned();
    const moved = withRegistryView(plan, { published: new Map(), bases: new Map() });
    const stale = { ...moved, cells: moved.cells.map((each) => ({ ...each, action: "stale" as const })) };
    expect((await planIndexConflicts(stale, registry, lock)).map(({ code }) => code)).toEqual([
      "INDEX_INCOMPLETE",
      "INDEX_INCOMPLETE",
    ]);
    // What was never pushed, and what is to be built, is in no index yet.
    lock = {
      ...whole,
      images: Object.fromEntries(
        Object.entries(whole.images).map(([id, image]) => [
          id,
          id === first ? image : { ...image, digest: null },
        ]),
      ),
    };
    expect([await verified(), await plannedRemote()]).toEqual([[], []]);
    lock = whole;
    await publish([], false);
    expect([await verified(), await plannedRemote()]).toEqual([[], []]);
  });

  it("need no cell that the matrix has no more or that is still to be built, and each image that a version takes over", async () => {
    await publish();
    const kept = all.filter((cell) => !cell.endsWith("spicy"));
    registry.tags.delete("1.0");
    writeIn(root, "matrix.yaml", matrix("1.0", "exclude:\n  - { flavor: spicy, reason: no more }\n"));
    await publish();
    expect(await rows("1.0")).toEqual(digests(kept));
    expect([await verified(), await plannedRemote()]).toEqual([[], []]);
    expect(await verified(false)).toHaveLength(1);
    // The matrix goes on to another version, of which somebody has published a part.
    writeIn(root, "matrix.yaml", matrix("1.1"));
    writeIn(
      root,
      "Dockerfile.hbs",
      'FROM {{base}}\nENV FLAVOR={{flavor}}{{#if (eq flavor "spicy")}}!{{/if}}\n',
    );
    const [first = "", second = "", third = "", last = ""] = all;
    expect([second, last].every((cell) => cell.endsWith("spicy"))).toBe(true);
    const { images: older } = lock;
    await build([second]);
    await publish([second], false);
    expect(await rows("1.1")).toHaveLength(1);
    expect(lock.version).toBe("1.1");
    const { tag, digest } = lock.images[first] ?? expect.fail("not kept");
    expect([tag, digest]).toEqual([older[first]?.tag, older[first]?.digest]);
    expect(tag).toContain("1.0");
    const lacks = `INDEX_INCOMPLETE 1.1 lacks 2 cells that the lock has as published: ${first}, ${third}`;
    expect([await verified(), await plannedRemote()]).toEqual([[lacks], [lacks]]);
    await publish([], false);
    expect([await verified(), await plannedRemote()]).toEqual([[], []]);
  });

  it("are named in the words of a conflict so that nobody drops what --only leaves out", async () => {
    await publish();
    const [first = ""] = all;
    const other: Digest = registry.pushImage("other", {}, "other");
    const image = lock.images[first] ?? expect.fail("not built");
    lock = { ...lock, images: { ...lock.images, [first]: { ...image, digest: other } } };
    await expect(publish([], false)).rejects.toMatchObject({
      code: "INDEX_CONFLICT",
      problems: [{ fix: expect.stringMatching(/--replace-index: with --only .* keeps all other cells/) }],
    });
  });
});
