/** Images as rows: what each needs, by numbers of tables, and its place in the total order. */

import { parseVersion } from "../../hardware/driver-version.ts";
import type { CudaRequirement, Lock, LockedImage } from "../../lock/lock.ts";
import { featuresBuiltFor } from "../../resolve/built-for.ts";
import { normalizePlatform } from "../../resolve/host-view.ts";
import { compileOrder } from "./compile-order.ts";
import { compileFeatureSets } from "./feature-sets.ts";
import { codeTable, driverGrid } from "./gpu-tables.ts";
import { createInterner, type Interner } from "./interner.ts";
import { requireTables } from "./require-tables.ts";
import { gpuClasses, scales } from "./synthetic-host.ts";

export interface FleetRows {
  readonly rows: readonly string[];
  /** See `compileOrder`. */
  readonly order: string;
  readonly images: number;
  readonly architectures: ReadonlySet<string>;
  readonly features: ReadonlySet<string>;
  readonly hasGpuImages: boolean;
  readonly needsClass: boolean;
  readonly needsBrand: boolean;
}

/**
 * The rows of the images that a host may get: built, and as the pins ask. An image has a row for each part of its march that it
 * may count as built for; the rank of the largest that the host has is the best. What images share stands in a row before them.
 */
export function fleetRows(
  images: readonly (readonly [string, LockedImage])[],
  prefer: Lock["prefer"],
): FleetRows {
  const offers = images.flatMap(([cell, image]) =>
    featuresBuiltFor(image).map(({ features, share }) => ({ cell, image, features, builtFor: share })),
  );
  const order = compileOrder(offers, prefer);
  const sets = compileFeatureSets(offers.map(({ features }) => features));
  const gpus = createInterner();
  const groups = new Map<string, string[]>();
  for (const offer of offers) {
    const { image, features } = offer;
    const { requires, tag, digest } = image;
    const cuda = requires.cuda === null ? "-" : gpus.numberOf(JSON.stringify(gpuPart(requires.cuda)));
    const ranks = order.ranks(offer).split("/");
    const last = ranks.pop();
    const group = [
      "I",
      normalizePlatform(image.platform),
      sets.numberOf(features),
      kernelOf(requires.kernel),
      cuda,
      ranks.map((rank) => `${rank}/`).join(""),
    ].join(" ");
    const rows = groups.get(group) ?? [];
    groups.set(group, rows);
    rows.push(`${last} ${tag} ${digest?.slice("sha256:".length)}`);
  }
  const rows = [...groups].flatMap(([group, images]) => [group, ...images]);
  const requirements = gpus.texts().map((text) => JSON.parse(text) as CudaRequirement);
  return {
    rows: [...rows, ...gpuRows(requirements), ...sets.rows.map((row) => `C ${row}`)],
    order: order.steps,
    images: images.length,
    architectures: new Set(images.map(([, { platform }]) => platform.split("/")[1] ?? "")),
    features: new Set(offers.flatMap(({ features }) => features)),
    hasGpuImages: requirements.length > 0,
    needsClass: requirements.some(({ driver }) => driver.mode === "compat"),
    needsBrand: requirements.some(({ require }) => require !== undefined),
  };
}

/** Only what the rules ask, so that equal needs share their tables. */
function gpuPart({ toolkit, code, driver, require }: CudaRequirement): CudaRequirement {
  return { toolkit, code, driver, ...(require === undefined ? {} : { require }) };
}

function kernelOf(kernel: string | undefined): string {
  if (kernel === undefined) return "-";
  // A requirement that is no version is met by no kernel.
  return parseVersion(kernel) === null ? "x" : kernel;
}

function gpuRows(requirements: readonly CudaRequirement[]): readonly string[] {
  const [codes, grids, requires] = [createInterner(), createInterner(), createInterner()];
  const rows = requirements.map((requirement) =>
    [
      "G",
      new Set(requirement.code).size,
      codes.numberOf(codeTable(requirement)),
      ...scales.map((scale) => scaleCell(requirement, scale, grids, requires)),
    ].join(" "),
  );
  return [
    ...rows,
    ...codes.texts().map((text) => `K ${text}`),
    ...requires.texts().map((text) => `Q ${text}`),
    ...grids.texts().map((text) => `D ${text}`),
  ];
}

/** `4,4,5,5,5/0,3,0,3`: grids by class of GPU, then tables by container runtime; one number where all are the same. */
function scaleCell(
  requirement: CudaRequirement,
  scale: (typeof scales)[number],
  grids: Interner,
  requires: Interner,
): string {
  const byClass = gpuClasses.map((each) => grids.numberOf(driverGrid(requirement, scale, each))).join(",");
  return `${shortened(byClass)}/${shortened(requireTables(requirement, scale, grids, requires))}`;
}

function shortened(list: string): string {
  const [first = "", ...others] = list.split(",");
  return others.every((each) => each === first) ? first : list;
}
