/** What `verify --provenance` found, for people. */

import { formatProblem } from "../../errors.ts";
import type { ImageProvenance, ProvenanceVerification } from "../../trust/provenance/verify-provenance.ts";
import type { Style } from "./style.ts";
import { count } from "../../io/table.ts";

const mostSilent = 5;

/** Problems first, then how many are as the lock says, and what is not known of them. */
export function provenanceLines({ signed, images }: ProvenanceVerification, style: Style): string[] {
  const good = images.filter(({ problems }) => problems.length === 0);
  const problems = images.flatMap((image) => image.problems.map(formatProblem));
  const who = new Set(good.map(({ by }) => by));
  const whose = good.length === 0 ? "" : ` by provenance of ${[...who].join(" and ")}`;
  return [
    ...problems.map((text) => style.bad(text)),
    `${count(good.length, "image")} as the lock says${whose}, ${signatureOf(good, signed)}`,
    ...silentLines(good),
  ];
}

function signatureOf(good: readonly ImageProvenance[], signed: boolean): string {
  if (signed) return "signed by whom was asked for";
  const plain = good.filter(({ signature }) => signature === "unsigned").length;
  if (plain === good.length) return "unsigned: whoever may write to the repository may have written it";
  return plain === 0 ? "signed, and by whom was not asked" : `${plain} of them unsigned`;
}

function silentLines(good: readonly ImageProvenance[]): string[] {
  const cells = new Map<string, number>();
  for (const claim of good.flatMap(({ unstated }) => unstated)) cells.set(claim, (cells.get(claim) ?? 0) + 1);
  if (cells.size === 0) return [];
  const named = [...cells].slice(0, mostSilent).map(([claim, number]) => `${claim} (${number})`);
  return [`not attested: ${named.join(", ")}${cells.size > mostSilent ? " …" : ""}`];
}
