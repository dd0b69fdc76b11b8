/** A launch as text: a command line, JSON or YAML. */

import { shellCommand } from "./shell.ts";
import type { Json, LaunchFormat, LaunchOutput, LaunchRequest } from "./target.ts";
import { yamlText } from "./yaml.ts";

/**
 * What `imgmatch launch` prints, with the newline at its end. Throws `LAUNCH_UNSUPPORTED` for a word that no line can show.
 *
 * @example
 * const { docker } = launchTargets;
 * await formatLaunch(docker.launch(request), "shell", request); // docker run … repo:tag@sha256:…
 */
export async function formatLaunch(
  output: LaunchOutput,
  format: LaunchFormat,
  { reference, units = [] }: Pick<LaunchRequest, "reference" | "units">,
): Promise<string> {
  if (output.form === "documents") return formatDocuments(output.documents, format);
  const { argv, env } = output.command;
  if (format !== "json") return `${shellCommand(output.command)}\n`;
  return jsonText({ schemaVersion: 1, reference, gpus: units.map(({ name }) => name), argv, env });
}

/** Several documents are a stream in YAML. JSON has one value: a list as Kubernetes knows it, else an array. */
export async function formatDocuments(documents: readonly Json[], format: LaunchFormat): Promise<string> {
  if (format !== "yaml") return jsonText(oneValue(documents));
  return (await Promise.all(documents.map(yamlText))).join("---\n");
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function oneValue(documents: readonly Json[]): unknown {
  if (documents.length === 1) return documents[0];
  const isKubernetes = documents.every(
    (each) => typeof each === "object" && each !== null && "apiVersion" in each,
  );
  return isKubernetes ? { apiVersion: "v1", kind: "List", items: documents } : documents;
}
