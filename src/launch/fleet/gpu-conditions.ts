/** What the GPUs of a node run of an image. */

import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import type { CudaRequirement } from "../../lock/lock.ts";
import type { HostView } from "../../resolve/host-view.ts";
import { parseRequire } from "../../resolve/nvidia-require.ts";
import { checkGpuCode } from "../../resolve/rules/gpu-code.ts";
import { isEnforced } from "../../resolve/rules/nvidia-require.ts";
import type { CodeFit } from "../../resolve/verdict.ts";
import { keys, knownBrands, knownComputes, unknownValue } from "../labels/vocabulary.ts";
import { always, type Node, never } from "./bdd/node.ts";
import { requireHolds } from "./driver-conditions.ts";
import { type Condition, type Conditions, label } from "./conditions.ts";

export const allComputes: readonly string[] = knownComputes.flat();

/** Compute capability → the code that such a GPU picks of the image. Those that it has none for are absent. */
export type CodeByCompute = ReadonlyMap<string, CodeFit>;

export function codeByCompute(cuda: CudaRequirement, ptx: boolean): CodeByCompute {
  const service = { ok: true, tier: "native", ptx, cuda: null } as const;
  return new Map(
    allComputes.flatMap((compute) => {
      const gpu = {
        label: "GPU",
        compute: parseComputeCapability(compute),
        class: "unknown",
        brand: null,
      } as const;
      const code = checkGpuCode(cuda, [gpu], service);
      return "ok" in code || code[0] === undefined ? [] : [[compute, code[0]] as const];
    }),
  );
}

export function computeConditions(): readonly Condition[] {
  return [...allComputes, unknownValue].map((compute) => label.exists(keys.compute(compute)));
}

/** No GPU that the image has no code for. */
export function everyGpuRuns(code: CodeByCompute, { bdd, of }: Conditions): Node {
  return [...allComputes, unknownValue]
    .filter((compute) => !code.has(compute))
    .reduce((all, compute) => bdd.and(all, bdd.not(of(label.exists(keys.compute(compute))))), always);
}

/** The conditions that {@link requireCondition} may use. */
export function requireConditions(cuda: CudaRequirement): readonly Condition[] {
  if (cuda.require === undefined || isNeverEnforced(cuda)) return [];
  const computes = [...codeByCompute(cuda, true).keys()];
  return [
    ...runtimes.map((name) => label.is(keys.runtime, name)),
    ...brandValues.map(([name]) => label.exists(keys.brand(name))),
    ...computes.flatMap((compute) => brandValues.map(([name]) => label.exists(keys.kind(compute, name)))),
  ];
}

/**
 * The expression holds for every GPU, or the node's runtime does not check it: the rule of resolve says who does. GPUs that
 * the image has no code for are out of the question already.
 */
export function requireCondition(cuda: CudaRequirement, conditions: Conditions): Node {
  const { bdd, of } = conditions;
  if (cuda.require === undefined || isNeverEnforced(cuda)) return always;
  const computes = [...codeByCompute(cuda, true).keys()];
  const named = bdd.or(...runtimes.map((name) => of(label.is(keys.runtime, name))));
  const unchecked = bdd.or(
    ...runtimes
      .filter((runtime) => !isEnforced(cuda, { runtime }))
      .map((name) => of(label.is(keys.runtime, name))),
    isEnforced(cuda, { runtime: null }) ? never : bdd.not(named),
  );
  return bdd.or(unchecked, holdsForAll(cuda, computes, conditions));
}

function isNeverEnforced(cuda: CudaRequirement): boolean {
  return [...runtimes, null].every((runtime) => !isEnforced(cuda, { runtime }));
}

const runtimes = Object.keys({ cdi: true, legacy: true, none: true } satisfies Record<
  NonNullable<HostView["runtime"]>,
  true
>) as readonly NonNullable<HostView["runtime"]>[];

/** Condition and brand; a brand that is not known is null to an expression. */
const brandValues = knownBrands.map((name) => [name, name === unknownValue ? null : name] as const);

function holdsForAll(cuda: CudaRequirement, computes: readonly string[], conditions: Conditions): Node {
  const { bdd, of } = conditions;
  const properties = new Set(
    (parseRequire(cuda.require ?? "")?.alternatives.flat() ?? []).map(({ property }) => property),
  );
  const archs = properties.has("arch") ? computes : [null];
  const brands = properties.has("brand") ? brandValues : ([[unknownValue, null]] as const);
  const table = archs.map((arch) =>
    brands.map(([, brand]) => {
      const compute = arch === null ? null : parseComputeCapability(arch);
      return requireHolds(cuda, { compute, brand }, conditions);
    }),
  );
  const unless = (key: string, holds: Node) => bdd.or(bdd.not(of(label.exists(key))), holds);
  // Mostly the expression is a condition on the one and a condition on the other. Then neither has to know of the other.
  const byArch = table.map((row) => bdd.or(...row));
  const byBrand = brands.map((_, column) => bdd.or(...table.map((row) => row[column] ?? never)));
  const splits = table.every((row, index) =>
    row.every((node, column) => node === bdd.and(byArch[index] ?? never, byBrand[column] ?? never)),
  );
  if (!splits) {
    return bdd.and(
      ...computes.flatMap((compute, index) =>
        brands.map(([name], column) => unless(keys.kind(compute, name), table[index]?.[column] ?? never)),
      ),
    );
  }
  return bdd.and(
    ...(properties.has("arch")
      ? computes.map((compute, index) => unless(keys.compute(compute), byArch[index] ?? never))
      : byArch),
    ...(properties.has("brand")
      ? brands.map(([name], column) => unless(keys.brand(name), byBrand[column] ?? never))
      : byBrand),
  );
}
