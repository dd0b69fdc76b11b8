/** The question to the resolver that several commands ask, and the refusal when nothing fits. */

import { ImgmatchError } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { printableReport } from "../input/printable.ts";
import { listSome } from "../resolve/misfit.ts";
import type { Miss } from "../resolve/nearest.ts";
import { compilePins, type Pins } from "../resolve/pins.ts";
import type { ResolveOptions } from "../resolve/resolve.ts";
import type { Resolution } from "../resolve/verdict.ts";
import type { CommandContext } from "./context.ts";
import { type HostFlags, hostFor, tellProblems } from "./host-options.ts";
import type { RegistryFleetFlags } from "./registry-fleet.ts";

export interface QuestionFlags extends HostFlags, RegistryFleetFlags {
  readonly lock?: string;
  /** The same as `from`, without the flag. */
  readonly reference?: string;
  readonly pin?: readonly string[];
  readonly cpu?: boolean;
  readonly requireGpu?: boolean;
  /** The explanation names the host's problems itself. */
  readonly explain?: boolean;
}

/** Lock, host and options of a question to the resolver. The fleet of a reference counts as a lock. */
export async function readQuestion(
  flags: QuestionFlags,
  context: CommandContext,
): Promise<{ lock: Lock; host: HostFacts; options: ResolveOptions }> {
  const { lock, options } = await readFleetQuestion(flags, context);
  const host = await hostFor(flags, context);
  if (!flags.explain) tellProblems(host, context);
  return { lock, host, options };
}

/** The part of a question that is about no host. */
export async function readFleetQuestion(
  flags: QuestionFlags,
  context: CommandContext,
): Promise<{ lock: Lock; options: ResolveOptions }> {
  const lock = await readFleet(flags, context);
  const pins = await parsePins(flags.pin ?? []);
  return { lock, options: { pins, cpuOnly: flags.cpu ?? false, requireGpu: flags.requireGpu ?? false } };
}

async function readFleet(flags: QuestionFlags, context: CommandContext): Promise<Lock> {
  const { reference, from = reference, lock } = flags;
  if (from === undefined) return readLock(lock ?? lockPath);
  if (reference !== undefined && reference !== from)
    throw twoFleets(`${reference} or, by --from, ${from}, not both`);
  if (lock !== undefined) throw twoFleets(`read from ${from} or from --lock ${lock}, not from both`);
  // A node with a lock should not wait for the registry client to load.
  const { readRegistryFleet } = await import("./registry-fleet.ts");
  return readRegistryFleet(from, flags, context);
}

function twoFleets(which: string): ImgmatchError {
  return new ImgmatchError({
    code: "USAGE",
    message: `the fleet is ${which}`,
    fix: "leave one of them out",
  });
}

async function parsePins(texts: readonly string[]): Promise<Pins> {
  const pairs: Record<string, string> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 1 || at === text.length - 1) {
      throw new ImgmatchError({
        code: "USAGE",
        message: `--pin ${text} is not axis=value`,
        fix: "write --pin python=3.12",
      });
    }
    const [axis, value] = [text.slice(0, at), text.slice(at + 1)];
    if (Object.hasOwn(pairs, axis) && pairs[axis] !== value) {
      throw new ImgmatchError({
        code: "USAGE",
        message: `--pin ${axis}=${pairs[axis]} and --pin ${axis}=${value} contradict each other`,
        fix: `pin ${axis} once: a value, a pattern with * or a version range`,
      });
    }
    pairs[axis] = value;
  }
  return compilePins(pairs);
}

/** Says on standard error what the answer decided unasked: GPUs that stay unused, axes that nobody pinned. */
export function tellUnasked(
  { unusedGpus, openAxes = [] }: Pick<Resolution, "unusedGpus" | "openAxes">,
  { err }: Pick<CommandContext, "err">,
): void {
  if (unusedGpus !== undefined) {
    const { gpus, nearest } = unusedGpus;
    const stay = gpus.length === 1 ? "stays" : "stay";
    err(printableReport([`unused: ${listSome(gpus, 2)} ${stay} without work: the image has no GPU code`]));
    const lines =
      nearest === null
        ? ["  the fleet has no image with GPU code"]
        : [
            `  nearest with GPU code: ${nearest.cell}: ${nearest.code === null ? "" : `${nearest.code}: `}${nearest.message}`,
            `  fix: ${nearest.fix}`,
          ];
    err(printableReport(lines));
  }
  for (const { axis, value, others } of openAxes) {
    const fit = others.length === 1 ? "fits" : "fit";
    const line = `not pinned: ${axis}=${value} was taken, ${listSome(others, 8)} ${fit} too: --pin ${axis}=VALUE`;
    err(printableReport([line]));
  }
}

/** The refusal, with what misses this host by the least first. */
export function noMatch(
  misses: readonly Miss[],
  { explain = false }: { readonly explain?: boolean } = {},
): ImgmatchError {
  const broken = misses
    .flatMap(({ misfits }) => misfits.slice(0, 1))
    .find(({ code }) => code === "HOST_BROKEN");
  if (broken !== undefined) {
    return new ImgmatchError({ code: "HOST_BROKEN", message: broken.message, fix: broken.fix });
  }
  const counts = new Map<string, { count: number; readonly miss: Miss; readonly message: string }>();
  for (const miss of misses) {
    const [first] = miss.misfits;
    if (first === undefined) continue;
    const known = counts.get(first.code);
    if (known === undefined) counts.set(first.code, { count: 1, miss, message: first.message });
    else known.count++;
  }
  const lines = [...counts].map(([code, { count, miss, message }]) =>
    count === 1
      ? `${miss.cell}: ${code}: ${message}`
      : `${miss.cell} and ${count - 1} more: ${code}: ${message}`,
  );
  // One change is a cure; of an image that misses by several, the first alone would help nobody.
  const [nearest] = misses;
  const only = nearest?.misfits.length === 1 ? nearest.misfits[0] : undefined;
  return new ImgmatchError({
    code: "NO_MATCH",
    message: "no image of the lock fits this host, nearest first",
    details: lines.map((line) => `  ${line}`),
    fix:
      only?.fix ??
      (explain
        ? "see the smallest change for each image above"
        : "run it again with --explain for the smallest change"),
  });
}
