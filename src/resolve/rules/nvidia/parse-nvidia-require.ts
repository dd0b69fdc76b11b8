/**
 * Reads and evaluates `NVIDIA_REQUIRE_*`: conditions that NVIDIA's container runtime checks before it starts a container.
 * A space is OR, a comma is AND; a condition is property, operator, value: `cuda>=12.6 brand=tesla,driver>=470,driver<471`.
 *
 * Sources: NVIDIA container toolkit, internal/requirements/constraints (grammar, unknown properties are skipped, the name is
 * case sensitive); libnvidia-container, src/cli/dsl.c and configure.c (versions compare as numbers, every visible GPU is asked).
 */

import { compareVersions, parseVersion, type VersionParts } from "../../../hardware/driver-version.ts";

/** Alternatives, each a list of conditions that must all hold. */
export interface RequireExpression {
  readonly alternatives: readonly (readonly RequireCondition[])[];
}

export interface RequireCondition {
  readonly property: string;
  readonly operator: RequireOperator;
  readonly value: string;
}

/** The longer operators are tried first. */
export const requireOperators = ["!=", "<=", ">=", "=", "<", ">"] as const;
export type RequireOperator = (typeof requireOperators)[number];

/** The values of a host and one of its GPUs that the conditions compare; null is unknown. */
export interface RequireSubject {
  readonly cuda: VersionParts | null;
  readonly driver: VersionParts | null;
  readonly arch: VersionParts | null;
  readonly brand: string | null;
}

/**
 * Reads an expression; null when the runtime would refuse it. Empty conditions (`,,`) are dropped as the runtime does.
 *
 * @example
 * parseRequire("cuda>=12.6 brand=tesla,driver>=535"); // two alternatives, the second with two conditions
 */
export function parseRequire(text: string): RequireExpression | null {
  const alternatives: RequireCondition[][] = [];
  for (const term of text.split(" ")) {
    const conditions: RequireCondition[] = [];
    for (const factor of term.split(",")) {
      if (factor.trim() === "") continue;
      const condition = parseCondition(factor);
      if (condition === null) return null;
      conditions.push(condition);
    }
    if (conditions.length > 0) alternatives.push(conditions);
  }
  return { alternatives };
}

/**
 * null if an unknown fact decides. Conditions on unknown properties are skipped. An alternative of such conditions alone does not count, and an
 * expression without alternatives always holds.
 */
export function evaluateRequire(
  { alternatives }: RequireExpression,
  subject: RequireSubject,
): boolean | null {
  const known = alternatives
    .map((conditions) => conditions.filter(({ property }) => Object.hasOwn(properties, property)))
    .filter((conditions) => conditions.length > 0);
  if (known.length === 0) return true;
  const results = known.map((conditions) => {
    const parts = conditions.map((condition) => evaluateCondition(condition, subject));
    if (parts.includes(false)) return false;
    return parts.includes(null) ? null : true;
  });
  if (results.includes(true)) return true;
  return results.includes(null) ? null : false;
}

const properties = {
  cuda: "version",
  driver: "version",
  arch: "version",
  brand: "name",
} as const satisfies Record<keyof RequireSubject, "version" | "name">;

function parseCondition(text: string): RequireCondition | null {
  const end = text.search(/[<>=!]/);
  if (end === -1) return null;
  const property = text.slice(0, end);
  const rest = text.slice(end);
  const operator = requireOperators.find((candidate) => rest.startsWith(candidate));
  if (operator === undefined) return null;
  const value = rest.slice(operator.length);
  const condition = { property, operator, value };
  return isUsable(condition) ? condition : null;
}

function isUsable({ property, operator, value }: RequireCondition): boolean {
  if (!isKnown(property)) return true;
  if (properties[property] === "version") return parseVersion(value) !== null;
  // Brands have no order: libnvidia-container answers "invalid expression".
  return value !== "" && (operator === "=" || operator === "!=");
}

function evaluateCondition(
  { property, operator, value }: RequireCondition,
  subject: RequireSubject,
): boolean | null {
  if (!isKnown(property)) return true;
  if (property === "brand") {
    if (subject.brand === null) return null;
    const same = subject.brand.toLowerCase() === value.toLowerCase();
    return operator === "=" ? same : !same;
  }
  const actual = subject[property];
  const wanted = parseVersion(value);
  return actual === null || wanted === null ? null : holds[operator](compareVersions(actual, wanted));
}

/** By the difference of the actual and the wanted version. */
const holds: Readonly<Record<RequireOperator, (difference: number) => boolean>> = {
  "=": (difference) => difference === 0,
  "!=": (difference) => difference !== 0,
  "<": (difference) => difference < 0,
  "<=": (difference) => difference <= 0,
  ">": (difference) => difference > 0,
  ">=": (difference) => difference >= 0,
};

function isKnown(property: string): property is keyof RequireSubject {
  return Object.hasOwn(properties, property);
}
