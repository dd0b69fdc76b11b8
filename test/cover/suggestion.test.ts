import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { compareCovers } from "../../src/cover/compare-covers.ts";
import { coverClasses } from "../../src/cover/cover-classes.ts";
import { classifyHosts } from "../../src/resolve/host-classes.ts";
import { plannedFleet } from "../../src/cover/cover-fleet.ts";
import { type CoverReport, coverReport } from "../../src/cover/cover-report.ts";
import { expandMatrix } from "../../src/fleet/cells/expand.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { suggestedMatrix } from "../../src/cover/suggested-matrix.ts";
import { withCells } from "../../src/fleet/matrix/with-cells.ts";
import { demo, matrix, text } from "./support/demo.ts";
import { fixtureHosts } from "./support/machines.ts";

const hosts = fixtureHosts();
const written = ({ suggestion }: CoverReport, source = text, from = matrix) =>
  suggestedMatrix(from.file, { matrix: from, text: source }, suggestion ?? expect.fail("no suggestion"));

it("a matrix of two vendors keeps just the cells that are named", () => {
  const two = `name: app
version: "1"
registry: registry.example.com/team
template: Dockerfile
axes:
  accel: [none, { cuda: "12.8.1" }, { rocm: "7.2" }, vulkan]
  compute: ["8.0", "9.0", gfx942, gfx90a]
  march: [x86-64-v2, x86-64-v3]
`;
  const wanted = [
    { accel: "none", compute: "none", march: "x86-64-v2" },
    { accel: "cuda-12.8.1", compute: "9.0", march: "x86-64-v3" },
    { accel: "rocm-7.2", compute: "gfx942", march: "x86-64-v3" },
    { accel: "rocm-7.2", compute: "gfx950", march: "x86-64-v3" },
  ];
  const edited = withCells(
    two,
    parseMatrix(two, "m"),
    wanted.map((axes) => ({ axes, reason: "hosts" })),
    () => false,
  );
  const left = expandMatrix(parseMatrix(edited, "m")).filter(({ skipped }) => skipped === null);
  expect(left.map(({ cell }) => cell.axes)).toEqual(wanted);
});

describe("the suggestion for machines of every state and the demo's matrix", () => {
  let report: CoverReport;
  beforeAll(() => {
    report = coverReport(demo, hosts, { suggest: { matrix } });
  });

  it("is a matrix whose plan has just these cells, on the demo's base images", () => {
    const edited = written(report);
    const plan = plannedFleet(parseMatrix(edited, "matrix.yaml"));
    expect(Object.keys(plan.lock.images).sort()).toEqual(report.suggestion?.cells.map(({ cell }) => cell));
    expect(edited).toContain("# One template for all images");
    expect(edited).toContain('base: { build: "nvidia/cuda:12.8.1-devel-ubuntu24.04"');
  });

  it("gives every class native code that any cell could give, as resolve answers", () => {
    const plan = plannedFleet(parseMatrix(written(report), "matrix.yaml"));
    const after = coverReport(plan, hosts);
    const classOf = new Map(after.classes.flatMap((each) => each.names.map((name) => [name, each])));
    const beyond = new Set(report.suggestion?.beyond);
    let native = 0;
    for (const { id, names } of report.classes) {
      for (const name of names) {
        const match = classOf.get(name)?.match;
        const gets = report.suggestion?.cells.find(({ classes }) => classes.includes(id));
        expect([name, match?.cell]).toEqual([name, gets?.cell]);
        const nothing = report.suggestion?.nothing.includes(id);
        expect([name, match == null]).toEqual([name, nothing]);
        if (beyond.has(id) || nothing) continue;
        expect([name, match?.native]).toEqual([name, true]);
        native++;
      }
    }
    expect(report.suggestion?.native).toBe(native);
    expect(native).toBeGreaterThan(report.counts.native);
    // Of marches and compute capabilities that the demo's matrix does not have.
    for (const [name, cell] of [
      ["ubuntu2404-sapphirerapids-h100", "12.8.1_9.0a_sapphirerapids"],
      ["arch-zen5-rtx5090", "13.0.2_12.0_znver5"],
      ["rhel9-power10-none", "none_power10"],
    ] as const)
      expect(classOf.get(name)?.match).toMatchObject({ cell, native: true });
  });

  it("is proved, and leaves no class worse off than the demo's own cells do", () => {
    const { proof, proved } = report.suggestion ?? {};
    expect([proved, proof]).toEqual([
      true,
      expect.stringMatching(/no cell has the best code for two of|excluded by branch and bound/),
    ]);
    const images = plannedFleet(parseMatrix(written(report), "matrix.yaml")).lock.images;
    const before = coverClasses(demo, classifyHosts(hosts, [demo.lock, { images }]));
    const after = coverClasses(
      { ...demo, lock: { ...demo.lock, images } },
      classifyHosts(hosts, [demo.lock, { images }]),
    );
    expect(compareCovers(before, after).filter(({ kind }) => kind === "worse" || kind === "loses")).toEqual(
      [],
    );
  });

  it("of so many cells takes those with which most hosts get native code", () => {
    const of = (most: number) =>
      coverReport(demo, hosts.slice(0, 30), { suggest: { matrix, most } }).suggestion;
    const [one, three] = [of(1), of(3)];
    expect(one?.cells).toHaveLength(1);
    expect(three?.cells.length).toBeLessThanOrEqual(3);
    expect(three?.native).toBeGreaterThan(one?.native ?? 99);
    expect([one?.proved, three?.proved]).toEqual([true, true]);
  });
});

it("keeps free axes whole", () => {
  const file = "docs/examples/vision/matrix.yaml";
  const vision = readFileSync(file, "utf8");
  const parsed = parseMatrix(vision, file);
  const report = coverReport(plannedFleet(parsed), hosts, { suggest: { matrix: parsed } });
  const text = written(report, vision, parsed);
  const plan = plannedFleet(parseMatrix(text, file));
  const cells = report.suggestion?.cells ?? [];
  // Its exclude says that GPU nodes have left Python 3.11.
  const expected = cells.flatMap(({ axes }) =>
    (axes.cuda === "none" ? ["3.11", "3.12"] : ["3.12"]).map((python) => ({ ...axes, python })),
  );
  // What the team excludes stays, with its reason, and stands before the rules of the suggestion.
  const [rules = ""] = text.split("# The cells that are left").slice(0, 1);
  for (const reason of vision.match(/reason: .*?(?= *[}\n])/g) ?? expect.fail("no exclude"))
    expect(rules).toContain(reason);
  expect(rules.match(/no host needs it/g)?.length).toBeLessThanOrEqual(12);
  const bounded = (most: number) =>
    coverReport(plannedFleet(parsed), hosts, { suggest: { matrix: parsed, most } }).suggestion?.cells ?? [];
  expect(bounded(5).reduce((sum, { every }) => sum + every.length, 0)).toBeLessThanOrEqual(5);
  expect(() => bounded(1)).toThrow("a cell makes 2 images");
  const order = (all: readonly object[]) =>
    all.map((each) => JSON.stringify(Object.entries(each).sort())).sort();
  expect(order(Object.values(plan.lock.images).map(({ axes }) => axes))).toEqual(order(expected));
  expect(
    cells.some(({ axes }) => axes.cuda === "none") && cells.some(({ axes }) => axes.cuda !== "none"),
  ).toBe(true);
});
