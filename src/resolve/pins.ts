/** Reads pins, `axis=value`, and matches axes with them. A value is exact text, a glob, a version prefix or a semver range. */

import { ImgmatchError, usageError } from "../errors.ts";
import type { Lock } from "../lock/lock.ts";
import { misfit } from "./misfit.ts";
import type { Misfit } from "./verdict.ts";
import { matchesGlob } from "../io/glob.ts";

/** By axis. */
export type Pins = Readonly<Record<string, Pin>>;

export interface Pin {
  readonly text: string;
  readonly matches: (value: string) => boolean;
}

/**
 * Makes matchers of pins. Only a range (`>=12 <13`, `~1.12`, `^2`, `1 || 2`) loads the semver package.
 * Throws `USAGE` for a range that cannot be read.
 *
 * @example
 * const pins = await compilePins({ python: "3.12", cuda: ">=12.4", march: "x86-64-*" });
 */
export async function compilePins(pairs: Readonly<Record<string, string>>): Promise<Pins> {
  const pins: Record<string, Pin> = {};
  for (const [axis, text] of Object.entries(pairs)) {
    pins[axis] = isRange(text) ? await compileRange(axis, text) : plainPin(text);
  }
  return pins;
}

/** Reads `axis=value` of `--pin`. Throws `USAGE` for another form, and for two values of one axis. */
export function parsePins(texts: readonly string[]): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 1 || at === text.length - 1)
      throw usageError(`--pin ${text} is not axis=value`, "write --pin python=3.12");
    const [axis, value] = [text.slice(0, at), text.slice(at + 1)];
    if (Object.hasOwn(pairs, axis) && pairs[axis] !== value) {
      throw usageError(
        `--pin ${axis}=${pairs[axis]} and --pin ${axis}=${value} contradict each other`,
        `pin ${axis} once: a value, a pattern with * or a version range`,
      );
    }
    pairs[axis] = value;
  }
  return pairs;
}

/** Makes matchers without loading semver. Throws `USAGE` for a range. */
export function plainPins(pairs: Readonly<Record<string, string | Pin>>): Pins {
  return Object.fromEntries(
    Object.entries(pairs).map(([axis, pin]) => {
      if (typeof pin !== "string") return [axis, pin];
      if (isRange(pin)) {
        throw usageError(
          `pin ${axis}=${pin} is a range`,
          "write a version prefix or a pattern with *, or a matcher: { text, matches }",
        );
      }
      return [axis, plainPin(pin)];
    }),
  );
}

export function checkPins(axes: Readonly<Record<string, string>>, pins: Pins): Misfit | null {
  const valueAt = (axis: string) => (Object.hasOwn(axes, axis) ? axes[axis] : undefined);
  const others = Object.entries(pins).filter(([axis, pin]) => {
    const value = valueAt(axis);
    return value === undefined || !pin.matches(value);
  });
  const [first] = others;
  if (first === undefined) return null;
  const [axis, pin] = first;
  const value = valueAt(axis);
  const actual = value === undefined ? `it has no ${axis}` : `it is ${axis}=${value}`;
  const instead = others.map(([name]) => [name, valueAt(name)] as const);
  // Every pin that it does not match: after one correction it would still not match.
  const wanted = instead.flatMap(([name, has]) => (has === undefined ? [] : [`${name}=${has}`]));
  const without = instead.flatMap(([name, has]) => (has === undefined ? [name] : []));
  const pinned = wanted.length === 0 ? "" : `pin ${wanted.join(" and ")}`;
  const out = without.length === 0 ? "" : `leave the pin of ${without.join(" and ")} out`;
  return misfit(
    "PIN_MISMATCH",
    `${axis}=${pin.text} is asked for, ${actual}`,
    [
      {
        text:
          without.length === 0
            ? `${pinned} or leave the pin out`
            : [pinned, out].filter(Boolean).join(" and "),
        remedy: {
          kind: "pins",
          set: Object.fromEntries(instead.flatMap(([name, has]) => (has === undefined ? [] : [[name, has]]))),
          drop: without,
        },
      },
    ],
    others.length,
  );
}

/** Throws `PIN_UNKNOWN` for a pin on an axis that no image has. */
export function requireKnownAxes(pins: Pins, images: Lock["images"]): void {
  if (Object.keys(pins).length === 0) return;
  const axes = new Set(Object.values(images).flatMap((image) => Object.keys(image.axes)));
  const unknown = Object.keys(pins).filter((axis) => !axes.has(axis));
  if (unknown.length === 0) return;
  throw new ImgmatchError({
    code: "PIN_UNKNOWN",
    message: `no image has the axis ${unknown.join(", ")}`,
    fix: `pin one of: ${[...axes].sort().join(", ")}`,
  });
}

function plainPin(text: string): Pin {
  if (text.includes("*")) return { text, matches: (value) => matchesGlob(text, value) };
  // 12.8 matches 12.8.1 too: people write versions as short as they can.
  const prefix = /^\d+(\.\d+)*$/.test(text) ? `${text}.` : null;
  return { text, matches: (value) => value === text || (prefix !== null && value.startsWith(prefix)) };
}

async function compileRange(axis: string, text: string): Promise<Pin> {
  const { default: semver } = await import("semver");
  const range = semver.validRange(text, { loose: true });
  if (range === null) {
    throw usageError(
      `pin ${axis}=${text} is neither a value, a pattern with * nor a version range`,
      `for example ${axis}=12.8, ${axis}=12.* or "${axis}=>=12.4 <13"`,
    );
  }
  return {
    text,
    matches: (value) => {
      if (value === text) return true;
      const version = asSemver(value);
      return version !== null && semver.satisfies(version, range);
    },
  };
}

/** `12.8` and `570.124.06` become semantic versions: missing parts are 0, leading zeros go. */
function asSemver(value: string): string | null {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(value);
  return match === null ? null : [match[1], match[2] ?? "0", match[3] ?? "0"].map(Number).join(".");
}

function isRange(text: string): boolean {
  return !text.includes("*") && /[<>=~^| ]/.test(text);
}
