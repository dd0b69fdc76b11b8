/** The total order in numbers: what the lock alone decides becomes ranks, what a host decides stays open. */

import { InternalError } from "../../errors.ts";
import type { ComputeCapability } from "../../hardware/compute-capability.ts";
import { parseCudaVersion, parseDriverVersion } from "../../hardware/driver-version.ts";
import type { GpuClass } from "../../hardware/gpu-class.ts";
import type { Lock } from "../../lock/lock.ts";
import { compatAdds, type CompatView, type HostView, type NvidiaView } from "../../resolve/host-view.ts";
import { compareKeys, type OrderStep, type Placed, type SortKey } from "../../resolve/order-steps.ts";
import { orderBy } from "../../resolve/rank.ts";
import { tiers } from "../../resolve/verdict.ts";

export interface CompiledOrder {
  /** How an image's key is joined: `1 C 2 U 3` is the first column of ranks, the code, a column, the unused targets, a column. */
  readonly steps: string;
  /** `3/0,4,9/12`: the ranks of an offer by column; three of them where the tier matters. */
  readonly ranks: (offer: Offer) => string;
}

/** An image as built for so much of a host's CPU. */
export type Offer = Omit<Placed, "tier">;

const onHost = { "worst code": "C", "used targets": "U" } as const satisfies Partial<
  Record<OrderStep["of"], string>
>;

type ImageStep = OrderStep & { readonly of: "image" };

export function compileOrder(offers: readonly Offer[], prefer: Lock["prefer"]): CompiledOrder {
  const runs: ImageStep[][] = [];
  const steps: (string | number)[] = [];
  for (const step of orderBy(prefer)) {
    if (step.of !== "image") steps.push(onHost[step.of]);
    else if (typeof steps.at(-1) === "number") runs.at(-1)?.push(step);
    else steps.push(runs.push([step]));
  }
  const columns = runs.map((run) => denseRanks(offers, run));
  return {
    steps: steps.join(" "),
    ranks: (offer) => columns.map((byOffer) => byOffer.get(offer)).join("/"),
  };
}

/** Equal images share a rank, so that the next step decides between them. */
function denseRanks(offers: readonly Offer[], run: readonly ImageStep[]): ReadonlyMap<Offer, string> {
  const placed = offers.flatMap((offer) =>
    tiers.map((tier) => ({
      offer,
      keys: run.map((step) => step.key({ ...offer, tier } satisfies Placed)),
    })),
  );
  const sorted = [...placed].sort((a, b) => compareAll(a.keys, b.keys));
  const ranks = new Map<(typeof placed)[number], number>();
  for (const [index, each] of sorted.entries()) {
    const before = sorted[index - 1];
    const rank = before === undefined ? 0 : (ranks.get(before) ?? 0);
    ranks.set(each, before !== undefined && compareAll(before.keys, each.keys) !== 0 ? rank + 1 : rank);
  }
  const byOffer = new Map<Offer, number[]>();
  for (const each of placed)
    byOffer.set(each.offer, [...(byOffer.get(each.offer) ?? []), ranks.get(each) ?? 0]);
  return new Map(
    [...byOffer].map(([offer, list]) => [offer, new Set(list).size === 1 ? String(list[0]) : list.join(",")]),
  );
}

function compareAll(a: readonly SortKey[], b: readonly SortKey[]): number {
  for (const [index, key] of a.entries()) {
    const difference = compareKeys(key, b[index] ?? []);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A key of the code as one number of four digits: the place of its kind, and its distance. Throws for a key of another form. */
export function codeNumber([kind, distance = 0, ...more]: SortKey): number {
  const known = isDigit(kind, 9) && isDigit(distance, 999) && more.length === 0;
  if (!known)
    throw new InternalError("the order's key of GPU code has another form than the exported script's");
  return 1000 * kind + distance;
}

function isDigit(part: number | string | undefined, most: number): part is number {
  return typeof part === "number" && Number.isInteger(part) && part >= 0 && part <= most;
}

/** In the order of the tables. */
export const gpuClasses = [
  "datacenter",
  "workstation",
  "geforce",
  "tegra",
  "unknown",
] as const satisfies readonly GpuClass[];

export const scales = ["linux", "wsl", "l4t"] as const satisfies readonly NvidiaView["scale"][];

interface SyntheticGpu {
  readonly scale: NvidiaView["scale"];
  readonly module?: NvidiaView["module"];
  readonly class?: GpuClass;
  readonly compute?: ComputeCapability | null;
  readonly brand?: string | null;
  readonly compat?: CompatView;
}

/** All that may become of a compatibility package on a host: a script cannot see which. */
export const compatViews: readonly CompatView[] = [...compatAdds, null].flatMap((adds) =>
  [true, false].map((hostFirst) => ({ adds, hostFirst })),
);

export function nvidiaView(driver: string, cuda: string | null, gpu: SyntheticGpu): NvidiaView {
  return {
    driver: parseDriverVersion(driver),
    driverText: driver,
    module: gpu.module ?? null,
    cuda: cuda === null ? null : parseCudaVersion(cuda),
    scale: gpu.scale,
    compat: gpu.compat ?? { adds: null, hostFirst: null },
    gpus: [
      {
        label: "GPU 0",
        compute: gpu.compute ?? null,
        class: gpu.class ?? "datacenter",
        brand: gpu.brand ?? null,
      },
    ],
  };
}

export function hostView(nvidia: NvidiaView | null, change: Partial<HostView> = {}): HostView {
  return {
    platform: "linux/amd64",
    kernel: null,
    cpu: { model: null, level: null },
    features: null,
    unknown: new Set(),
    nvidia,
    amd: null,
    runtime: null,
    untold: { nvidia: [], amd: [] },
    broken: [],
    others: [],
    ...change,
  };
}
