/**
 * The fit of a CUDA image to driver and GPUs of a node, as a function of the node's labels. It asks the rules of resolve, once for each range
 * of versions in which the answer cannot change.
 */

import { parseComputeCapability } from "../../../hardware/compute-capability.ts";
import { parseVersion, type VersionParts } from "../../../hardware/driver-version.ts";
import type { CudaRequirement } from "../../../lock/lock.ts";
import { compatAdds, type CompatView, type NvidiaView } from "../../../resolve/host-view.ts";
import { evaluateRequire, parseRequire } from "../../../resolve/parse-nvidia-require.ts";
import { checkDriver, driverSteps } from "../../../resolve/rules/driver.ts";
import { isEnforced, requireSteps, subjectOf } from "../../../resolve/rules/nvidia-require.ts";
import type { RuleSteps } from "../../../resolve/rules/rule.ts";
import type { CodeFit, Tier } from "../../../resolve/verdict.ts";
import {
  isExact,
  keys,
  knownBrands,
  knownComputes,
  unknownValue,
  versionNumber,
  versionText,
} from "../labels/vocabulary.ts";
import { bestCode, runtimes, sampleNvidia } from "../../sample-hosts.ts";
import { unsupported } from "../unsupported.ts";
import { always, type Node, never } from "./decision-diagrams.ts";
import { type Conditions, label, lastThatHolds } from "./node-conditions.ts";

/** A way in which the driver serves an image, and the nodes where it does. */
export interface DriverMode {
  readonly tier: Tier;
  /** The driver compiles the image's PTX. */
  readonly ptx: boolean;
  readonly when: Node;
}

export function driverModes(cuda: CudaRequirement, conditions: Conditions): readonly DriverMode[] {
  const modes = new Map<string, DriverMode>();
  for (const { nvidia, when } of driverStretches(driverSteps(cuda), conditions, cuda)) {
    const service = checkDriver(cuda, nvidia);
    if (!service.ok) continue;
    const { tier, ptx } = service;
    const name = `${tier} ${ptx}`;
    modes.set(name, { tier, ptx, when: conditions.or(when, modes.get(name)?.when ?? never) });
  }
  return [...modes.values()];
}

/** Drivers that no rule tells apart, and the nodes that have one. The view has the lowest version. */
interface DriverStretch {
  readonly nvidia: NvidiaView;
  readonly when: Node;
}

function driverStretches(
  { drivers, cudas, after }: RuleSteps,
  conditions: Conditions,
  cuda?: CudaRequirement,
): readonly DriverStretch[] {
  const { of, and } = conditions;
  // The label of an unknown version is 0, so every number is above it.
  const along = (key: string, numbers: readonly number[]) => {
    const ascending = [...new Set(numbers)].filter((number) => number > 0).sort((a, b) => a - b);
    return lastThatHolds(
      conditions,
      0,
      ascending.map((number) => [number, of(label.atLeast(key, number))]),
    );
  };
  const numbers = (texts: readonly string[]) =>
    texts.flatMap(numberOf).flatMap((number) => (after ? [number, number + 1] : [number]));
  const scales = lastThatHolds<NvidiaView["scale"]>(
    conditions,
    "linux",
    (["wsl", "l4t"] as const).map((scale) => [scale, of(label.is(keys.driverScale, scale))]),
  );
  const compats = lastThatHolds(conditions, false, [[true, of(label.exists(keys.forwardCompat))]]);
  const toolkits = cuda?.driver.mode === "compat" ? compatStretches(conditions) : [unknownToolkit];
  const byDriver = along(keys.driverNumber, numbers(drivers));
  const byCuda = along(keys.cudaNumber, [1, ...numbers(cudas)]);
  return scales.flatMap((scale) =>
    compats.flatMap((compat) =>
      byDriver.flatMap((driver) =>
        byCuda.flatMap((cuda) =>
          toolkits.map((toolkit) => ({
            nvidia: sampleNvidia(
              versionText(driver.value),
              cuda.value === 0 ? null : versionText(cuda.value),
              {
                scale: scale.value,
                class: compat.value ? "datacenter" : "geforce",
                compat: toolkit.value,
              },
            ),
            when: and(cuda.when, driver.when, compat.when, scale.when, toolkit.when),
          })),
        ),
      ),
    ),
  );
}

const unknownToolkit = { value: { adds: null, hostFirst: null }, when: always };

/** The ways in which the container toolkits of nodes treat a compatibility package. */
function compatStretches(conditions: Conditions): readonly { value: CompatView; when: Node }[] {
  const { of, and } = conditions;
  const adds = lastThatHolds<CompatView["adds"]>(
    conditions,
    null,
    compatAdds.map((value) => [value, of(label.is(keys.compatAdds, value))]),
  );
  const orders = lastThatHolds(conditions, false, [[true, of(label.exists(keys.hostFirst))]]);
  return adds.flatMap((added) =>
    orders.map((order) => ({
      value: { adds: added.value, hostFirst: order.value },
      when: and(added.when, order.when),
    })),
  );
}

function numberOf(text: string): readonly number[] {
  const parts = parseVersion(text);
  return parts === null ? [] : [exactNumber(parts, `version ${text}`)];
}

/** The version as one number. Throws `LAUNCH_UNSUPPORTED` if it shares that number with others. */
export function exactNumber(parts: VersionParts, what: string): number {
  if (isExact(parts)) return versionNumber(parts);
  const fix = "leave that image out with --pin";
  throw unsupported("a fleet", `compare the ${what}: its numbers are too large`, fix);
}

const allComputes: readonly string[] = knownComputes.flat();

/** The key of a kind of GPU → the image's code that such a GPU runs. Kinds without code are absent. */
export type CodeByGpu = ReadonlyMap<string, CodeFit>;

export function codeByCompute(cuda: CudaRequirement, ptx: boolean): CodeByGpu {
  return new Map(
    allComputes.flatMap((text) => {
      const code = bestCode(cuda, parseComputeCapability(text), ptx);
      return code === null ? [] : [[keys.compute(text), code] as const];
    }),
  );
}

/** A driver drives the GPUs, and the image has code for each of them. */
export function everyGpuRuns(code: CodeByGpu, { and, not, of }: Conditions): Node {
  const computes = [...allComputes, unknownValue].map(keys.compute).map((compute) => {
    const there = of(label.exists(compute));
    return code.has(compute) ? always : not(there);
  });
  return and(of(label.exists(keys.gpuUsable)), ...computes);
}

/** The image's `NVIDIA_REQUIRE_CUDA` expression holds for every GPU that the image has code for, or the node's runtime does not check it. */
export function requireCondition(cuda: CudaRequirement, conditions: Conditions): Node {
  const enforcing = runtimes.filter((runtime) => isEnforced(cuda, { runtime }));
  if (cuda.require === undefined || enforcing.length === 0) return always;
  const { or, not, of } = conditions;
  const checked = lastThatHolds<(typeof runtimes)[number]>(
    conditions,
    null,
    runtimes.flatMap((name) => (name === null ? [] : [[name, of(label.is(keys.runtime, name))]])),
  ).filter(({ value }) => enforcing.includes(value));
  return or(not(or(...checked.map(({ when }) => when))), holdsForAll(cuda, cuda.require, conditions));
}

function holdsForAll(cuda: CudaRequirement, require: string, conditions: Conditions): Node {
  const { and, or, not, of } = conditions;
  const expression = parseRequire(require);
  if (expression === null) return never;
  const properties = new Set(expression.alternatives.flat().map(({ property }) => property));
  const stretches = driverStretches(requireSteps(cuda), conditions);
  const code = codeByCompute(cuda, true);
  const computes = allComputes.filter((compute) => code.has(keys.compute(compute)));
  const archs = properties.has("arch") ? computes : [null];
  const brands = properties.has("brand") ? knownBrands : [unknownValue];
  const table = archs.map((arch) =>
    brands.map((name) => {
      const compute = arch === null ? null : parseComputeCapability(arch);
      // An expression knows an unknown brand as null.
      const gpu = { compute, brand: name === unknownValue ? null : name };
      const holding = stretches.filter(
        ({ nvidia }) => evaluateRequire(expression, subjectOf(gpu, nvidia)) === true,
      );
      return or(...holding.map(({ when }) => when));
    }),
  );
  const unless = (key: string, holds: Node) => or(not(of(label.exists(key))), holds);
  // Most expressions are a condition on the capability and one on the brand: then no label has to name both.
  const byArch = table.map((row) => or(...row));
  const byBrand = brands.map((_, column) => or(...table.map((row) => row[column] ?? never)));
  const splits = table.every((row, index) =>
    row.every((node, column) => node === and(byArch[index] ?? never, byBrand[column] ?? never)),
  );
  if (!splits) {
    return and(
      ...computes.flatMap((compute, index) =>
        brands.map((name, column) => unless(keys.kind(compute, name), table[index]?.[column] ?? never)),
      ),
    );
  }
  return and(
    ...(properties.has("arch")
      ? computes.map((compute, index) => unless(keys.compute(compute), byArch[index] ?? never))
      : byArch),
    ...(properties.has("brand")
      ? brands.map((name, column) => unless(keys.brand(name), byBrand[column] ?? never))
      : byBrand),
  );
}
