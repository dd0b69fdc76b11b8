/** A fleet of two repositories: built, pushed and read back where each cell says, and copied to where the index is. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../../src/errors.ts";
import { isReady, jobOf } from "../../../src/fleet/engines/jobs.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { planToJson } from "../../../src/fleet/plan/plan-json.ts";
import { withRegistryView } from "../../../src/fleet/plan/registry-view.ts";
import { pushConflicts } from "../../../src/fleet/publish/index-conflicts.ts";
import { moveChannel } from "../../../src/fleet/publish/move-channel.ts";
import { publishPlanIndex } from "../../../src/fleet/publish/publish-plan-index.ts";
import { surveyRegistries } from "../../../src/fleet/publish/survey.ts";
import { verifyLock } from "../../../src/fleet/publish/verify-lock.ts";
import { buildPlan, type BuildPlanOptions } from "../../../src/fleet/run/build-plan.ts";
import { fetchLock } from "../../../src/lock/store/fetch-lock.ts";
import { readLock } from "../../../src/lock/store/lock-file.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { formatImageReference, parseImageReference } from "../../../src/oci/reference.ts";
import { readyCells } from "../../../src/pulumi/prepared-fleet.ts";
import { findCell } from "../../../src/resolve/find-cell.ts";
import { referenceOf } from "../../../src/resolve/resolve-image.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const fleetHome = "registry.example.com/team/app";
const [plain, rocm] = ["x86-64-v2_plain", "x86-64-v2_rocm"] as const;

const matrix = (rocmIn = `"{{repository}}-rocm"`) =>
  matrixText(`template: Dockerfile.hbs
base: scratch
measure: false
variants: ["{{version}}-{{flavor}}"]
channels: { latest: flavor=rocm }
axes:
  march: [x86-64-v2]
  flavor: [plain, { value: rocm, repository: ${rocmIn} }]`);

const files = (text = matrix()) => ({
  "matrix.yaml": text,
  "Dockerfile.hbs": "FROM {{base}}\nENV FLAVOR={{flavor}} HOME_OF={{repository}}\n",
});

async function plan(
  root: string,
  { lock = null as Lock | null, registry = undefined as string | undefined } = {},
) {
  const fleet = await openFleet(join(root, "matrix.yaml"), registry === undefined ? {} : { registry });
  return {
    fleet,
    plan: await planFleet(fleet, { lock, published: true, findBaseDigest: async () => null }),
  };
}

const settleMs = 10;

/** Built and pushed by an engine that pushes into memory. */
async function build(root: string, registry: MemoryRegistry): Promise<Lock> {
  const opened = await plan(root);
  const inputs = new Map<string, string>();
  const engine: BuildPlanOptions["engine"] = {
    build: async ({ cell, labels }) => {
      inputs.set(cell, labels["dev.imgmatch.inputs"] ?? "");
      return { id: cell, size: 1 };
    },
    push: async ({ id }, { repository, tag }) =>
      registry.pushImage(tag ?? "", { "dev.imgmatch.inputs": inputs.get(id) ?? "" }, id, repository),
  };
  const lockFile = join(root, "images/imgmatch.lock.json");
  const { results } = await buildPlan(opened.plan, opened.fleet, {
    ...{ engine, lockFile },
    builder: { described: "test", localEngine: "docker" },
    publishing: { registry, settleMs, attest: null, signing: null },
    examine: null,
    onEvent: () => {},
    logFolder: join(root, "logs"),
    concurrency: 1,
    revision: "",
    now: () => new Date(0),
  });
  expect(results.map(({ status }) => status)).toEqual(["built", "built"]);
  return readLock(lockFile);
}

describe("a cell of another repository", () => {
  let root: string;
  let registry: MemoryRegistry;
  let lock: Lock;
  beforeEach(async () => {
    root = makeFolder(files());
    registry = createMemoryRegistry({ home: "team/app" });
    lock = await build(root, registry);
  });
  const tagOf = (cell: string) => lock.images[cell]?.tag ?? "";
  const publish = async () => publishPlanIndex((await plan(root, { lock })).plan, { registry, settleMs });

  it("is pushed there, locked there, kept there, and resolves there", async () => {
    expect([...registry.tags.keys()].sort()).toEqual([tagOf(plain), `team/app-rocm:${tagOf(rocm)}`].sort());
    expect(lock.images[plain]).not.toHaveProperty("repository");
    expect(lock.images[rocm]).toMatchObject({ repository: `${fleetHome}-rocm` });
    const again = planToJson((await plan(root, { lock })).plan);
    expect(again.cells.map(({ cell, action, repository }) => [cell, action, repository])).toEqual([
      [plain, "keep", undefined],
      [rocm, "keep", `${fleetHome}-rocm`],
    ]);
    const { image } = findCell(lock, `${fleetHome}-rocm:${tagOf(rocm)}`);
    expect(referenceOf(lock, image)).toBe(`${fleetHome}-rocm:${tagOf(rocm)}@${image.digest}`);
    const { text } = await fleetScript(lock, { version: "0" });
    expect(text).toContain(` ${fleetHome}-rocm:${tagOf(rocm)} ${image.digest?.slice("sha256:".length)}`);
  });

  it("is asked for there by a plan, where the lock does not have it", async () => {
    const view = async (held: Lock | null) => {
      const planned = (await plan(root, { lock: held })).plan;
      const seen = await surveyRegistries(planned, { registry, findBaseDigest: async () => null });
      return withRegistryView(planned, seen).cells.map(({ action }) => action);
    };
    expect(await view(null)).toEqual(["adopt", "adopt"]);
    writeIn(root, "matrix.yaml", matrix(`"{{repository}}-amd"`));
    // The image that the lock has is in the old one.
    expect(await view(lock)).toEqual(["keep", "build"]);
  });

  it("is in the index, since it is copied to where that is", async () => {
    await publish();
    const { tag = "", digest = null } = lock.images[rocm] ?? {};
    expect(registry.tags.get(tag)).toBe(digest);
    const fetched = await fetchLock(parseImageReference(`${fleetHome}:1.0`), {
      connect: async () => registry,
      cache: null,
      now: () => new Date(),
      tell: () => {},
    });
    const copy = fetched.images[rocm];
    expect(copy && referenceOf(fetched, copy)).toBe(`${fleetHome}:${tag}@${digest}`);
    expect(registry.partsOf(registry.tags.get("1.0-rocm") as `sha256:${string}`)).toEqual([digest]);
  });

  it("is verified where it is", async () => {
    await publish();
    expect(await verifyLock(lock, { registry })).toMatchObject({ intact: 2, drift: [], conflicts: [] });
    registry.tags.delete(`team/app-rocm:${tagOf(rocm)}`);
    const { drift } = await verifyLock(lock, { registry });
    const reference = `${fleetHome}-rocm:${tagOf(rocm)}`;
    expect(drift).toMatchObject([{ cell: rocm, reference, finding: "vanished" }]);
  });

  it("is what a channel of the fleet holds, published before or not", async () => {
    const { images } = lock;
    const fleet = {
      ...lock,
      images: Object.fromEntries(Object.entries(images).filter(([id]) => id === rocm)),
    };
    const move = { name: "latest", fleet, known: null, movedBy: "test", at: "2026-01-01T00:00:00Z" };
    const { reference } = await moveChannel(move, { registry, settleMs });
    expect(formatImageReference(reference)).toBe(`${fleetHome}:latest`);
    expect(registry.partsOf(registry.tags.get("latest") as `sha256:${string}`)).toEqual([
      lock.images[rocm]?.digest,
    ]);
  });

  it("records that a channel came from what another publisher put there in between", async () => {
    const registry = createMemoryRegistry({ home: "team/app" });
    const lock = await build(makeFolder(files()), registry);
    const theirs = registry.pushImage("theirs", {}, "theirs");
    const late: MemoryRegistry = {
      ...registry,
      findManifest: async (asked) => {
        const found = await registry.findManifest(asked);
        if (asked.tag === "latest" && found === null) registry.tags.set("latest", theirs);
        return found;
      },
    };
    const fleet = { ...lock, images: Object.fromEntries(Object.entries(lock.images).slice(0, 1)) };
    const move = { name: "latest", fleet, known: null, movedBy: "test", at: "2026-01-01T00:00:00Z" };
    const { how, record } = await moveChannel(move, { registry: late, settleMs, replace: true });
    expect([how, record.from]).toEqual(["moved", theirs]);
  });
});

test("a push is refused that the index of a variant would refuse, though the version has none", async () => {
  const root = makeFolder(files());
  const registry = createMemoryRegistry({ home: "team/app" });
  const lock = await build(root, registry);
  await publishPlanIndex((await plan(root, { lock })).plan, { registry, settleMs });
  registry.tags.delete("1.0");
  writeIn(root, "Dockerfile.hbs", "FROM {{base}}\nENV FLAVOR={{flavor}} OTHER={{repository}}\n");
  const problems = await pushConflicts(
    (await plan(root, { lock })).plan,
    async () => registry,
    () => {},
  );
  expect(problems).toHaveLength(2);
  for (const problem of problems)
    expect(problem).toMatchObject({
      code: "INDEX_CONFLICT",
      message: expect.stringMatching(/^registry\.example\.com\/team\/app:1\.0-(plain|rocm) has /),
    });
});

describe("the repository of a cell", () => {
  async function refusal(rocmIn: string, registry?: string): Promise<string> {
    try {
      const opened = await plan(makeFolder(files(matrix(rocmIn))), { registry });
      return opened.plan.cells
        .filter(isReady)
        .map((planned) =>
          jobOf(planned, { ...opened.fleet, matrix: opened.fleet.matrix, revision: "", push: true }),
        )
        .map(({ reference }) =>
          reference === null ? "" : formatImageReference(reference).replace(/:.*/, ""),
        )
        .join(" ");
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      return error.problems.map(formatProblem).join("\n");
    }
  }

  it("moves with the fleet's by --registry, and is refused where it would stay", async () => {
    expect(await refusal(`"registry.example.com/team/other"`, "example.org/mine")).toBe(
      "example.org/mine/app example.org/mine/other",
    );
    expect(await refusal("quay.io/team/other", "example.org/mine")).toContain(
      "--registry moves repositories below registry.example.com/team, and the repository quay.io/team/other is not below it",
    );
    expect(await refusal("quay.io/team/other")).toBe(`${fleetHome} quay.io/team/other`);
  });

  it.each([
    ["Quay.io/Team", "upper-case"],
    ["quay.io/team/app:1", "has a tag or a digest"],
    ['"-o/x"', "is not an image reference"],
  ])("is refused as %s", async (text, why) => {
    expect(await refusal(text)).toContain(why);
  });

  it("is where fleets that are built on the cell find it", async () => {
    const base = matrixText(`name: base
template: Dockerfile.hbs
base: scratch
axes: { march: [{ march: x86-64-v2, repository: "{{repository}}-rocm" }] }`);
    const root = makeFolder({
      ...files(
        matrixText(`template: Dockerfile.hbs
base: { fleet: base/matrix.yaml }
axes: { march: [x86-64-v2], flavor: [plain] }`),
      ),
      "base/matrix.yaml": base,
      "base/Dockerfile.hbs": "FROM {{base}}\nENV MARCH={{march.name}}\n",
    });
    const [cell] = (await plan(root)).plan.cells;
    expect(cell?.bases.map(({ ref }) => ref)).toEqual(["registry.example.com/team/base-rocm:x86-64-v2"]);
  });

  it("is refused by a stack of Pulumi, which has one login", async () => {
    const { plan: planned } = await plan(makeFolder(files()));
    expect(() => readyCells(planned)).toThrow(`${rocm} goes to ${fleetHome}-rocm`);
  });

  it.each(["a b", "$(id)", "team/app:1", "Team/App", 7, ""])("of a lock is not %j", async (repository) => {
    const root = makeFolder(files());
    await build(root, createMemoryRegistry({ home: "team/app" }));
    const lock = JSON.parse(readFileSync(join(root, "images/imgmatch.lock.json"), "utf8"));
    lock.images[rocm].repository = repository;
    expect(() => parseLock(JSON.stringify(lock), "lock")).toThrow(/repository/);
  });
});
