/** The images of a fleet as rows: the needs of each, and its place in the total order. */

import { extendedFeature, hiddenFeatureRows, printedFrom } from "../../hardware/cpu-hidden-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { amdFamilies } from "../../hardware/cpu-models.ts";
import { parseVersion } from "../../hardware/driver-version.ts";
import { gpuClasses } from "../../hardware/gpu-class.ts";
import { type DriverScale, driverScales } from "../../facts/facts.ts";
import { type GpuNeeds, type Side, sidesOf, vendorsOf } from "../../lock/requirement.ts";
import { byVendor, type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { alternativesOf } from "../../lock/alternatives.ts";
import { compareText, remember } from "../../io/collections.ts";
import { featuresBuiltFor } from "../../resolve/built-for.ts";
import { normalizePlatform } from "../../lock/lock.ts";
import { compileOrder } from "./compile-order.ts";
import { amdCodeRow, codeTable, driverGrid, type ScriptNeeds, scriptNeeds } from "./gpu-tables.ts";
import { createInterner, type Interner, requireTables } from "./require-tables.ts";

export interface FleetRows {
  readonly rows: readonly string[];
  /** {@link CompiledOrder.steps} */
  readonly order: string;
  readonly architectures: ReadonlySet<string>;
  readonly hasGpuImages: boolean;
  /** Rows of the CPU features that the kernel does not print. */
  readonly hidden: readonly string[];
  readonly needs: FleetNeeds;
}

/** The optional parts of a script that this fleet needs. */
export interface FleetNeeds {
  /** It has Arm images, so a Jetson may get one. */
  readonly arm: boolean;
  /** An answer depends on the GPU's class: for `compat`, or for its brand. */
  readonly classes: boolean;
  /** NVIDIA_REQUIRE_CUDA may name brands. */
  readonly brands: boolean;
  /** Images have repositories of their own; a row names the repository before the tag. */
  readonly repositories: boolean;
  /** Those of its GPU images. */
  readonly vendors: readonly GpuVendor[];
  /** It needs CPU features that the kernel does not print. */
  readonly hidden: boolean;
}

type Tables = Readonly<Record<GpuVendor, Interner>>;

/** A side as a text, which equal sides share; the rows of the texts, and the letter before the numbers of these. */
const needsRows: {
  readonly [V in GpuVendor]: {
    readonly letter: string;
    readonly texts: (needs: GpuNeeds[V], xnack: boolean) => readonly string[];
    readonly rows: (texts: readonly string[]) => readonly string[];
  };
} = {
  nvidia: {
    letter: "",
    texts: (needs) => scriptNeeds(needs).map((each) => JSON.stringify(each)),
    rows: (texts) => gpuRows(parseTexts(texts)),
  },
  amd: {
    letter: "a",
    texts: (needs, xnack) => [amdCodeRow(needs, xnack)],
    rows: (texts) => texts.map((text) => `A ${text}`),
  },
};

function needsCells<V extends GpuVendor>(
  { vendor, needs }: Side<V>,
  tables: Tables,
  xnack: boolean,
): readonly string[] {
  const { letter, texts } = needsRows[vendor];
  return texts(needs, xnack).map((text) => `${letter}${tables[vendor].numberOf(text)}`);
}

function parseTexts(texts: readonly string[]): readonly ScriptNeeds[] {
  return texts.map((text) => JSON.parse(text) as ScriptNeeds);
}

/**
 * The rows of the built images that the pins leave. Each alternative of an image has a row for each march as which the image may count. Of
 * the rows that fit the host the best rank counts. A row before the images has their shared needs.
 */
export function fleetRows(
  images: readonly (readonly [string, LockedImage])[],
  prefer: Lock["prefer"],
  xnack: boolean,
): FleetRows {
  const offers = images.flatMap(([cell, each]) =>
    alternativesOf(each).flatMap((image) =>
      featuresBuiltFor(image).map(({ features, share }) => ({ cell, image, features, builtFor: share })),
    ),
  );
  const order = compileOrder(offers, prefer);
  const sets = compileFeatureSets(offers.map(({ features }) => features));
  const tables: Tables = byVendor(() => createInterner());
  const groups = new Map<string, string[]>();
  for (const offer of offers) {
    const { image, features } = offer;
    const { requires, repository, tag, digest } = image;
    const name = repository === undefined ? tag : `${repository}:${tag}`;
    const [side] = sidesOf(requires);
    const ranks = order.ranks(offer).split("/");
    const last = ranks.pop();
    for (const needs of side === undefined ? ["-"] : needsCells(side, tables, xnack)) {
      const group = [
        "I",
        normalizePlatform(image.platform),
        sets.numberOf(features),
        kernelOf(requires.kernel),
        needs,
        ranks.map((rank) => `${rank}/`).join(""),
      ].join(" ");
      remember(groups, group, () => []).push(`${last} ${name} ${digest?.slice("sha256:".length)}`);
    }
  }
  const rows = [...groups].flatMap(([group, images]) => [group, ...images]);
  const requirements = parseTexts(tables.nvidia.texts());
  const architectures = new Set(images.map(([, { platform }]) => platform.split("/")[1] ?? ""));
  const hidden = architectures.has("amd64")
    ? [
        ...hiddenRows(new Set(offers.flatMap(({ features }) => features))),
        ...unprintedRows(offers.map(({ features }) => features)),
      ]
    : [];
  const brands = requirements.some(({ require }) => require !== undefined);
  return {
    rows: [
      ...rows,
      ...gpuVendors.flatMap((vendor) => needsRows[vendor].rows(tables[vendor].texts())),
      ...sets.rows.map((row) => `C ${row}`),
    ],
    order: order.keyParts,
    architectures,
    hasGpuImages: requirements.length > 0,
    hidden,
    needs: {
      arm: architectures.has("arm64"),
      classes: brands || requirements.some(({ driver }) => driver.mode === "compat"),
      brands,
      repositories: images.some(([, { repository }]) => repository !== undefined),
      vendors: gpuVendors.filter((vendor) =>
        images.some(([, { requires }]) => vendorsOf(requires).includes(vendor)),
      ),
      hidden: hidden.length > 0,
    },
  };
}

function hiddenRows(needed: ReadonlySet<string>): readonly string[] {
  return hiddenFeatureRows.flatMap(({ vendor, family, models, features }) =>
    features
      .filter((feature) => needed.has(feature))
      .map((feature) => `H ${vendor} ${family} ${models.join(",")} ${extendedFeature(feature)} ${feature}`),
  );
}

/** The features that `inferUnprinted` adds on older kernels, where an image for that march needs them. */
function unprintedRows(needs: readonly (readonly string[])[]): readonly string[] {
  return Object.entries(amdFamilies).flatMap(([family, [name = ""]]) => {
    const features = findMarch(name)?.features ?? [];
    return Object.entries(printedFrom).flatMap(([feature, kernel]) => {
      const others = features.filter((each) => each !== feature);
      const isNeeded = (set: readonly string[]) =>
        set.includes(feature) && set.every((each) => features.includes(each));
      return needs.some(isNeeded)
        ? [`H AuthenticAMD ${family} * ${others.join(",")} ${feature} ${kernel.join(".")}`]
        : [];
    });
  });
}

function kernelOf(kernel: string | undefined): string {
  if (kernel === undefined) return "-";
  // No kernel meets a requirement that is no version.
  return parseVersion(kernel) === null ? "x" : kernel;
}

function gpuRows(requirements: readonly ScriptNeeds[]): readonly string[] {
  const [codes, grids, requires] = [createInterner(), createInterner(), createInterner()];
  const rows = requirements.map((requirement) =>
    [
      "G",
      requirement.targets,
      codes.numberOf(codeTable(requirement)),
      ...driverScales.map((scale) => scaleCell(requirement, scale, grids, requires)),
    ].join(" "),
  );
  return [
    ...rows,
    ...codes.texts().map((text) => `K ${text}`),
    ...requires.texts().map((text) => `Q ${text}`),
    ...grids.texts().map((text) => `D ${text}`),
  ];
}

/** `4,4,5,5,5/0,3,0,3`: grids by class of GPU, then tables by container runtime. Equal numbers are written once. */
function scaleCell(
  requirement: ScriptNeeds,
  scale: DriverScale,
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

/** Sets of CPU features, each written as an earlier set and a few features more. */
interface FeatureSets {
  /** The number of a set, from 1 on; 0 for the empty one. */
  readonly numberOf: (features: readonly string[]) => number;
  /** `2 avx512f avx512bw`: set 2 (0: the empty set) and two features. In the order of their numbers. */
  readonly rows: readonly string[];
}

/** Smaller sets come first: each is based on the largest set that it contains. */
function compileFeatureSets(all: readonly (readonly string[])[]): FeatureSets {
  const keyOf = (features: readonly string[]) => [...new Set(features)].sort().join(" ");
  const keys = [...new Set(all.map(keyOf))].filter((key) => key !== "");
  const sets = keys
    .map((key) => ({ key, features: new Set(key.split(" ")) }))
    .sort((a, b) => a.features.size - b.features.size || compareText(a.key, b.key));
  const rows = sets.map(({ features }, index) => {
    const parent = sets
      .slice(0, index)
      .findLastIndex((other) => [...other.features].every((feature) => features.has(feature)));
    const known = sets[parent]?.features ?? new Set();
    return [parent + 1, ...[...features].filter((feature) => !known.has(feature))].join(" ");
  });
  const numbers = new Map(sets.map(({ key }, index) => [key, index + 1]));
  return { numberOf: (features) => numbers.get(keyOf(features)) ?? 0, rows };
}
