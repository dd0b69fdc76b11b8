/** Writes the guard of an image: the exported script's program with one cell's row, which asks the host from inside a container. */

import { isPtx } from "../../hardware/gpu-target.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { levelsOf } from "../../hardware/cpu-levels.ts";
import { InternalError } from "../../errors.ts";
import type { BySide, CudaRequirement, GpuNeeds, Requirement } from "../../lock/requirement.ts";
import { answerOfSide, sidesOf, withSide } from "../../lock/requirement.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import { fleetRows } from "./image-rows.ts";
import { programOf, rowsOf } from "./fleet-script.ts";
import { compact } from "./program-text.ts";

/** What the text of a guard is made of, besides the tables. */
export interface GuardedCell {
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly repository: string;
  readonly requires: Requirement;
}

/**
 * Writes the program that asks the host and then becomes the program behind it. Equal cells give equal bytes: neither a version
 * nor another image of the fleet stands in the text.
 *
 * @example
 * await guardScript({ axes: { march: "x86-64-v3" }, platform: "linux/amd64", repository, requires });
 */
export async function guardScript({ axes, platform, repository, requires }: GuardedCell): Promise<string> {
  const [side] = sidesOf(requires);
  const asked = side === undefined ? { needs: "", code: "", side: null } : answerOfSide(askedOf, side);
  const digest = `sha256:${"0".repeat(64)}` as const;
  const { needs, ...fleet } = fleetRows(
    [
      [
        "cell",
        {
          ...{ axes, platform, requires: withSide(requires, asked.side), tag: "cell", digest },
          ...{ inputDigest: digest, bases: [], builder: "", created: null, size: null },
        },
      ],
    ],
    undefined,
    false,
  );
  // A card that the driver does not drive is not in its list, and the parts of a Jetson are hidden in a container.
  const lean = { ...fleet, hasGpuImages: false, needs: { ...needs, arm: false } };
  const accel = "accel" in axes ? "accel" : "cuda";
  const words = {
    ...{ accel, driver: plain(asked.needs), code: plain(asked.code) },
    prefix: plain(/^[a-z]+-/.exec(axes[accel] ?? "")?.[0] ?? ""),
    axes: Object.entries(axes)
      .map((pair) => pair.map(plain).join("="))
      .join(","),
    levels: levelWords(platform.split("/")[1] ?? ""),
    // Those of the exported script.
    ...{ version: "", title: "", lockdigest: "", seconds: "" },
  };
  const parts = { cpuonly: false, script: false, guard: true };
  const { awk, part } = programOf(lean, plain(repository), { words, parts, pinned: false });
  const rows = (await rowsOf(lean)).join("\n");
  if (rows.includes("'")) throw new InternalError("the tables would end at their own quote");
  const program = part("guard.sh", { facts: part("start.sh"), rows, awk });
  return `#!/bin/sh\n${compact(program)}\n`;
}

/** No character that sh, awk or JSON reads. */
function plain(text: string): string {
  return text.replace(/[^\w.+:/ <>=()@-]/g, "?");
}

interface AskedSide {
  /** What the image needs of the driver, and the code that it has, in words. */
  readonly needs: string;
  readonly code: string;
  /** The container runtime has judged NVIDIA_REQUIRE_CUDA before. */
  readonly side: {
    readonly [V in GpuVendor]: { readonly vendor: V; readonly needs: GpuNeeds[V] };
  }[GpuVendor];
}

const askedOf: BySide<AskedSide> = {
  nvidia: ({ require: _, ...needs }) => ({
    needs: driverWords(needs),
    code: `code for ${needs.code.join(" ")}`,
    side: { vendor: "nvidia", needs },
  }),
  amd: (needs) => ({
    needs: `ROCm ${needs.release}`,
    code: `code for ${needs.code.join(" ")}`,
    side: { vendor: "amd", needs },
  }),
};

function driverWords({ toolkit, driver, code }: CudaRequirement): string {
  switch (driver.mode) {
    case "host":
      return `driver ${driver.minimum} or newer${code.some(isPtx) ? ` (its PTX: CUDA ${toolkit})` : ""}`;
    case "bundled":
      return `driver ${driver.version} exactly`;
    case "compat":
      return `CUDA ${driver.cuda}, or a driver of branch ${driver.branches.join(" ")}`;
  }
}

/** `x86-64;x86-64-v2 cx16 …`: each generic level with what it adds. */
function levelWords(architecture: string): string {
  const [lowest = "", ...higher] = levelsOf(architecture);
  const below = new Set(findMarch(lowest)?.features);
  const texts = higher.map((name) => {
    const added = (findMarch(name)?.features ?? []).filter((feature) => !below.has(feature));
    for (const feature of added) below.add(feature);
    return [name, ...added].join(" ");
  });
  return [lowest, ...texts].join(";");
}
