/**
 * Which drivers serve an image, and how, as a function of a node's labels. The rule itself is asked, once for each stretch
 * of versions between the numbers at which its answer can change: nothing of it is said here a second time.
 */

import { parseDriverVersion, parseVersion, type VersionParts } from "../../hardware/version.ts";
import type { CudaRequirement } from "../../lock/lock.ts";
import { remember } from "../../oci/remember.ts";
import type { GpuView, NvidiaView } from "../../resolve/host-view.ts";
import { evaluateRequire, parseRequire } from "../../resolve/nvidia-require.ts";
import { checkDriver, driverSteps } from "../../resolve/rules/driver.ts";
import { requireSteps, subjectOf } from "../../resolve/rules/nvidia-require.ts";
import type { RuleSteps } from "../../resolve/rules/rule-steps.ts";
import type { Tier } from "../../resolve/verdict.ts";
import { isExact, versionNumber, versionText } from "../labels/version-number.ts";
import { keys } from "../labels/vocabulary.ts";
import { unsupported } from "../unsupported.ts";
import { always, type Node, never } from "./bdd/node.ts";
import { type Condition, type Conditions, label } from "./conditions.ts";

/** How the driver serves: on which nodes, in which tier, and whether it compiles the image's PTX. */
export interface DriverMode {
  readonly tier: Tier;
  readonly ptx: boolean;
  readonly when: Node;
}

/** A rule's versions as the numbers of labels, ascending. 0 stands for "not known", so every number is above it. */
export interface Steps {
  readonly driver: readonly number[];
  readonly cuda: readonly number[];
}

export function stepsOf({ drivers, cudas, after }: RuleSteps): Steps {
  const around = (texts: readonly string[]) =>
    texts.flatMap(numberOf).flatMap((number) => (after ? [number, number + 1] : [number]));
  return { driver: ascending(around(drivers)), cuda: ascending([1, ...around(cudas)]) };
}

export function stepConditions({ driver, cuda }: Steps): readonly Condition[] {
  return [
    ...driver.map((number) => label.atLeast(keys.driverNumber, number)),
    ...cuda.map((number) => label.atLeast(keys.cudaNumber, number)),
    ...scales.map((scale) => label.is(keys.driverScale, scale)),
    label.exists(keys.forwardCompat),
  ];
}

export function driverModes(cuda: CudaRequirement, conditions: Conditions): readonly DriverMode[] {
  const steps = stepsOf(driverSteps(cuda));
  const modes = new Map<string, { readonly tier: Tier; readonly ptx: boolean }>();
  const answers = new Map<string, string>();
  const ask = (where: Where): string =>
    remember(answers, JSON.stringify(where), () => {
      const service = checkDriver(cuda, viewOf(where));
      const mode = service.ok ? { tier: service.tier, ptx: service.ptx } : null;
      const name = JSON.stringify(mode);
      if (mode !== null) modes.set(name, mode);
      return name;
    });
  // Asked everywhere first, so that every mode is known.
  overWhere(conditions, steps, (where) => (ask(where) === "" ? always : never));
  return [...modes].map(([name, mode]) => ({
    ...mode,
    when: overWhere(conditions, steps, (where) => (ask(where) === name ? always : never)),
  }));
}

/** Where an `NVIDIA_REQUIRE_CUDA` expression holds for such a GPU. */
export function requireHolds(
  cuda: CudaRequirement,
  gpu: Pick<GpuView, "compute" | "brand">,
  conditions: Conditions,
): Node {
  const parsed = parseRequire(cuda.require ?? "");
  if (parsed === null) return never;
  return overWhere(conditions, stepsOf(requireSteps(cuda)), (where) =>
    evaluateRequire(parsed, subjectOf(gpu, viewOf(where))) === true ? always : never,
  );
}

const scales = ["wsl", "l4t"] as const;

/** One stretch of versions, by its lowest. */
interface Where {
  readonly scale: NvidiaView["scale"];
  readonly compat: boolean;
  readonly driver: number;
  readonly cuda: number;
}

function overWhere({ bdd, of }: Conditions, steps: Steps, leaf: (where: Where) => Node): Node {
  /** The value of the highest step that is reached. */
  const along = (key: string, numbers: readonly number[], value: (number: number) => Node): Node =>
    numbers.reduce(
      (below, number) => bdd.ite(of(label.atLeast(key, number)), value(number), below),
      value(0),
    );
  const byScale = (scale: NvidiaView["scale"]): Node => {
    const byCompat = (compat: boolean): Node =>
      along(keys.driverNumber, steps.driver, (driver) =>
        along(keys.cudaNumber, steps.cuda, (cuda) => leaf({ scale, compat, driver, cuda })),
      );
    return bdd.ite(of(label.exists(keys.forwardCompat)), byCompat(true), byCompat(false));
  };
  return scales.reduce(
    (others, scale) => bdd.ite(of(label.is(keys.driverScale, scale)), byScale(scale), others),
    byScale("linux"),
  );
}

function viewOf({ scale, compat, driver, cuda }: Where): NvidiaView {
  const text = versionText(driver);
  return {
    driver: parseDriverVersion(text),
    driverText: text,
    module: null,
    cuda: cuda === 0 ? null : { text: versionText(cuda), parts: parseVersion(versionText(cuda)) ?? [] },
    scale,
    gpus: [{ label: "GPU", compute: null, class: compat ? "datacenter" : "geforce", brand: null }],
  };
}

function ascending(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)].filter((number) => number > 0).sort((a, b) => a - b);
}

function numberOf(text: string): readonly number[] {
  const parts = parseVersion(text);
  return parts === null ? [] : [exactNumber(parts, `version ${text}`)];
}

/** Throws `LAUNCH_UNSUPPORTED` for a version that has no number of its own. */
export function exactNumber(parts: VersionParts, what: string): number {
  if (isExact(parts)) return versionNumber(parts);
  const fix = "leave that image out with --pin";
  throw unsupported("a fleet", `compare the ${what}: its numbers are too large`, fix);
}
