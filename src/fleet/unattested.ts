/** Images that stay as they are though the matrix asks for attestations: nobody is to take them for attested. */

import type { BuildSummary } from "./build/fleet-builder.ts";
import type { Problem } from "../errors.ts";
import type { Plan } from "./plan/planned-cell.ts";

const mostNamed = 5;

/**
 * `PROVENANCE_MISSING` for those that the lock kept or the registry had already, if no build of this lock has attested them. The registry is
 * not asked: `verify --provenance` does that.
 */
export function unattestedImages(
  { matrix, cells }: Plan,
  { results }: Pick<BuildSummary, "results">,
): readonly Problem[] {
  if (matrix.attest === null) return [];
  const kept = cells.filter(
    ({ action, locked }) => action === "keep" && locked?.digest && locked.attested === undefined,
  );
  const adopted = results.filter((result) => result.status === "built" && result.how === "adopted");
  const names = [...kept.map(({ cell }) => cell.id), ...adopted.map(({ cell }) => cell)].sort();
  if (names.length === 0) return [];
  const more = names.length > mostNamed ? " …" : "";
  return [
    {
      code: "PROVENANCE_MISSING",
      message: `${names.length === 1 ? "1 image was" : `${names.length} images were`} there already, and no build of this lock has attested ${names.length === 1 ? "it" : "them"}: ${names.slice(0, mostNamed).join(", ")}${more}`,
      fix: "imgmatch verify --provenance lists those with provenance; build --no-cache --push builds them again under new tags",
    },
  ];
}
