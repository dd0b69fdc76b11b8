/** What `imgmatch init --from` has written, and which lines of the Dockerfile are to change. */

import type { InitFrom } from "../../fleet/init/init-from.ts";
import { count } from "../../io/table.ts";

export function initLines({ written, cells, template, edits }: Omit<InitFrom, "notes">): readonly string[] {
  const wrote = `wrote ${written.join(", ")}: ${count(cells, "image")} of ${template}`;
  if (edits.length === 0) return [wrote, "next: imgmatch plan"];
  const changes = edits.flatMap(({ line, kind, text }) =>
    kind === "before" ? [`  before line ${line}: ${text}`] : [`  in place of line ${line}: ${text}`],
  );
  return [wrote, `change ${template}:`, ...changes, "then: imgmatch plan"];
}
