/** Prints a launch: a command line, JSON or YAML. */

import { shellCommand } from "../launch/shell.ts";
import type { Json, LaunchFormat, LaunchOutput, LaunchRequest } from "../launch/target.ts";
import type { CommandContext } from "./context.ts";

/** Docker and Kubernetes read YAML 1.1, where a bare `no` is false and `12:30` a number: 1.1 quotes what it would take so. */
export const yamlOptions = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;

export async function printLaunch(
  output: LaunchOutput,
  format: LaunchFormat,
  { reference, units = [] }: Pick<LaunchRequest, "reference" | "units">,
  context: CommandContext,
): Promise<void> {
  if (output.form === "documents") return printDocuments(output.documents, format, context);
  const { argv, env } = output.command;
  if (format !== "json") {
    context.out(`${shellCommand(output.command)}\n`);
    return;
  }
  const answer = { schemaVersion: 1, reference, gpus: units.map(({ name }) => name), argv, env };
  context.out(`${JSON.stringify(answer, null, 2)}\n`);
}

/** Several documents are a stream in YAML. JSON has one value: a list as Kubernetes knows it, else an array. */
export async function printDocuments(
  documents: readonly Json[],
  format: LaunchFormat,
  context: CommandContext,
): Promise<void> {
  if (format === "yaml") {
    const { stringify } = await import("yaml");
    const texts = documents.map((document) => stringify(document, yamlOptions));
    context.out(texts.join("---\n"));
    return;
  }
  context.out(`${JSON.stringify(oneValue(documents), null, 2)}\n`);
}

function oneValue(documents: readonly Json[]): unknown {
  if (documents.length === 1) return documents[0];
  const isKubernetes = documents.every(
    (each) => typeof each === "object" && each !== null && "apiVersion" in each,
  );
  return isKubernetes ? { apiVersion: "v1", kind: "List", items: documents } : documents;
}
