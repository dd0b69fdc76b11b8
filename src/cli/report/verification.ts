/** What a registry holds of a lock, for people. */

import { lockPath } from "../../lock/lock.ts";
import type { Sweep } from "../../fleet/publish/sweep.ts";
import type { Drift, Verification } from "../../fleet/publish/verify-lock.ts";
import type { Style } from "./style.ts";
import { count, formatTable } from "../../io/table.ts";

/** What was asked: the next step depends on it. */
interface Asked {
  readonly lock: string;
  readonly heal?: boolean;
  /** Whether others built the images. */
  readonly adopted: boolean;
}

export function verificationLines(
  { intact, unpublished, drift, conflicts }: Verification,
  asked: Asked,
  style: Style,
): readonly string[] {
  const rows = drift.map((found) => [
    found.healed ? "healed" : found.finding,
    found.cell,
    found.reference,
    detail(found),
  ]);
  const lines = formatTable(rows).map((line, index) =>
    drift[index]?.healed ? style.good(line) : style.bad(line),
  );
  const open = drift.filter(({ healed }) => !healed);
  const parts = [
    `${count(intact, "image")} as the lock says`,
    ...(drift.length > 0 ? [`${drift.length} not`] : []),
    ...(drift.length > open.length ? [`${drift.length - open.length} healed`] : []),
    ...(unpublished.length > 0 ? [`${unpublished.length} never pushed`] : []),
  ];
  const wrong = conflicts.flatMap(({ code, message, fix }) => [
    style.bad(`${code}: ${message}`),
    ...(fix === undefined ? [] : [`  fix: ${fix}`]),
  ]);
  return [...lines, parts.join(", "), ...wrong, ...advice(open, asked)];
}

export function sweepLines({ removed, emptied }: Sweep): readonly string[] {
  const all = removed.length + emptied.length;
  if (all === 0) return ["no transient tags"];
  return [
    `${count(removed.length, "transient tag")} removed`,
    ...(emptied.length === 0
      ? []
      : [`${count(emptied.length, "transient tag")} emptied, which this registry does not remove`]),
  ];
}

function detail({ finding, digest, found }: Drift): string {
  switch (finding) {
    case "moved":
      return `holds ${found}, the lock says ${digest}`;
    case "vanished":
      return `no such tag; ${digest} is still there`;
    case "lost":
      return `${digest} is gone${found === null ? "" : `; the tag holds ${found}`}`;
  }
}

function advice(open: readonly Drift[], { heal, lock, adopted }: Asked): string[] {
  const canHeal = !heal && open.some(({ finding }) => finding !== "lost");
  const lost = open.filter(({ finding }) => finding === "lost").map(({ cell }) => cell);
  const where = lock === lockPath ? "" : ` --lock ${lock}`;
  return [
    ...(canHeal ? ["imgmatch verify --heal gives each tag its digest again"] : []),
    ...(lost.length > 0
      ? [
          adopted ? "what is lost must come back, or leave the lock:" : "what is lost must be built again:",
          `  imgmatch lock${where} rm ${lost.join(" ")}`,
          ...(adopted ? [] : [`  imgmatch build --push${where} --only ${lost.join(",")}`]),
        ]
      : []),
  ];
}
