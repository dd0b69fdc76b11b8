/** The inverse of `parseRequire`: random expressions for tests. */

import type { parseRequire } from "../../../src/resolve/rules/nvidia/parse-nvidia-require.ts";

type Expression = NonNullable<ReturnType<typeof parseRequire>>;

export function formatRequire({ alternatives }: Expression): string {
  return alternatives
    .map((conditions) =>
      conditions.map(({ property, operator, value }) => `${property}${operator}${value}`).join(","),
    )
    .join(" ");
}
