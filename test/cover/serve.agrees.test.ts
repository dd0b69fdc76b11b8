/** The cell that `cover` offers to a class of machines, added to the fleet, serves the class. */

import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { coverReport } from "../../src/cover/cover-report.ts";
import type { NamedHost } from "../../src/facts/named-host.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { driverFloor, findToolkit } from "../../src/hardware/cuda-toolkits.ts";
import { machineCatalogs } from "../../src/hardware/machine-types.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import type { Requirement } from "../../src/lock/requirement.ts";
import { digest, image, lockOf } from "../resolve/support/locks.ts";
import { readHostFiles } from "../support/read-hosts.ts";

type Axes = Readonly<Record<string, string>>;

/** Any release will do: no table says which of them compile for a target. */
const rocm = "6.4";

const noLists = (text: string) => text.replace(/^\[|\]$/g, "").split(", ");

function requiresOf({ cuda, accel = `cuda-${cuda}`, compute = "", march = "" }: Axes): Requirement {
  const cpu = { march, features: findMarch(march)?.features ?? [] };
  const [vendor, version = ""] = accel === "none" || cuda === "none" ? ["none"] : accel.split(/-(.*)/);
  if (vendor === "none") return { cpu, cuda: null };
  if (vendor === "rocm") return { cpu, cuda: null, rocm: { release: rocm, code: noLists(compute) } };
  const toolkit = findToolkit(version);
  const minimum = (toolkit && driverFloor(toolkit)?.minimum) ?? "";
  const code = noLists(compute).map((each) => `sm_${each.replace(".", "")}`);
  return { cpu, cuda: { toolkit: toolkit?.release ?? "", code, driver: { mode: "host", minimum } } };
}

function cellOf(axes: Axes, platform = "linux/amd64"): LockedImage {
  return image({ axes, platform, digest, tag: Object.values(axes).join("_"), requires: requiresOf(axes) });
}

const marches = fc.constantFrom("x86-64", "x86-64-v2", "x86-64-v3");

const cells = (axis: "cuda" | "accel") => {
  const nvidia = fc.record({
    [axis]: fc
      .constantFrom("11.8.0", "12.8.1", "13.0.2")
      .map((each) => (axis === "accel" ? `cuda-${each}` : each)),
    compute: fc.constantFrom("7.5", "8.0", "8.9", "9.0", "10.0"),
    march: marches,
  });
  const none = fc.record({ [axis]: fc.constant("none"), march: marches });
  const amd = fc.record({
    accel: fc.constant(`rocm-${rocm}`),
    compute: fc.constantFrom("gfx90a", "gfx942"),
    march: marches,
  });
  const all: fc.Arbitrary<Axes>[] = axis === "accel" ? [nvidia, none, amd] : [nvidia, none];
  return fc.array(fc.oneof(...all), { minLength: 1, maxLength: 5 });
};

/** `add a cell cuda=13.0 compute=[8.0, 9.0] march=x86-64-v3` */
const offer = /^add a cell (?:(cuda|accel)=(\S+) )(?:compute=(\[.*?\]|\S+) )?march=(\S+)/;

describe("the cell that is offered to a class of machines", () => {
  let machines: readonly NamedHost[];
  beforeAll(async () => {
    const driver = ["nvidia=580.95.05", "amd=6.14.14"];
    machines = await readHostFiles([], () => "", { catalog: machineCatalogs, driver });
  });

  it("serves the class once the fleet has it, in fleets of both vendors", { timeout: 60_000 }, () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.constantFrom("cuda" as const, "accel" as const).chain(cells),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        (fleet, drawn) => {
          const images = Object.fromEntries(fleet.map((axes, at) => [`cell-${at}`, cellOf(axes)]));
          const hosts = [...new Set(drawn.map((at) => at % machines.length))].flatMap(
            (at) => machines[at] ?? [],
          );
          const before = coverReport({ from: "lock", lock: lockOf(images) }, hosts);
          for (const { names, serve, match, unusedGpus } of before.classes) {
            const [, axis, value = "", compute, march = ""] = offer.exec(serve ?? "") ?? [];
            if (axis === undefined || (match !== null && !unusedGpus)) continue;
            const own = hosts.filter(({ name }) => names.includes(name));
            const axes = { [axis]: value, ...(compute !== undefined && { compute }), march };
            const offered = cellOf(axes, own[0]?.facts.platform);
            const after = coverReport({ from: "lock", lock: lockOf({ ...images, offered }) }, own);
            expect(
              after.classes.map((each) => [each.match?.cell, each.unusedGpus]),
              serve ?? "",
            ).toEqual([["offered", false]]);
            const kind = value.replace(/-.*/, "");
            const named = axis === "cuda" && value !== "none" ? "cuda" : kind;
            seen.set(named, (seen.get(named) ?? 0) + 1);
          }
        },
      ),
      { numRuns: 200 },
    );
    for (const kind of ["cuda", "rocm"]) expect(seen.get(kind) ?? 0, kind).toBeGreaterThan(0);
  });
});
