/** Names what an answer meets that no table has: a rule then goes by a floor or by a number alone, and a newer imgmatch may know more. */

import { formatComputeCapability } from "../hardware/compute-capability.ts";
import { findMarch } from "../hardware/cpu-marches.ts";
import { cudaFloor, findToolkit } from "../hardware/cuda-toolkits.ts";
import { findArchitecture } from "../hardware/gpu-architectures.ts";
import { gpuVendors } from "../hardware/gpu-vendors.ts";
import { tablesDate } from "../hardware/tables-date.ts";
import type { HostFacts } from "../facts/facts.ts";
import { note, type World } from "../io/world.ts";
import type { Lock } from "../lock/lock.ts";
import { answerOfSide, type BySide, type Requirement, sidesOf } from "../lock/requirement.ts";
import { answerOfHost, type BySideOfHost, viewHost } from "../resolve/host-view.ts";

/** Those of a fleet's images. */
export function needsOf({ images }: Pick<Lock, "images">): readonly Requirement[] {
  return Object.values(images).map(({ requires }) => requires);
}

/** At most one note: `unlisted: driver branch 630 (CUDA 13.5 or more, by the floor): no table of 2026-11-29 has it`. */
export async function noteUnlisted(
  world: World,
  hosts: readonly HostFacts[],
  needs: readonly Requirement[],
): Promise<void> {
  const found = new Set([...(await Promise.all(hosts.map(ofHost))).flat(), ...needs.flatMap(ofImage)]);
  if (found.size === 0) return;
  const them = found.size > 1 ? "them" : "it";
  note(world, [`unlisted: ${[...found].join(", ")}: no table of ${tablesDate} has ${them}`]);
}

async function ofHost(facts: HostFacts): Promise<readonly string[]> {
  const view = viewHost(facts);
  const sides = await Promise.all(gpuVendors.map((vendor) => answerOfHost(ofSide, vendor, view) ?? []));
  return sides.flat();
}

const ofSide: BySideOfHost<Promise<readonly string[]>> = {
  async nvidia({ driver, driverScale, gpus }) {
    const floor = driverScale === "linux" && driver !== null ? cudaFloor(driver.text) : null;
    return [
      ...(floor === null ? [] : [`driver branch ${driver?.parts[0]} (CUDA ${floor} or more, by the floor)`]),
      ...gpus.flatMap(({ compute, label }) => {
        if (compute === null) return driver === null ? [] : [label];
        return findArchitecture(compute) === null
          ? [`compute capability ${formatComputeCapability(compute)}`]
          : [];
      }),
    ];
  },
  // A table that a node without such a GPU does not wait for.
  async amd({ gpus }) {
    const { findAmdArchitecture } = await import("../hardware/amd-architectures.ts");
    return gpus.flatMap(({ target, label }) =>
      findAmdArchitecture(target ?? "") === null ? [target ?? label] : [],
    );
  },
};

/** In place of a march: of images that nobody compiled for one. */
const noMarch = ["any", "none", "estimated"];

function ofImage(requires: Requirement): readonly string[] {
  const { march } = requires.cpu;
  return [
    ...sidesOf(requires).flatMap((side) => answerOfSide(toolkits, side)),
    ...(findMarch(march) === null && !noMarch.includes(march) ? [`march ${march}`] : []),
  ];
}

const toolkits: BySide<readonly string[]> = {
  nvidia: ({ toolkit, or = [] }) =>
    [toolkit, ...or.map((each) => each.toolkit)]
      .filter((each) => (findToolkit(each)?.stage ?? "unlisted") === "unlisted")
      .map((each) => `CUDA ${each}`),
  // The tables hold targets by release, and no list of releases.
  amd: () => [],
};
