/**
 * The labels that carry resolve's answers. The key says which question a label answers: two versions of a fleet, and two pins, have different
 * labels, so that a launch of one version moves nothing of another version.
 */

import { needsGpus } from "../../../lock/requirement.ts";
import type { HostFacts } from "../../../facts/facts.ts";
import { groupBy, sortedEntries } from "../../../io/collections.ts";
import type { Lock } from "../../../lock/lock.ts";
import { pinTextOf } from "../../../resolve/resolve-options.ts";
import type { ResolveImageOptions } from "../../../resolve/resolve-image.ts";
import { createResolver } from "../../../resolve/resolver.ts";
import type { Resolution } from "../../../resolve/verdict.ts";
import { runsOn } from "../fleet/served-devices.ts";
import { kindOf, narrowTo, unitsOf } from "../gpu-units.ts";
import { labelValue, shortHash, unknownValue } from "./vocabulary.ts";

export interface LabelQuestion extends ResolveImageOptions {
  /** The GPUs that the answer is about, as `--gpus` names them. Default: all. */
  readonly gpus?: string | undefined;
}

/** The keys of a question's labels, without a system's prefix. */
export interface QuestionKeys {
  /** `image.vision-1f0c9a3e`: the image for a container with all GPUs of the node. */
  readonly image: string;
  /** `device.vision-1f0c9a3e`, `….2`: the images for containers with one GPU. Unlike GPUs may have several. */
  readonly devices: readonly string[];
  /** `image.vision`: the answer to the fleet's default question, for selectors that people write. null for other questions. */
  readonly plain: string | null;
}

type Fleet = Pick<Lock, "name" | "version" | "prefer">;

/** More kinds of GPUs than any node has. */
const mostKinds = 4;

export function questionKeys(fleet: Fleet, question: LabelQuestion = {}): QuestionKeys {
  const { cpuOnly = false, requireGpu = false, gpus = "all", pins = {}, prefer } = question;
  const pinned = sortedEntries(pins).map(([axis]) => [axis, pinTextOf(pins, axis)]);
  const choice = [pinned, cpuOnly, requireGpu, gpus, prefer ?? fleet.prefer ?? []];
  const name = `${namePart(fleet.name)}-${shortHash(JSON.stringify([fleet.version, ...choice]), 8)}`;
  const isDefault = pinned.length === 0 && !cpuOnly && !requireGpu && gpus === "all" && prefer === undefined;
  return {
    image: `image.${name}`,
    devices: Array.from({ length: mostKinds }, (_, at) => `device.${name}${at === 0 ? "" : `.${at + 1}`}`),
    plain: isDefault ? `image.${namePart(fleet.name)}` : null,
  };
}

/** True for a key with a question, false for a plain one and for labels of facts. */
export function isQuestionKey(key: string): boolean {
  return /^(image|device)\..*-[0-9a-f]{8}(\.\d)?$/.test(key);
}

/** A tag as the value of a label. An image that is built anew has another tag: a label of before selects nothing. */
export function imageValue({ images }: Pick<Lock, "images">, cell: string): string {
  return labelValue(images[cell]?.tag ?? cell);
}

/** Key → value; null where the node must not have the label. */
export type LabelChanges = Readonly<Record<string, string | null>>;

export interface AnswerLabels {
  readonly labels: LabelChanges;
  /** If `match` is null, no image fits all GPUs of the node. */
  readonly resolution: Resolution;
}

/**
 * Answers one question for any number of hosts: the labels of a host, and the labels a host must not have. Throws as `resolveImage` does.
 *
 * @example
 * const labelsOf = createLabeller(lock, { pins: { python: "3.12" } });
 * labelsOf(facts).labels; // { "image.vision-1f0c9a3e": "1.4.0-12.8.1_…", "device.vision-1f0c9a3e": null, … }
 */
export function createLabeller(lock: Lock, question: LabelQuestion = {}): (host: HostFacts) => AnswerLabels {
  const { gpus: _, ...options } = question;
  const { image, devices, plain } = questionKeys(lock, question);
  const { resolve } = createResolver(lock, options);
  return (host) => {
    const resolution = resolve(host);
    const cell = resolution.match?.cell;
    const value = cell === undefined ? null : imageValue(lock, cell);
    const claiming = claimingCells(lock, host, resolve).map((each) => imageValue(lock, each));
    const labels = {
      [image]: value,
      ...Object.fromEntries(devices.map((key, at) => [key, claiming[at] ?? null])),
      ...(plain === null ? {} : { [plain]: value }),
    };
    return { labels, resolution };
  };
}

/** A question's labels, all to be taken away. */
export function noLabels(lock: Fleet, question: LabelQuestion): LabelChanges {
  const { image, devices } = questionKeys(lock, question);
  return Object.fromEntries([image, ...devices].map((key) => [key, null]));
}

/** The changes from the present texts to the wanted ones. A text that is not named stays. */
export function changesFrom(present: Readonly<Record<string, string>>, wanted: LabelChanges): LabelChanges {
  return Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => (present[key] ?? null) !== value),
  );
}

/**
 * The cells that may claim GPUs of the host: the winners on one GPU of each kind. No expression over a device knows its node, so an image that
 * also has code for another image's GPU of the same node claims none there.
 */
function claimingCells(
  { images }: Lock,
  host: HostFacts,
  resolve: (host: HostFacts) => Resolution,
): readonly string[] {
  const kinds = [...groupBy(unitsOf(host), kindOf).values()].flatMap((units) =>
    units.slice(0, 1).map((unit) => ({ unit, cell: resolve(narrowTo(host, [unit])).match?.cell })),
  );
  const winners = [...new Set(kinds.flatMap(({ cell }) => cell ?? []))].sort();
  return winners.filter((cell) => {
    const image = images[cell];
    if (image === undefined || !needsGpus(image.requires)) return false;
    return kinds.every((each) => each.cell === cell || !runsOn(image, each.unit));
  });
}

/** A part of a label's name: between the key and a question, the name has at most 63 characters. A cut name gets a hash. */
function namePart(lockName: string): string {
  const part = lockName.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/, "");
  if (part.length <= 44) return part === "" ? unknownValue : part;
  return `${part.slice(0, 33)}.${shortHash(lockName, 10)}`;
}
