/** Failed expectations for readers of SARIF: code scanning, editors. Source: OASIS, "SARIF Version 2.1.0". */

import type { OwnFile } from "../../io/replace-own-file.ts";
import { version } from "../../version.ts";
import { type ExpectationAnswer, type UnmetExpectation, unmetText } from "./expectation-rules.ts";

const $schema = "https://json.schemastore.org/sarif-2.1.0.json";

export const sarifFile: OwnFile = { start: `{\n  "$schema": "${$schema}",\n`, what: "SARIF report" };

const rules: Readonly<Record<UnmetExpectation["kind"], string>> = {
  target: "GPU code for a target",
  ptx: "PTX that a newer driver compiles",
  "no-gpu-code": "No GPU code",
  "gpu-code": "Size of the GPU code",
  cuda: "Version of CUDA",
  driver: "Oldest NVIDIA driver",
  march: "What the code needs of a CPU",
  "may-use": "What the code may use of a CPU",
  glibc: "Oldest glibc",
  musl: "Code for musl",
  pattern: "Artifacts that are expected",
};

export function sarifOf({ failures }: ExpectationAnswer): string {
  const kinds = [...new Set(failures.map(({ kind }) => kind))].sort();
  const driver = {
    name: "imgmatch",
    version,
    rules: kinds.map((id) => ({ id, shortDescription: { text: rules[id] } })),
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

/** Of the word in its file, which lies in the repository; the artifact itself, which has no lines, where the word came from a flag. */
function placeOf({ subject, at }: UnmetExpectation): object {
  const { file, line = 1, column = 1 } = at.line === undefined ? { file: subject ?? "" } : at;
  return { artifactLocation: { uri: uriOf(file) }, region: { startLine: line, startColumn: column } };
}

/** Relative to wherever it is read, as SARIF's readers expect. */
function uriOf(path: string): string {
  const uri = encodeURI(path.replace(/^\.\//, "")).replace(/[?#]/g, encodeURIComponent);
  return path.startsWith("/") ? `file://${uri}` : uri;
}
