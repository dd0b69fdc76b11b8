/** Finds what hosts lose where a channel moves from the images of one fleet to those of another. */

import type { NamedHost } from "../../facts/named-host.ts";
import { genericOf, spirvTarget } from "../../hardware/amd-generics.ts";
import { isDroppedBy } from "../../hardware/gpu-architectures.ts";
import { targetRunsOn } from "../../hardware/gpu-target.ts";
import { parseCudaCode } from "../../hardware/ptx-versions.ts";
import { toolkitNames } from "../../hardware/gpu-vendors.ts";
import { groupBy } from "../../io/collections.ts";
import { count, firstOf } from "../../io/table.ts";
import { alternativesOf } from "../../lock/alternatives.ts";
import { hardwareAxes, type Lock, type LockedImage, normalizePlatform } from "../../lock/lock.ts";
import { neededRequirement } from "../../lock/needed-requirement.ts";
import { answerOfSide, type BySide, releaseOf, type Side, sidesOf } from "../../lock/requirement.ts";
import { classifyHosts } from "../../resolve/host-classes.ts";
import { rankImages } from "../../resolve/resolve-image.ts";

/** The values of the free axes among which a user of the channel has to choose. Empty where there is no choice. */
type Served = Readonly<Record<string, string>>;

interface Loss {
  readonly words: string;
  readonly served: Served;
  /** What loses in the same words: hosts, or marches. */
  readonly by: readonly string[];
}

/**
 * A line for each loss of hosts, for each choice of free axes that the channel serves now. Without hosts, it compares what the images are for:
 * somebody who runs CUDA 12 from the channel must not find CUDA 13 there, and a card or a CPU that it serves must not find nothing.
 */
export function channelLosses(before: Lock, after: Lock, hosts: readonly NamedHost[]): readonly string[] {
  const choices = choicesOf(before);
  const kept = choices.filter((served) => imagesOf(after, served).length > 0);
  const lost = choices.filter((served) => !kept.includes(served));
  const gone = lost.map((served) => `it has images with ${choiceText(served)}, and would have none`);
  const losses =
    hosts.length === 0 ? lossesOfKinds(before, after, kept) : lossesOfHosts(before, after, kept, hosts);
  const lines = [...groupBy(losses, ({ words, by }) => JSON.stringify([words, by]))].map(([, alike]) => {
    const [{ words, by } = { words: "", by: [] }] = alike;
    // What every choice loses needs no word about choices.
    const which =
      alike.length === choices.length
        ? ""
        : ` with ${alike.map(({ served }) => choiceText(served)).join("; ")}`;
    return hosts.length === 0
      ? `it has images for ${words}${by.length === 0 ? "" : ` on ${by.join(", ")}`}${which}, and would have none`
      : `${count(by.length, "host")} would get ${words}${which}: ${firstOf(by, 5)}`;
  });
  return [...gone, ...lines];
}

function choiceText(served: Served): string {
  return Object.entries(served)
    .map(([axis, value]) => `${axis}=${value}`)
    .join(", ");
}

/** A release that replaces another in the same line is no loss: `2.4.1` for `2.4.0`. */
function lineOf(value: string): string {
  return /^(\d+\.\d+)\.\d/.exec(value)?.[1] ?? value;
}

function choicesOf({ images }: Lock): readonly Served[] {
  const all = Object.values(images);
  const axes = [...new Set(all.flatMap((image) => Object.keys(image.axes)))]
    .filter((axis) => !hardwareAxes.has(axis))
    .filter((axis) => new Set(all.map((image) => image.axes[axis])).size > 1);
  const served = all.map(({ axes: own }) =>
    Object.fromEntries(axes.flatMap((axis) => (own[axis] === undefined ? [] : [[axis, own[axis]]]))),
  );
  return [...new Map(served.map((each) => [JSON.stringify(each), each])).values()];
}

function imagesOf({ images }: Lock, served: Served): readonly (readonly [string, LockedImage])[] {
  const chosen = Object.entries(served);
  return Object.entries(images).filter(([, { axes }]) =>
    chosen.every(([axis, value]) => lineOf(axes[axis] ?? "") === lineOf(value)),
  );
}

function lossesOfHosts(
  before: Lock,
  after: Lock,
  kept: readonly Served[],
  hosts: readonly NamedHost[],
): readonly Loss[] {
  const classes = classifyHosts(hosts, [before, after]);
  return kept.flatMap((served) => {
    const [old, now] = [before, after].map((fleet) => ({
      ...fleet,
      images: Object.fromEntries(imagesOf(fleet, served)),
    })) as [Lock, Lock];
    const changes = classes.flatMap(({ facts, names }) => {
      const [was, is] = [old, now].map((fleet) => {
        const [best] = rankImages(fleet, facts).ranked;
        return best === undefined ? null : kindOf(best.image);
      });
      if (was == null || was === is) return [];
      return [{ names, words: is == null ? `no image in place of ${was}` : `${is} in place of ${was}` }];
    });
    return [...groupBy(changes, ({ words }) => words)].map(([words, all]) => ({
      words,
      served,
      by: all.flatMap(({ names }) => names),
    }));
  });
}

/** Kinds that are gone, and of the kinds that stay the lost GPU targets and marches. */
function lossesOfKinds(before: Lock, after: Lock, kept: readonly Served[]): readonly Loss[] {
  return kept.flatMap((served) => {
    const [old, now] = [before, after].map((fleet) =>
      imagesOf(fleet, served).flatMap(([, image]) => alternativesOf(image)),
    );
    const kinds = groupBy(now ?? [], kindOf);
    const lost = (old ?? []).flatMap((image): { words: string; march: string | null }[] => {
      const kind = kindOf(image);
      const same = kinds.get(kind);
      if (same === undefined) return [{ words: kind, march: null }];
      return targetsOf(image)
        .filter((target) => !same.some((other) => servesAs(other, image, target)))
        .map((target) => ({
          words: target === null ? kind : `${kind} with ${target}`,
          march: image.requires.cpu.march,
        }));
    });
    return [...groupBy(lost, ({ words }) => words)].map(([words, alike]) => ({
      words,
      served,
      by: [...new Set(alike.flatMap(({ march }) => march ?? []))].sort(),
    }));
  });
}

type Judged = Pick<LockedImage, "requires" | "platform" | "measured">;

/** The GPU targets of an image; null for one without any. */
function targetsOf({ requires }: Judged): readonly (string | null)[] {
  const [side] = sidesOf(requires);
  return side === undefined || side.needs.code.length === 0 ? [null] : side.needs.code;
}

/** True if CPU and code let `other` run on every host of `image` by this target. */
function servesAs(other: Judged, image: Judged, target: string | null): boolean {
  const present = new Set(neededRequirement(image).cpu.features);
  const [side] = sidesOf(other.requires);
  return (
    normalizePlatform(other.platform) === normalizePlatform(image.platform) &&
    neededRequirement(other).cpu.features.every((feature) => present.has(feature)) &&
    (target === null || side === undefined || answerOfSide(runs, side as Side, target))
  );
}

/** Code of this side runs on the device of a target. */
const runs: BySide<boolean, [target: string]> = {
  nvidia({ code, toolkit }, target) {
    const device = parseCudaCode(target)?.compute;
    if (code.length === 0 || code.includes(target) || device === undefined) return true;
    if (isDroppedBy(toolkit, device)) return false;
    return code.some((each) => {
      const own = parseCudaCode(each);
      return own !== null && targetRunsOn(own, device);
    });
  },
  amd({ code }, target) {
    const generic = genericOf(target.split(":")[0] ?? "");
    const names: readonly (string | null | undefined)[] = [
      target,
      target.split(":")[0],
      generic,
      spirvTarget,
    ];
    return code.length === 0 || code.some((each) => names.includes(each));
  },
};

/** The vendor, and the major of the toolkit. */
function kindOf({ requires }: Pick<LockedImage, "requires">): string {
  const [side] = sidesOf(requires);
  if (side === undefined) return requires.accelerator ?? "the CPU";
  return `${toolkitNames[side.vendor]} ${answerOfSide(releaseOf, side).split(".")[0]}`;
}
