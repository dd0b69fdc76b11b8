/** AMD's GPU code in the report of `imgmatch inspect`. */

import type { AmdTargetCount } from "../inspect/amd/amd-inspection.ts";
import type { InspectedFile } from "../inspect/file-inspection.ts";
import type { ImageInspection } from "../inspect/inspection.ts";
import { groupBy } from "../io/collections.ts";

export const amdLines = {
  code: amdTexts,
  targets: ({ amd }: ImageInspection) => amd?.targets.map(amdName) ?? [],
  cards: cardLines,
  needs: () => [],
} as const;

function amdTexts({ amd }: InspectedFile): readonly string[] {
  if (amd === null) return [];
  return [
    ...amd.targets.map((each) => (amd.modules === 1 ? amdName(each) : `${amdName(each)}×${each.modules}`)),
    ...(amd.unlinked > 0 ? ["not linked"] : []),
    ...Object.keys(amd.unknown).map((what) => `unknown ${what}`),
  ];
}

/** Generic targets have version 1 so far. */
function amdName({ target, version }: Pick<AmdTargetCount, "target" | "version">): string {
  return version === null || version <= 1 ? target : `${target} (version ${version})`;
}

/** Cards that all libraries have code for, and further cards, each with the first library that lacks code. */
function cardLines({ amd }: ImageInspection): readonly (readonly string[])[] {
  if (amd === null) return [];
  const groups = groupBy(amd.cards, ({ without }) => without.join("\n"));
  const names = (of: readonly { readonly target: string }[]) => of.map(({ target }) => target).join(" ");
  const served = groups.get("") ?? [];
  groups.delete("");
  return [
    ["AMD cards", names(served) || "none that all its libraries have code for"],
    ...[...groups.values()].map((of) => {
      const [first, ...more] = of[0]?.without ?? [];
      return [
        "AMD, partly",
        `${names(of)}: no code in ${first}${more.length === 0 ? "" : ` and ${more.length} more`}`,
      ];
    }),
  ];
}
