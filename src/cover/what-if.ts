/** The changes of `imgmatch cover --what-if`: another driver, fewer cells, or more cells. */

import { usageError } from "../errors.ts";
import { parseDriverVersion } from "../hardware/driver-version.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { NamedHost } from "../facts/named-host.ts";
import type { Lock } from "../lock/lock.ts";
import { checkPins, parsePins, plainPins } from "../resolve/pins.ts";
import { addedImages } from "./added-images.ts";
import type { CoverFleet } from "./cover-fleet.ts";
import { classifyHosts } from "../resolve/host-classes.ts";
import { withDriver } from "./nvidia-driver.ts";

/**
 * Classifies hosts, and applies changes to them and their fleet: `after` has the changed fleet, and the same classes in the same order; null
 * without changes. Throws `USAGE` for invalid changes, and for one that changes nothing.
 */
export function applyChanges(fleet: CoverFleet, hosts: readonly NamedHost[], texts: readonly string[]) {
  const changes = parseChanges(texts);
  if (changes.length === 0) return { classes: classifyHosts(hosts, [fleet.lock]), after: null };
  const changed = { ...fleet, lock: changeFleet(fleet.lock, changes) };
  const classes = classifyHosts(hosts, [fleet.lock, changed.lock]);
  const moved = classes.map((each) => ({ ...each, facts: changeHost(each.facts, changes) }));
  return { classes, after: { fleet: changed, classes: moved } };
}

export type Change =
  | { readonly kind: "driver"; readonly text: string; readonly version: string }
  | CellChange;

interface CellChange {
  readonly kind: "drop" | "add";
  readonly text: string;
  readonly axes: Readonly<Record<string, string>>;
}

/** Reads `driver=580.95.05`, `drop:cuda=11.*` and `add:compute=10.0,cuda=13.0.2`. Throws `USAGE` for other texts, and for two drivers. */
export function parseChanges(texts: readonly string[]): readonly Change[] {
  const changes = texts.map(parseChange);
  const drivers = changes.filter(({ kind }) => kind === "driver");
  if (drivers.length > 1)
    throw usageError(
      `--what-if ${drivers.map(({ text }) => text).join(" and ")}: a host has one driver`,
      "leave one of them out",
    );
  return changes;
}

function parseChange(text: string): Change {
  const [, kind, rest = ""] = /^(driver=|drop:|add:)(.+)$/s.exec(text) ?? [];
  if (kind === "driver=" && parseDriverVersion(rest) !== null) return { kind: "driver", text, version: rest };
  if (kind === "drop:" || kind === "add:")
    return { kind: kind === "drop:" ? "drop" : "add", text, axes: parsePins(rest.split(",")) };
  throw usageError(
    `--what-if ${JSON.stringify(text)} is not a change`,
    "write driver=580.95.05, drop:cuda=11.* or add:compute=10.0,cuda=13.0.2",
  );
}

export function changeHost(facts: HostFacts, changes: readonly Change[]): HostFacts {
  const change = changes.find(({ kind }) => kind === "driver");
  return change?.kind === "driver" ? withDriver(facts, change.version) : facts;
}

/** Drops and adds cells. Throws `USAGE` for a change that drops nothing, and for impossible cells. */
export function changeFleet(lock: Lock, changes: readonly Change[]): Lock {
  let changed = lock;
  for (const change of changes) {
    if (change.kind === "driver") continue;
    const images =
      change.kind === "drop"
        ? without(changed, change)
        : { ...changed.images, ...addedImages(changed, change.axes, `--what-if ${change.text}`) };
    changed = { ...changed, images };
  }
  return changed;
}

function without({ images }: Lock, { text, axes }: CellChange): Lock["images"] {
  const pins = plainPins(axes);
  const kept = Object.entries(images).filter(([, image]) => checkPins(image.axes, pins) !== null);
  if (kept.length < Object.keys(images).length) return Object.fromEntries(kept);
  const known = [...new Set(Object.values(images).flatMap((image) => Object.keys(image.axes)))].sort();
  throw usageError(
    `--what-if ${text} drops nothing: no cell matches`,
    `use values of these axes: ${known.join(", ")}`,
  );
}
