/** Warns of cells whose march is below what their base image needs: the image starts on no host that the march was chosen for. */

import { findMarch } from "../../hardware/cpu-marches.ts";
import { groupBy } from "../../io/collections.ts";
import { count, firstOf } from "../../io/table.ts";
import { runBaseOf } from "../dockerfile/stages.ts";
import table from "./base-floors.json" with { type: "json" };
import type { PlannedCell } from "./planned-cell.ts";

interface BaseFloor {
  /** For people: `UBI and RHEL 10`. */
  readonly base: string;
  /** `x86-64-v3` */
  readonly level: string;
}

/** A variant for older CPUs says so in its name: `almalinux:10-x86_64_v2`. */
const lowVariant = /(x86[-_]64|amd64)[-_/]?v2([^0-9]|$)/;

/** The floor of a base image, by the name that the image has; null for a name that the table does not know. */
export function floorOfBase(ref: string): BaseFloor | null {
  const [name = ref] = ref.toLowerCase().split("@");
  const found = table.floors.find((row) => new RegExp(row.name).test(name)) ?? null;
  return found !== null && lowVariant.test(name) ? { ...found, level: "x86-64-v2" } : found;
}

/** A line for each base, and nothing of bases whose names tell no floor: a build measures their files. */
export function floorLines(cells: readonly PlannedCell[]): readonly string[] {
  const low = cells.flatMap(({ cell, dockerfile }) => {
    if (dockerfile === null || cell.march.march.architecture !== "amd64") return [];
    const { text, args } = dockerfile;
    const ref = runBaseOf(text, cell.settings.target?.value ?? null, { args, platform: cell.platform });
    const floor = floorOfBase(ref);
    const has = new Set(cell.requires.cpu.features);
    const needed = findMarch(floor?.level ?? "")?.features ?? [];
    return floor === null || needed.every((feature) => has.has(feature)) ? [] : [{ id: cell.id, ref, floor }];
  });
  return [...groupBy(low, ({ ref, floor }) => `${floor.base} needs ${floor.level}, ${ref}`)].map(
    ([why, alike]) => {
      const ids = alike.map(({ id }) => id);
      return `warning: ${why}: the march of ${count(ids.length, "cell")} has less, ${firstOf(ids, 3)}; take that march, declare cpuFloor, or take another base`;
    },
  );
}
