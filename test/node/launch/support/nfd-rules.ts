/**
 * Node Feature Discovery's rules for a group of nodes, stated a second time: kubernetes-sigs/node-feature-discovery v0.19.0,
 * pkg/apis/nfd/nodefeaturerule (rule.go, expression.go). It knows nothing of imgmatch.
 */

export interface Rule {
  readonly matchAny: readonly {
    readonly matchFeatures: readonly {
      readonly feature: string;
      readonly matchExpressions: Readonly<
        Record<string, { readonly op: string; readonly value?: readonly string[] }>
      >;
    }[];
  }[];
}

/** By feature ("local.label"), its elements. */
export type NodeFeatures = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** One alternative is enough; all features of one must match, and all expressions of a feature. */
export function matchesRule({ matchAny }: Rule, features: NodeFeatures): boolean {
  return matchAny.some(({ matchFeatures }) =>
    matchFeatures.every(({ feature, matchExpressions }) => {
      const elements = features[feature];
      if (elements === undefined) return false;
      return Object.entries(matchExpressions).every(([name, { op, value }]) =>
        matches(op, value, Object.hasOwn(elements, name) ? elements[name] : undefined),
      );
    }),
  );
}

function matches(op: string, wanted: readonly string[] = [], found: string | undefined): boolean {
  const takes = (count: number, right: boolean): void => {
    if (!right) throw new Error(`${op} does not take ${count} values`);
  };
  switch (op) {
    case "Exists":
    case "DoesNotExist":
      takes(wanted.length, wanted.length === 0);
      return (found !== undefined) === (op === "Exists");
    case "In":
    case "NotIn":
      takes(wanted.length, wanted.length > 0);
      return found !== undefined && wanted.includes(found) === (op === "In");
    case "Gt":
    case "Lt":
    case "GtLt": {
      takes(wanted.length, wanted.length === (op === "GtLt" ? 2 : 1));
      const [first = 0n, second = 0n] = wanted.map(integer);
      if (op === "GtLt" && first >= second) throw new Error("the first value of GtLt is the lower one");
      if (found === undefined) return false;
      const number = integer(found);
      return op === "Lt" ? number < first : number > first && (op === "Gt" || number < second);
    }
    default:
      throw new Error(`no such operator: ${op}`);
  }
}

/** strconv.Atoi of a 64-bit machine. */
function integer(text: string): bigint {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`not a number: ${text}`);
  return BigInt.asIntN(64, BigInt(text));
}
