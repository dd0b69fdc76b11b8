/** What a change would lose, as lines for a terminal and as Markdown for a pull request. */

import { count, firstOf } from "../../io/table.ts";
import { changeKinds, type Comparison, losesHosts, type OutcomeChange } from "../../node/compare-outcomes.ts";
import { details, escaped, mostBytes, tableWithin } from "./markdown.ts";
import type { Style } from "./style.ts";

const words: Readonly<Record<OutcomeChange["kind"], string>> = {
  lost: "lost",
  unproved: "no longer proved",
  slower: "slower",
  faster: "faster",
  gained: "gained",
};

export function comparisonLines(comparison: Comparison, style: Style): readonly string[] {
  return [
    style.strong(headOf(comparison)),
    ...comparison.changes.map(({ kind, why, hosts }) => {
      const paint =
        kind === "lost" ? style.bad : kind === "unproved" || kind === "slower" ? style.warn : style.good;
      return `  ${paint(words[kind])} ${count(hosts.length, "host")}: ${why} (${firstOf(hosts, 5)})`;
    }),
    `  ${restOf(comparison)}`,
  ];
}

/** Names of hosts and subjects may come from anywhere. */
export function comparisonMarkdown(comparison: Comparison): readonly string[] {
  const { changes } = comparison;
  const rows = changes.map(({ kind, why, hosts }) => [
    words[kind],
    String(hosts.length),
    why,
    firstOf(hosts, 5),
  ]);
  const losing = changes.filter(({ hosts }) => hosts.length > 5);
  return [
    `### ${escaped(headOf(comparison))}`,
    "",
    ...(rows.length === 0 ? [] : [...tableWithin(mostBytes / 2, ["", "hosts", "why", "which"], rows), ""]),
    `${escaped(restOf(comparison))}.`,
    ...losing.flatMap(({ kind, why, hosts }) =>
      details(`${words[kind]}: ${why}`, [escaped(firstOf(hosts, 500))]),
    ),
  ];
}

function headOf(comparison: Comparison): string {
  const { subject, against, hosts, changes } = comparison;
  const counts = changeKinds.flatMap((kind) => {
    const all = changes.filter((each) => each.kind === kind).flatMap((each) => each.hosts);
    return all.length === 0 ? [] : [`${all.length} ${words[kind]}`];
  });
  const what = counts.length === 0 ? "no host changes" : counts.join(", ");
  return `${losesHosts(comparison) ? "loses hosts" : "loses no host"}: ${subject} against ${against}, ${count(hosts, "host")}: ${what}`;
}

function restOf({ same, neither }: Comparison): string {
  return `${count(same, "host")} as before, ${count(neither, "host")} with neither`;
}
