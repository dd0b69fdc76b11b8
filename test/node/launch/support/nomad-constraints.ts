/** Nomad's rules for constraints, stated a second time: hashicorp/nomad, scheduler/feasible.go, checkConstraint. */

export interface Constraint {
  readonly LTarget: string;
  readonly Operand: string;
  readonly RTarget: string;
}

export function matchesNomad(
  constraints: readonly Constraint[],
  meta: Readonly<Record<string, string>>,
): boolean {
  return constraints.every(({ LTarget, Operand, RTarget }) => {
    const key = /^\$\{meta\.([A-Za-z0-9_]+)\}$/.exec(LTarget)?.[1];
    if (key === undefined) throw new Error(`no reference to metadata: ${LTarget}`);
    const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
    switch (Operand) {
      case "is_set":
        return value !== undefined;
      case "is_not_set":
        return value === undefined;
      case "=":
        return value === RTarget;
      case "!=":
        return value !== RTarget;
      case "<":
      case ">=": {
        // Both are integers, else text is compared.
        if (value === undefined || !/^\d+$/.test(value) || !/^\d+$/.test(RTarget)) return false;
        return Operand === "<" ? BigInt(value) < BigInt(RTarget) : BigInt(value) >= BigInt(RTarget);
      }
      case "set_contains_any":
        return value?.split(",").some((part) => RTarget.split(",").includes(part)) ?? false;
      default:
        throw new Error(`no such operand: ${Operand}`);
    }
  });
}
