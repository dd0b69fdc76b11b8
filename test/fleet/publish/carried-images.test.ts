/** A version takes over the images of the lock, or of its own index, by their digests. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { withImages } from "../../../src/fleet/engines/built-cell.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import {
  type Carried,
  takeOverImages,
  goneNotes,
  signedImages,
  withoutGone,
} from "../../../src/fleet/publish/carried-images.ts";
import { publishPlanIndex } from "../../../src/fleet/publish/publish-plan-index.ts";
import { buildPlan, type BuildPlanOptions } from "../../../src/fleet/run/build-plan.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import type { FindTrust } from "../../../src/lock/store/index-trust.ts";
import { readLock } from "../../../src/lock/store/lock-file.ts";
import { parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { rounds } from "../../support/long.ts";
import { matrixText } from "../../support/matrices.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const many = rounds(300, 3000);
const repository = "registry.example.com/team/app";
const template = (fixed = "none") =>
  `FROM scratch\nENV FLAVOR={{flavor}}{{#if (eq flavor "${fixed}")}}-fixed{{/if}}\n`;

describe("a version", () => {
  let root = "";
  let registry: MemoryRegistry;
  let asked: string[] = [];
  let builds: string[] = [];
  let lock: Lock | null = null;
  const lockFile = () => join(root, "images/imgmatch.lock.json");

  const writeMatrix = (version: string, count: number, more = "") =>
    writeIn(
      root,
      "matrix.yaml",
      matrixText(`version: "${version}"
template: Dockerfile.hbs
measure: false
${more}axes:
  march: [x86-64-v2]
  flavor: [${Array.from({ length: count }, (_, index) => `f${index}`)}]
`),
    );
  const planned = async () => {
    const fleet = await openFleet(join(root, "matrix.yaml"), {});
    const plan = await planFleet(fleet, { lock, published: true, findBaseDigest: async () => null });
    return { fleet, plan };
  };
  /** As `build --push --index`. */
  const build = async (older?: Carried) => {
    const { fleet, plan: first } = await planned();
    [asked, builds] = [[], []];
    const { plan, gone } = await takeOverImages(first, {
      ...{ lock, index: true, ask: async () => registry },
      ...(older && { older }),
    });
    const heads = asked.filter((each) => each === "find").length;
    const inputs = new Map<string, string>();
    const engine: BuildPlanOptions["engine"] = {
      build: async ({ cell, labels }) => {
        builds.push(cell);
        inputs.set(cell, labels["dev.imgmatch.inputs"] ?? "");
        return { id: cell, size: 1 };
      },
      push: async ({ id }, { tag }) => {
        const labels = { "dev.imgmatch.inputs": inputs.get(id) ?? "" };
        return registry.pushImage(tag ?? "", labels, `${id} ${builds.length}`);
      },
    };
    if (lock !== null) writeIn(root, "images/imgmatch.lock.json", formatLock(lock));
    const { results } = await buildPlan(plan, fleet, {
      ...{ engine, lockFile: lockFile(), concurrency: 4, revision: "", examine: null, onEvent: () => {} },
      builder: { described: "test", localEngine: "docker" },
      publishing: { registry, settleMs: 1, attest: null, signing: null },
      logFolder: join(root, "logs"),
      now: () => new Date(0),
    });
    if (plan.cells.some(({ action }) => action === "build")) lock = await readLock(lockFile());
    const { plan: last } = await planned();
    const failed = [...gone].filter(([cell]) => !builds.includes(cell));
    const { published } = await publishPlanIndex(withoutGone(last, new Map(failed)), {
      registry,
      settleMs: 1,
    });
    return { heads, gone, published, results };
  };
  const rows = async (version: string) => {
    const reference = parseImageReference(`${repository}:${version}`);
    const stored = await readFleetIndex(registry, reference);
    const { entries } = parseFleetIndex(stored ?? expect.fail("no index"), reference);
    return new Map([...entries].map(([cell, { image }]) => [cell, `${image.tag}@${image.digest}`]));
  };
  const named = (of: Lock | null, cell: string) => `${of?.images[cell]?.tag}@${of?.images[cell]?.digest}`;

  beforeEach(() => {
    asked = [];
    lock = null;
    root = makeFolder({ "Dockerfile.hbs": template() });
    registry = createMemoryRegistry({
      delay: async (operation) => {
        asked.push(operation);
      },
    });
  });

  it("of thousands of cells that differs in one asks for each image but one, builds one, and writes one index", async () => {
    writeMatrix("1.0.0", many);
    const { fleet, plan } = await planned();
    const images = plan.cells.map(({ cell, tag, inputDigest, inputs }) => {
      if (inputDigest === null || tag === null || inputs === null) return expect.fail(cell.id);
      const digest = registry.pushImage(tag, { "dev.imgmatch.inputs": inputDigest }, cell.id);
      const { axes, platform, requires } = cell;
      const size = registry.manifests.get(digest)?.size ?? 0;
      const manifest = { mediaType: "application/vnd.oci.image.manifest.v1+json", size };
      const known = { axes, platform, requires, tag, inputDigest, digest, inputs, manifest };
      return [cell.id, { ...known, bases: [], builder: "test", created: null, size: null }] as const;
    });
    lock = parseLock(formatLock(withImages(null, fleet.matrix, Object.fromEntries(images))), "lock");
    const before = lock;
    const { published: first } = await build();
    expect([builds, first.cells]).toEqual([[], many]);

    writeMatrix("1.0.1", many);
    writeIn(root, "Dockerfile.hbs", template("f7"));
    const { heads, published } = await build();
    expect([heads, builds]).toEqual([many - 1, ["x86-64-v2_f7"]]);
    expect(published).toMatchObject({ how: "written", cells: many });
    expect(lock?.version).toBe("1.0.1");
    const taken = await rows("1.0.1");
    for (const [cell, row] of await rows("1.0.0"))
      expect(taken.get(cell)).toBe(cell.endsWith("_f7") ? named(lock, cell) : row);
    expect(named(lock, "x86-64-v2_f7")).not.toBe(named(before, "x86-64-v2_f7"));
    // Once the index names them, nobody is asked again.
    const again = await build();
    expect([again.heads, builds, again.published.how]).toEqual([0, [], "unchanged"]);
  });

  it("builds an image that is gone, though its tag holds something else, and says so", async () => {
    writeMatrix("1", 3);
    await build();
    const [cell = "", kept = ""] = Object.keys(lock?.images ?? {});
    const { tag = "", digest } = lock?.images[cell] ?? {};
    if (digest == null) expect.fail("not pushed");
    registry.manifests.delete(digest);
    registry.tags.delete(tag);
    writeMatrix("2", 3);
    const before = named(lock, kept);
    const { gone, published } = await build();
    expect(goneNotes(gone)).toEqual([
      `the registry has 1 image of the lock no more, which are built again: ${cell}`,
    ]);
    expect([builds, published.cells, lock?.version]).toEqual([[cell], 3, "2"]);
    expect((await rows("2")).get(kept)).toBe(before);
  });

  it("without a lock has the images that its index names, whatever tags and labels say", async () => {
    writeMatrix("1", 3);
    await build();
    writeMatrix("2", 3);
    await build();
    const whole = await rows("2");
    expect([...whole.values()].every((row) => row.startsWith("1-"))).toBe(true);
    // Somebody put another image with the same label under the tag that this version gives.
    const { plan } = await planned();
    for (const { cell, inputDigest } of plan.cells)
      registry.pushImage(
        `2-${cell.id}-${inputDigest?.slice(7, 19)}`,
        { "dev.imgmatch.inputs": inputDigest ?? "" },
        "x",
      );
    lock = null;
    rmSync(lockFile());
    const { results, published } = await build();
    expect(builds).toEqual([]);
    expect(results.map((each) => each.status === "built" && each.how)).toEqual(Array(3).fill("adopted"));
    expect([published.how, await rows("2")]).toEqual(["unchanged", whole]);
  });

  it("without a lock has the images of an older version, if a trusted signer has signed its index", async () => {
    writeMatrix("1", 3);
    await build();
    const whole = await rows("1");
    writeMatrix("2", 3);
    writeIn(root, "Dockerfile.hbs", template("f1"));
    lock = null;
    rmSync(lockFile());
    const { fleet } = await planned();
    const fetching = { connect: async () => registry, tell: () => {} };
    await expect(signedImages(fleet.matrix, "1", null, fetching)).rejects.toMatchObject({ code: "USAGE" });
    const judged: string[] = [];
    const trust =
      (refuse: boolean): FindTrust =>
      async () => ({
        asksSignature: true,
        collect: async () => [],
        vouch: async () => null,
        judge: async ({ version }) => {
          judged.push(version);
          if (refuse) throw new ImgmatchError({ code: "SIGNATURE_MISSING", message: "nobody's" });
          return null;
        },
      });
    const unsigned = signedImages(fleet.matrix, "1", trust(true), fetching);
    await expect(unsigned).rejects.toMatchObject({ code: "SIGNATURE_MISSING" });
    const older = await signedImages(fleet.matrix, "1", trust(false), fetching);
    expect([judged, older.size]).toEqual([["1", "1"], 3]);
    const { results } = await build(older);
    expect(builds).toEqual(["x86-64-v2_f1"]);
    expect(results).toHaveLength(3);
    const now = await rows("2");
    for (const [cell, row] of whole) expect(now.get(cell) === row, cell).toBe(!cell.endsWith("_f1"));
  });

  it("asks nobody where it is not new and nothing is to be built", async () => {
    writeMatrix("1", 2);
    await build();
    const { plan } = await planned();
    const ask = async () => expect.fail("asked");
    expect(await takeOverImages(plan, { lock, index: false, ask })).toEqual({ plan, gone: new Map() });
    const offline = { ...plan, cells: plan.cells.map((each) => ({ ...each, action: "build" as const })) };
    const away = { ...registry, readManifest: async () => expect.fail("asked"), findManifest: ask };
    await expect(takeOverImages(offline, { lock, index: true, ask: async () => away })).rejects.toThrow(
      "asked",
    );
  });

  it("rebuilds what names the version, and says that the version is the cause", async () => {
    writeIn(root, "Dockerfile.hbs", `${template()}{{#if (eq flavor "f1")}}ENV V={{version}}\n{{/if}}`);
    writeMatrix("1", 2);
    await build();
    writeMatrix("2", 2);
    const { fleet, plan } = await planned();
    const [kept] = fleet.cells;
    // A rendered Dockerfile that does not name the version is the same under each.
    expect(kept && fleet.dockerfileOf(kept.cell).text).toMatch(/ARG IMGMATCH_VERSION=\n/);
    expect(plan.cells.map(({ action, reason }) => reason ?? action)).toEqual([
      "keep",
      "its inputs changed: dockerfile, which names the version",
    ]);
    // A change beside the version is not laid to the version.
    writeIn(root, "Dockerfile.hbs", template("f1"));
    expect((await planned()).plan.cells[1]?.reason).toBe("its inputs changed: dockerfile");
  });
});
