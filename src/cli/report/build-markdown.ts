/** A build as Markdown, for a job's summary. */

import { type BuildAnswer, summaryEvent } from "../../fleet/run/build-events.ts";
import { count } from "../../io/table.ts";
import { failuresByCause } from "./build-reporters.ts";
import { cellsOf } from "./causes.ts";
import { cut, escaped, mostBytes, tableWithin } from "./markdown.ts";

/** A row for each cause of failures; the images that were built are counted. */
export function buildMarkdown(matrix: string, answer: BuildAnswer): readonly string[] {
  const { built, adopted, failed, interrupted, kept } = summaryEvent(answer);
  const failures = failuresByCause(answer.results).map((alike) => {
    const [{ problems, log }] = alike;
    const [{ code, message }] = problems;
    return [code, cellsOf(alike), cut(message), log ?? ""];
  });
  const indexes = [answer.index, ...answer.variants].flatMap((index) => index ?? []);
  return [
    `### ${escaped(matrix)}`,
    "",
    `${built} built, ${adopted} adopted, ${failed} failed, ${interrupted} not done, ${kept} kept.`,
    ...(failures.length === 0
      ? []
      : ["", ...tableWithin(mostBytes, ["problem", "cell", "", "log"], failures)]),
    ...indexes.flatMap(({ how, cells, reference }) => [
      "",
      `index ${how}, ${count(cells, "image")}: ${escaped(reference)}`,
    ]),
  ];
}
