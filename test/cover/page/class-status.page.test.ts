import { describe, expect, it } from "vitest";
import { coverReport } from "../../../src/cover/cover-report.ts";
import { countStatuses, toDoOf } from "../../../src/cover/page/class-status.ts";
import { search, searchedClass } from "../../../src/cover/page/browser/app.ts";
import { teamFleet } from "./support/fleets.ts";

const { fleet, hosts } = teamFleet();
const { classes, counts } = coverReport(fleet, hosts);

describe("what to do", () => {
  it("names everybody who is not served, the worst off first, then the most hosts", () => {
    const entries = toDoOf(classes, ["none", "gpus"]);
    expect(entries.map(({ status, hosts: number }) => [status, number])).toEqual([
      ["none", 4],
      ["none", 3],
      ["gpus", 52],
      ["gpus", 24],
      ["gpus", 11],
    ]);
    const named = entries.flatMap((entry) => entry.classes.flatMap(({ names }) => names));
    expect(named).toHaveLength(counts.unserved + counts.unusedGpus);
  });

  it("is one entry for classes that want the same", () => {
    const [one] = classes.filter(({ match }) => match === null);
    if (one === undefined) throw new Error("everybody is served");
    const entries = toDoOf([one, { ...one, id: "c99", hosts: 7 }], ["none"]);
    expect(entries.map((entry) => [entry.hosts, entry.classes.map(({ id }) => id)])).toEqual([
      [one.hosts + 7, [one.id, "c99"]],
    ]);
  });

  it("counts each host once, as the report does", () => {
    const { none, gpus, near, unknown, native } = countStatuses(classes);
    expect([none, gpus, native, none + gpus + near + unknown + native]).toEqual([
      counts.unserved,
      counts.unusedGpus,
      counts.native,
      counts.hosts,
    ]);
  });
});

describe("the search", () => {
  const rows = classes.map(searchedClass);
  const found = (query: string) => search(rows, query).map(({ id }) => id);

  it("finds by each word, whatever its case: names, GPUs, drivers, reasons", () => {
    expect(found("H100-UPDATED-002")).toEqual(["c15"]);
    expect(found("tesla 470.256")).toEqual(["c8"]);
    expect(found("host_broken")).toEqual(["c15"]);
    expect(found("gpus unused")).toEqual(["c8", "c10", "c12"]);
    expect(found("  ")).toHaveLength(classes.length);
    expect(found("a100 .*")).toEqual([]);
  });
});
