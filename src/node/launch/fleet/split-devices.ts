/** Splits nodes and their devices among the images of a lock, as resolve would, for drivers that publish devices (DRA). */

import { amdArchitectures } from "../../../hardware/amd-architectures.ts";
import { type GpuVendor, hasGpuCode, vendorsOf } from "../../../hardware/requirement.ts";
import { groupBy } from "../../../io/collections.ts";
import type { Lock, LockedImage } from "../../../lock/lock.ts";
import type { ResolveImageOptions } from "../../../resolve/resolve-image.ts";
import { keys, knownComputes, resolvedLabel } from "../labels/vocabulary.ts";
import { unsupported } from "../unsupported.ts";
import { assign, coverNode, divide, type Node, never } from "./decision-diagrams.ts";
import {
  amdKey,
  type Condition,
  type Conditions,
  createConditions,
  isOfDevice,
  label,
  possibleNodes,
} from "./node-conditions.ts";
import {
  eligibleImages,
  type FleetMember,
  cellsBut,
  type Term,
  termOf,
  termsOf,
  winnersOf,
} from "./split-nodes.ts";

/** The GPUs that an image serves under the same drivers. */
export interface ServedGpus {
  readonly vendor: GpuVendor;
  /** Compute capabilities, or gfx targets. */
  readonly kinds: readonly string[];
  /** Alternatives in the versions of driver and CUDA. */
  readonly drivers: readonly Term[];
}

/** Nodes on which an image serves the same devices. */
export interface DeviceMember extends FleetMember {
  /** Empty for an image without GPU code. */
  readonly serves: readonly ServedGpus[];
}

interface Kind {
  readonly vendor: GpuVendor;
  readonly name: string;
  readonly key: string;
}

const allKinds: readonly Kind[] = [
  ...knownComputes.flat().map((name): Kind => ({ vendor: "nvidia", name, key: keys.compute(name) })),
  ...amdArchitectures.map(({ name }): Kind => ({ vendor: "amd", name, key: amdKey(name) })),
];

/**
 * Splits all devices among the images of a lock: a container with devices of one kind runs the image that `resolveImage` picks for its node
 * with only these devices. Images without GPU code go by the node's labels. Throws as `splitNodes`, but not for AMD.
 */
export function splitDevices(lock: Lock, options: ResolveImageOptions = {}) {
  const conditions = createConditions({ devicesLast: true });
  const images = eligibleImages(lock, options);
  const { winners, possible } = winnersOf(lock, images, conditions, options);
  const someAmd = images.some(({ image }) => vendorsOf(image.requires).includes("amd"));
  const members = winners.flatMap(({ cell, image, wins }): readonly DeviceMember[] => {
    if (hasGpuCode(image.requires)) return devicesOf({ cell, image, wins }, possible, conditions);
    const member = { cell, image, disjointTerms: () => null, serves: [] };
    if (!someAmd) return [{ ...member, terms: termsOf(wins, possible, conditions) }];
    // No label says that a node has no AMD GPU, so this asks for the label of the resolved image.
    const { key, value } = resolvedLabel(lock.name, image.tag);
    return [{ ...member, terms: [[{ key, operator: "In", values: [value] }]] }];
  });
  const shadowed = cellsBut(images, members);
  const unpublished = images.find(({ cell, image: { requires } }) => {
    const { code = [] } = requires.rocm ?? {};
    return shadowed.includes(cell) && code.length > 0 && code.every((target) => target.includes("sramecc"));
  });
  if (unpublished === undefined) return { members, shadowed };
  throw unsupported(
    "kubernetes",
    `claim GPUs for ${unpublished.cell}: gpu.amd.com does not publish sramecc, and its code is ${unpublished.image.requires.rocm?.code.join(", ")}`,
    "leave that image out with --pin, or build it for the target without sramecc",
  );
}

function devicesOf(
  { cell, image, wins }: { readonly cell: string; readonly image: LockedImage; readonly wins: Node },
  possible: Node,
  conditions: Conditions,
): readonly DeviceMember[] {
  const { and, or, not, of, byVariable } = conditions;
  // The DRA drivers run on Linux itself, so other scales of driver versions are out.
  const elsewhere = [...byVariable.values()].filter(({ key }) => key === keys.driverScale).map(of);
  const onDevices = or(
    ...allKinds.map((kind) => {
      const alone = assign(conditions, wins, (variable) => factOf(byVariable.get(variable), kind));
      return alone === never ? never : and(of(label.exists(kind.key)), alone);
    }),
  );
  const isOfNode = (variable: string) => {
    const condition = byVariable.get(variable);
    return condition !== undefined && !isOfDevice(condition);
  };
  return [...divide(conditions, and(onDevices, not(or(...elsewhere))), isOfNode)].flatMap(
    ([devices, nodes]) => {
      if (devices === never || nodes === never) return [];
      const terms = termsOf(nodes, possible, conditions);
      return [{ cell, image, terms, disjointTerms: () => null, serves: servedBy(devices, conditions) }];
    },
  );
}

/** Tells whether a condition holds in a container with only this kind of GPU; undefined if that depends on more. */
function factOf(condition: Condition | undefined, { vendor, key }: Kind): boolean | undefined {
  if (condition === undefined) return undefined;
  if (condition.key === keys.gpuUsable) return vendor === "nvidia";
  // A published GPU is known.
  if (condition.key === keys.gpuUnknown) return false;
  if (!isOfDevice(condition)) return undefined;
  if (condition.kind === "atLeast") return vendor === "amd" ? false : isPublished(condition) || undefined;
  return condition.key === key;
}

/** A published driver has a CUDA version. */
function isPublished(condition: Extract<Condition, { readonly kind: "atLeast" }>): boolean {
  return condition.key === keys.cudaNumber && condition.number <= 1;
}

function servedBy(devices: Node, conditions: Conditions): readonly ServedGpus[] {
  const { byVariable, or, not } = conditions;
  const versions = [...byVariable].filter(([, each]) => each.kind === "atLeast" && isOfDevice(each));
  const possible = possibleNodes({ ...conditions, byVariable: new Map(versions) });
  const served = allKinds.flatMap((kind) => {
    const when = assign(conditions, devices, (variable) => factOf(byVariable.get(variable), kind));
    return when === never ? [] : [{ ...kind, when }];
  });
  return [...groupBy(served, ({ vendor, when }) => `${vendor} ${when}`).values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const cubes = coverNode(conditions, first.when, or(first.when, not(possible)));
    return [
      {
        vendor: first.vendor,
        kinds: alike.map(({ name }) => name),
        drivers: cubes.map((cube) => termOf(cube, conditions)),
      },
    ];
  });
}
