/** Fleets that are built on the cells of other fleets: which on which, in what order, and what follows until these are built. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { isReady, jobOf, unreadyProblem } from "../../../src/fleet/engines/jobs.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { orderFleets } from "../../../src/fleet/open/workspace.ts";
import { type FleetPlanOptions, planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { publishedOnLocal } from "../../../src/fleet/plan/local-bases.ts";
import type { PlannedCell } from "../../../src/fleet/plan/planned-cell.ts";
import { movableBases } from "../../../src/fleet/plan/registry-view.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { lockPlan } from "../../support/plan-lock.ts";
import { runInProcess } from "../../support/run-cli.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const head = (name: string) =>
  `name: ${name}\nversion: "1"\nregistry: registry.example.com/team\ntemplate: Dockerfile.hbs\n`;
const template = "FROM {{base}}\nCOPY own /own\nENV MARCH={{march.name}}\n";

/** base → app; `app` is what the child's matrix says after its head. */
function fleets({ base = "", app = "" } = {}): string {
  return makeFolder({
    "imgmatch.workspace.yaml": "fleets: [app/matrix.yaml, base/matrix.yaml]\n",
    "base/matrix.yaml": `${head("base")}${base || "base: scratch\naxes: { march: [x86-64-v2, x86-64-v3] }\n"}`,
    "base/Dockerfile.hbs": `${template}{{#if (eq march.name "x86-64-v3")}}COPY three /three\n{{/if}}`,
    "base/own": "base\n",
    "base/three": "3\n",
    "app/matrix.yaml": `${head("app")}${app || "base: { fleet: ../base/matrix.yaml }\naxes: { march: [x86-64-v2, x86-64-v3], python: ['3.12'] }\n"}`,
    "app/Dockerfile.hbs": template,
    "app/own": "app\n",
  });
}

const planOf = async (root: string, fleet = "app", options: Partial<FleetPlanOptions> = {}) =>
  planFleet(await openFleet(join(root, fleet, "matrix.yaml")), {
    lock: null,
    findBaseDigest: async (ref) => {
      throw new Error(`${ref} was asked for`);
    },
    ...options,
  });
const lockAt = (root: string, fleet: string) => {
  const file = join(root, fleet, "images/imgmatch.lock.json");
  return parseLock(readFileSync(file, "utf8"), file);
};
const writeLock = (root: string, fleet: string, lock: object) =>
  writeIn(root, `${fleet}/images/imgmatch.lock.json`, JSON.stringify(lock));
const withImages = (lock: Lock, more: object) => ({
  ...lock,
  images: Object.fromEntries(Object.entries(lock.images).map(([id, image]) => [id, { ...image, ...more }])),
});
const unpushed = (id: Digest) => ({ digest: null, local: { engine: "docker", id } });

/** The base is built and not pushed. What this answers builds the app on it, pushes the base alone, and answers the app's lock. */
async function inEngine(root: string): Promise<() => Promise<Lock>> {
  await lockPlan(join(root, "base"));
  const pushed = lockAt(root, "base");
  writeLock(root, "base", withImages(pushed, unpushed(digest("1"))));
  return async () => {
    await lockPlan(join(root, "app"));
    const own = lockAt(root, "app");
    const [base] = own.images["x86-64-v2"]?.bases ?? [];
    writeLock(
      root,
      "app",
      withImages(own, { ...unpushed(digest("2")), bases: [{ ...base, local: "docker" }] }),
    );
    writeLock(root, "base", pushed);
    return lockAt(root, "app");
  };
}

const rows = (cells: readonly PlannedCell[]) =>
  cells.map(({ cell, action, reason, tag }) => [cell.id, action, reason, tag === null]);
const problemsOf = async (root: string) => {
  try {
    await openFleet(join(root, "app/matrix.yaml"));
  } catch (error) {
    return (error as { problems: { code: string; message: string; fix: string; at: object }[] }).problems;
  }
  throw new Error("no mistake was found");
};

describe("a base that is a cell of another fleet", () => {
  it("is followed until it is built: no tag is known, and no registry is asked", async () => {
    const { cells } = await planOf(fleets());
    expect(rows(cells)).toEqual([
      ["x86-64-v2_3.12", "build", "follows x86-64-v2 of ../base/matrix.yaml", true],
      ["x86-64-v3_3.12", "build", "follows x86-64-v3 of ../base/matrix.yaml", true],
    ]);
    expect(cells[0]).toMatchObject({ inputDigest: null });
    expect(cells[0]?.bases).toEqual([
      {
        ref: "registry.example.com/team/base:x86-64-v2",
        used: expect.stringMatching(/^registry\.example\.com\/team\/base:1-x86-64-v2-[0-9a-f]{12}$/),
        digest: null,
        parent: { matrix: "../base/matrix.yaml", cell: "x86-64-v2" },
      },
    ]);
    if (cells[0] === undefined) throw new Error("no cell");
    expect(unreadyProblem([cells[0]])).toMatchObject({
      code: "BASE_NOT_BUILT",
      message: expect.stringContaining("its base x86-64-v2 of ../base/matrix.yaml is not built"),
    });
  });

  it("is its image, by digest, once it is built; a change of it concerns its own children alone", async () => {
    const root = fleets();
    await lockPlan(join(root, "base"));
    const plan = await planOf(root);
    const [first] = plan.cells;
    const tag = lockAt(root, "base").images["x86-64-v2"]?.tag;
    expect(first?.bases[0]).toMatchObject({
      used: `registry.example.com/team/base:${tag}`,
      digest: digest("d"),
    });
    expect(movableBases(plan)).toEqual([]);
    if (first === undefined || !isReady(first)) throw new Error("not ready");
    const fleet = await openFleet(join(root, "app/matrix.yaml"));
    const { request } = jobOf(first, { ...fleet, matrix: plan.matrix, revision: "", push: true });
    expect(request.dockerfile).toMatch(`FROM registry.example.com/team/base:${tag}@${digest("d")}\n`);

    await lockPlan(join(root, "app"));
    expect(rows((await planOf(root, "app", { lock: lockAt(root, "app") })).cells)).toEqual([
      ["x86-64-v2_3.12", "keep", null, false],
      ["x86-64-v3_3.12", "keep", null, false],
    ]);
    writeIn(root, "base/three", "three\n");
    expect(rows((await planOf(root, "app", { lock: lockAt(root, "app") })).cells)).toEqual([
      ["x86-64-v2_3.12", "keep", null, false],
      ["x86-64-v3_3.12", "build", "follows x86-64-v3 of ../base/matrix.yaml", true],
    ]);
  });

  it("has the same name in the Dockerfile whatever it is built of", async () => {
    const root = fleets();
    const rendered = async () => {
      const ran = await runInProcess(["render", "--matrix", join(root, "app/matrix.yaml")]);
      expect(ran, ran.err).toMatchObject({ exit: 0 });
      return readFileSync(join(root, "app/images/x86-64-v3_3.12.Dockerfile"), "utf8");
    };
    const before = await rendered();
    expect(before).toContain("FROM registry.example.com/team/base:x86-64-v3\n");
    writeIn(root, "base/three", "three\n");
    await lockPlan(join(root, "base"));
    expect(await rendered()).toBe(before);
    const check = ["render", "--check", "--matrix", join(root, "app/matrix.yaml")];
    expect(await runInProcess(check)).toMatchObject({ exit: 0 });
  });

  it("may be the base of one stage, of one value of an axis, and of a fleet that others are built on", async () => {
    const root = fleets({
      app: "base: { build: { fleet: ../base/matrix.yaml }, run: scratch }\naxes: { march: [x86-64-v3] }\n",
    });
    writeIn(
      root,
      "app/Dockerfile.hbs",
      `FROM {{base.build}} AS build\n${template.replace("base", "base.run")}`,
    );
    writeIn(
      root,
      "top/matrix.yaml",
      `${head("top")}axes: { cuda: [{ toolkit: none, base: { fleet: ../app/matrix.yaml } }], march: [x86-64-v3] }\n`,
    );
    writeIn(root, "top/Dockerfile.hbs", "FROM {{base}}\n");
    expect(rows((await planOf(root)).cells)).toEqual([
      ["x86-64-v3", "build", "follows x86-64-v3 of ../base/matrix.yaml", true],
    ]);
    await lockPlan(join(root, "base"));
    expect(rows((await planOf(root, "top")).cells)).toEqual([
      ["none_x86-64-v3", "build", "follows x86-64-v3 of ../app/matrix.yaml", true],
    ]);
    await lockPlan(join(root, "app"));
    expect((await planOf(root, "top")).cells[0]?.bases[0]?.digest).toBe(digest("d"));
    // A change far below follows through.
    writeIn(root, "base/three", "three\n");
    expect(rows((await planOf(root, "top")).cells)).toEqual([
      ["none_x86-64-v3", "build", "follows x86-64-v3 of ../app/matrix.yaml", true],
    ]);
  });

  it("may be brought by a value and by a case, beside bases that are templates", async () => {
    const parent = "base: { fleet: ../base/matrix.yaml }";
    const root = fleets({
      base: "base: scratch\naxes: { march: [x86-64-v3] }\n",
      app: [
        'base: "debian:{{os}}"',
        `axes: { march: [x86-64-v3], os: ["12", "13"], kind: [{ value: own, ${parent} }, plain] }`,
        `values: { extra: [{ when: { os: "13", kind: plain }, value: "1", ${parent} }, { value: "0" }] }`,
      ].join("\n"),
    });
    const { cells, parents, dockerfileOf } = await openFleet(join(root, "app/matrix.yaml"));
    const found = cells.map(({ cell }) => [cell.id, dockerfileOf(cell).bases.map(({ ref }) => ref)]);
    const ref = "registry.example.com/team/base:x86-64-v3";
    expect(Object.fromEntries(found)).toEqual({
      "x86-64-v3_12_own": [ref],
      "x86-64-v3_12_plain": ["debian:12"],
      "x86-64-v3_13_own": [ref],
      "x86-64-v3_13_plain": [ref],
    });
    expect([...parents.keys()]).toEqual([ref]);
  });

  it("is the engine's where it was not pushed, and as it was built when both are published", async () => {
    const root = fleets({
      app: "base: { fleet: ../base/matrix.yaml }\naxes: { march: [x86-64-v2] }\n",
    });
    const publish = await inEngine(root);
    const local = await planOf(root);
    expect(local.cells[0]?.bases[0]).toMatchObject({ digest: digest("1"), local: "docker" });
    // In the engine no more, or of another machine.
    expect(rows((await planOf(root, "app", { engineHas: new Set() })).cells)).toMatchObject([
      ["x86-64-v2", "build", expect.stringMatching(/^follows/), true],
    ]);
    expect(rows((await planOf(root, "app", { published: true })).cells)).toMatchObject([
      ["x86-64-v2", "build", expect.stringMatching(/^follows/), true],
    ]);

    const lock = await publish();
    const waiting = await planOf(root, "app", { lock, published: true, asBuilt: true });
    expect(waiting.cells[0]).toMatchObject({
      reason: "built, but not pushed",
      inputDigest: lock.images["x86-64-v2"]?.inputDigest,
    });
    expect(publishedOnLocal(waiting)).toEqual([]);
    // Images are built on published images.
    const [anew] = (await planOf(root, "app", { lock, published: true })).cells;
    expect(anew?.bases[0]).toMatchObject({ digest: digest("d") });
    expect(anew?.bases[0]).not.toHaveProperty("local");
    writeLock(root, "app", withImages(lock, { digest: digest("e"), local: undefined }));
    expect((await planOf(root, "app", { lock: lockAt(root, "app") })).cells[0]).toMatchObject({
      action: "keep",
    });
  });

  it("is not what it was in the engine where its tag does not tell them apart", async () => {
    const axes = "axes: { march: [x86-64-v2] }\n";
    const root = fleets({
      base: `tag: "{{version}}-{{cell}}"\nbase: scratch\n${axes}`,
      app: `base: { fleet: ../base/matrix.yaml }\n${axes}`,
    });
    const publish = await inEngine(root);
    const lock = await publish();
    const { cells } = await planOf(root, "app", { lock, published: true, asBuilt: true });
    expect(cells[0]?.bases[0]).toMatchObject({ digest: digest("d") });
    expect(cells[0]?.bases[0]).not.toHaveProperty("local");
  });

  it("is missed by what needs every digest, and opened once however often it is named", async () => {
    const root = fleets();
    const file = join(root, "app/matrix.yaml");
    expect(await runInProcess(["export", "bake", "--offline", "--matrix", file])).toMatchObject({
      exit: 1,
      err: expect.stringContaining("BASE_NOT_BUILT: x86-64-v2_3.12 and 1 more"),
    });
    const { parents } = await openFleet(file);
    expect(new Set([...parents.values()].map(({ fleet }) => fleet)).size).toBe(1);
  });

  it("has the arguments that are given to both, and none that are its child's alone", async () => {
    const root = fleets();
    const argumentsWith = async (args: Readonly<Record<string, string>>) => {
      const { matrix, parents } = await openFleet(join(root, "app/matrix.yaml"), { args });
      return [matrix, ...[...parents.values()].map(({ fleet }) => fleet.matrix)].map((each) =>
        Object.keys(each.args),
      );
    };
    writeIn(root, "app/Dockerfile.hbs", `${template}ARG BOTH\nARG OWN\nRUN echo $BOTH $OWN\n`);
    writeIn(root, "base/Dockerfile.hbs", `${template}ARG BOTH\nRUN echo $BOTH\n`);
    expect(await argumentsWith({ BOTH: "1" })).toEqual([["BOTH"], ["BOTH"], ["BOTH"]]);
    expect(await argumentsWith({ OWN: "1" })).toEqual([["OWN"], [], []]);
  });

  it("takes the other fleet's registry from the same flag", async () => {
    const ran = await runInProcess([
      ...["plan", "--offline", "--json", "--registry", "other.example.com/x"],
      ...["--matrix", join(fleets(), "app/matrix.yaml")],
    ]);
    expect(JSON.parse(ran.out).cells[0]).toMatchObject({
      tag: null,
      inputDigest: null,
      reason: "follows x86-64-v2 of ../base/matrix.yaml",
      bases: [{ ref: "other.example.com/x/base:x86-64-v2", digest: null }],
    });
  });
});

describe("which cell it is", () => {
  const flavors = "base: scratch\naxes: { march: [x86-64-v2, x86-64-v3], flavor: [devel, run] }\n";
  const march = "axes: { march: [x86-64-v2, x86-64-v3] }\n";

  it("is said by the axes that both have, and a pin for those that only the other has", async () => {
    const root = fleets({
      base: flavors,
      app: `base: { fleet: ../base/matrix.yaml, pin: { flavor: devel } }\n${march}`,
    });
    writeIn(root, "base/Dockerfile.hbs", "FROM scratch\nENV F={{flavor}} M={{march.name}}\n");
    const { cells } = await planOf(root);
    expect(cells.map(({ bases }) => bases[0]?.parent?.cell)).toEqual(["x86-64-v2_devel", "x86-64-v3_devel"]);
  });

  it("is several without the pin, which names the cells and the place", async () => {
    expect(
      await problemsOf(fleets({ base: flavors, app: `base: { fleet: ../base/matrix.yaml }\n${march}` })),
    ).toEqual([
      {
        code: "MATRIX_SCHEMA",
        message:
          "../base/matrix.yaml has 2 cells for x86-64-v2: x86-64-v2_devel, x86-64-v2_run, and so on for 1 more",
        fix: "say which: { fleet: ../base/matrix.yaml, pin: { flavor: devel } }",
        at: expect.objectContaining({
          file: expect.stringMatching(/app\/matrix\.yaml$/),
          line: 5,
          column: 16,
        }),
      },
    ]);
  });

  it("is none where the other lacks the values", async () => {
    const app = "base: { fleet: ../base/matrix.yaml }\naxes: { march: [x86-64-v2, x86-64-v4] }\n";
    expect(await problemsOf(fleets({ app }))).toMatchObject([
      {
        code: "MATRIX_SCHEMA",
        message: "../base/matrix.yaml has no cell for x86-64-v4: march=x86-64-v4, linux/amd64",
        at: { line: 5 },
      },
    ]);
  });

  test.each([
    ["flavour: devel", 'no axis "flavour" to pin', "its axes are march, flavor"],
    ["flavor: dev", 'flavor of ../base/matrix.yaml has no value "dev" to pin', "it has devel, run"],
  ])("is none by the pin %s", async (pin, message, fix) => {
    const app = `base: { fleet: ../base/matrix.yaml, pin: { ${pin} } }\n${march}`;
    expect(await problemsOf(fleets({ base: flavors, app }))).toMatchObject([
      { code: "MATRIX_VALUE_UNKNOWN", message: expect.stringContaining(message), fix },
    ]);
  });

  it("is none that needs more of a host than its child says", async () => {
    const app =
      "base: { fleet: ../base/matrix.yaml, pin: { march: x86-64-v3 } }\naxes: { march: [x86-64-v2, x86-64-v3] }\n";
    expect(await problemsOf(fleets({ app }))).toMatchObject([
      { message: "the base x86-64-v3 of ../base/matrix.yaml needs more of a host than x86-64-v2 declares" },
    ]);
  });

  it("is excluded with its parent", async () => {
    const base =
      "base: scratch\naxes: { march: [x86-64-v2, x86-64-v3] }\nexclude: [{ march: x86-64-v3, reason: nobody wants it }]\n";
    expect(rows((await planOf(fleets({ base }))).cells)).toEqual([
      ["x86-64-v2_3.12", "build", "follows x86-64-v2 of ../base/matrix.yaml", true],
      [
        "x86-64-v3_3.12",
        "excluded",
        "its base x86-64-v3 of ../base/matrix.yaml is excluded: nobody wants it",
        true,
      ],
    ]);
  });

  it("is found by a map: each of 10,000 in a moment", async () => {
    const values = (prefix: string) =>
      Array.from({ length: 100 }, (_, index) => `${prefix}${index}`).join(", ");
    const axes = `axes: { one: [${values("a")}], two: [${values("b")}] }\n`;
    const root = fleets({
      base: `base: scratch\n${axes}`,
      app: `base: { fleet: ../base/matrix.yaml }\n${axes}`,
    });
    const { cells, parents } = await openFleet(join(root, "app/matrix.yaml"));
    expect(cells).toHaveLength(10_000);
    expect(parents.size).toBe(10_000);
    for (const { cell } of cells)
      expect(parents.get(cell.settings.base?.value[""] ?? "")?.cell.id).toBe(cell.id);
  });
});

describe("the order of a workspace", () => {
  it("has each fleet behind those that it is built on", async () => {
    const root = fleets();
    const [app, base] = ["app", "base"].map((name) => join(root, name, "matrix.yaml")) as [string, string];
    expect(await orderFleets([app, base])).toEqual([base, app]);
    expect(await orderFleets([app])).toEqual([app]);
    writeIn(root, "app/matrix.yaml", "no: matrix\n");
    expect(await orderFleets([app, base])).toEqual([app, base]);
    const ran = await runInProcess([
      "plan",
      "--offline",
      "--workspace",
      join(fleets(), "imgmatch.workspace.yaml"),
    ]);
    expect(ran.err.match(/\w+(?=\/matrix\.yaml:)/g)).toEqual(["base", "app"]);
    expect(ran.out).toContain("follows x86-64-v2 of ../base/matrix.yaml");
  });

  it("is none for fleets that are built on each other, alone or together", async () => {
    const root = fleets({ base: "base: { fleet: ../app/matrix.yaml }\naxes: { march: [x86-64-v2] }\n" });
    const circle = {
      code: "MATRIX_SCHEMA",
      message: expect.stringMatching(
        /built on each other: .*app\/matrix\.yaml → .*base\/matrix\.yaml → .*app\/matrix\.yaml$/,
      ),
    };
    expect(await problemsOf(root)).toMatchObject([circle]);
    const files = ["app", "base"].map((name) => join(root, name, "matrix.yaml"));
    await expect(orderFleets(files)).rejects.toMatchObject({ problems: [circle] });
  });

  it("names the place of a fleet that is not there", async () => {
    expect(
      await problemsOf(
        fleets({ app: "base: { fleet: ../bas/matrix.yaml }\naxes: { march: [x86-64-v2] }\n" }),
      ),
    ).toMatchObject([
      {
        code: "MATRIX_NOT_FOUND",
        message: "the fleet ../bas/matrix.yaml cannot be read: no such file",
        at: { line: 5, column: 16 },
      },
    ]);
  });
});
