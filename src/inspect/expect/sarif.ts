/** Writes failed expectations as SARIF, for code scanning and editors. Source: OASIS, "SARIF Version 2.1.0". */

import type { OwnFile } from "../../io/replace-own-file.ts";
import { version } from "../../version.ts";
import { type ExpectationAnswer, type UnmetExpectation, unmetText } from "./expectation-rules.ts";
import { expectationWords } from "./expectation-words.ts";

const $schema = "https://json.schemastore.org/sarif-2.1.0.json";

export const sarifFile: OwnFile = { start: `{\n  "$schema": "${$schema}",\n`, what: "SARIF report" };

function titleOf(kind: UnmetExpectation["kind"]): string {
  if (kind === "target") return "GPU code for a target";
  return kind === "pattern" ? "Artifacts that are expected" : expectationWords[kind].title;
}

export function sarifOf({ failures }: ExpectationAnswer): string {
  const kinds = [...new Set(failures.map(({ kind }) => kind))].sort();
  const driver = {
    name: "imgmatch",
    version,
    rules: kinds.map((id) => ({ id, shortDescription: { text: titleOf(id) } })),
  };
  const log = {
    $schema,
    version: "2.1.0",
    runs: [{ tool: { driver }, results: failures.map((each) => resultOf(each, kinds)) }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function resultOf(unmet: UnmetExpectation, kinds: readonly string[]): object {
  return {
    ruleId: unmet.kind,
    ruleIndex: kinds.indexOf(unmet.kind),
    level: "error",
    message: { text: unmetText(unmet) },
    locations: [
      {
        physicalLocation: placeOf(unmet),
        ...(unmet.file === null ? {} : { logicalLocations: [{ fullyQualifiedName: unmet.file }] }),
      },
    ],
  };
}

/** The word in its file; for a word of a flag the artifact itself, which has no lines. */
function placeOf({ subject, at }: UnmetExpectation): object {
  const { file, line = 1, column = 1 } = at.line === undefined ? { file: subject ?? "" } : at;
  return { artifactLocation: { uri: uriOf(file) }, region: { startLine: line, startColumn: column } };
}

/** SARIF's readers expect relative paths. */
function uriOf(path: string): string {
  const uri = encodeURI(path.replace(/^\.\//, "")).replace(/[?#]/g, encodeURIComponent);
  return path.startsWith("/") ? `file://${uri}` : uri;
}
