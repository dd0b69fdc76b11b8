/**
 * Kubernetes' rules for node affinity, stated a second time: kubernetes/component-helpers, scheduling/corev1/nodeaffinity,
 * and apimachinery, pkg/labels, Requirement.Matches. It knows nothing of imgmatch.
 */

import type { NodeSelectorTerm } from "kubernetes-types/core/v1.js";

export type Labels = Readonly<Record<string, string>>;

/** One term is enough. No term matches no node. */
export function matchesAffinity(terms: readonly NodeSelectorTerm[], labels: Labels): boolean {
  return terms.some((term) => {
    const expressions = term.matchExpressions ?? [];
    // "A null or empty node selector term matches no objects."
    if (expressions.length === 0) return false;
    return expressions.every(({ key, operator, values = [] }) => {
      const present = Object.hasOwn(labels, key);
      const value = labels[key] ?? "";
      switch (operator) {
        case "In":
          return present && values.includes(value);
        case "NotIn":
          return !present || !values.includes(value);
        case "Exists":
          return present;
        case "DoesNotExist":
          return !present;
        case "Gt":
        case "Lt": {
          if (values.length !== 1) throw new Error(`${operator} takes one value`);
          const limit = integer(values[0] ?? "");
          if (limit === null) throw new Error(`${operator} takes an integer`);
          const number = present ? integer(value) : null;
          if (number === null) return false;
          return operator === "Gt" ? number > limit : number < limit;
        }
        default:
          throw new Error(`no such operator: ${operator}`);
      }
    });
  });
}

/** strconv.ParseInt(value, 10, 64). */
function integer(text: string): bigint | null {
  if (!/^[+-]?\d+$/.test(text)) return null;
  const number = BigInt(text);
  return number >= -(2n ** 63n) && number < 2n ** 63n ? number : null;
}

/** apimachinery, util/validation: IsQualifiedName with a DNS subdomain before the slash, and IsValidLabelValue. */
export function labelProblems(labels: Labels): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const [prefix = "", name = "", rest] = key.split("/");
    const problems: string[] = [];
    if (rest !== undefined || !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(prefix))
      problems.push(`prefix of ${key}`);
    if (!/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(name)) problems.push(`name of ${key}`);
    if (!/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/.test(value))
      problems.push(`value of ${key}: ${value}`);
    return problems;
  });
}
