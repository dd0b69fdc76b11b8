/** Writes a launch as a command line, as JSON, or as YAML that means the same in versions 1.1 and 1.2. */

import type { Tags } from "yaml";
import { hasPrintableLines } from "../../printable.ts";
import type { Joined } from "./gpu-pairs.ts";
import { shellCommand } from "./shell.ts";
import type { Json, LaunchCommand, LaunchFormat, LaunchOutput, LaunchRequest } from "./target.ts";

export type LaunchAnswer = CommandLaunch | DocumentLaunch;

/** A command to type. */
export interface CommandLaunch extends LaunchCommand {
  readonly schemaVersion: 1;
  readonly reference: LaunchRequest["reference"];
  /** The names of the container's GPUs. */
  readonly gpus: readonly string[];
  /** How the GPUs are joined, where several were asked for by their number. */
  readonly joined?: Joined;
}

/** Documents for the system's own tool. */
export interface DocumentLaunch {
  readonly documents: readonly Json[];
}

export function launchAnswer(
  output: LaunchOutput,
  {
    reference,
    units = [],
    joined,
  }: Pick<LaunchRequest, "reference" | "units"> & { readonly joined?: Joined | undefined },
): LaunchAnswer {
  if (output.form === "documents") return { documents: output.documents };
  const { argv, env } = output.command;
  return {
    schemaVersion: 1,
    reference,
    gpus: units.map(({ name }) => name),
    ...(joined !== undefined && { joined }),
    argv,
    env,
  };
}

/**
 * Writes the output of `imgmatch launch`, with a final newline. Throws `LAUNCH_UNSUPPORTED` for a word that a terminal does not show as it is.
 *
 * @example
 * await formatLaunch(await launch({ target: "docker" }), "shell"); // docker run … repo:tag@sha256:…
 */
export async function formatLaunch(answer: LaunchAnswer, format: LaunchFormat): Promise<string> {
  if ("documents" in answer) return formatDocuments(answer.documents, format);
  return format === "json" ? jsonText(answer) : `${shellCommand(answer)}\n`;
}

/** Several documents are a stream in YAML. In JSON they are a Kubernetes List, or else an array. */
export async function formatDocuments(documents: readonly Json[], format: LaunchFormat): Promise<string> {
  if (format === "json") return jsonText(oneValue(documents));
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

/** Docker and Kubernetes read YAML 1.1, where a bare `no` is false and `12:30` a number. Version 1.1 of the writer quotes them. */
const yamlOptions = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;

/** As long as the package knows the merge type, it never quotes `<<`. */
function withoutMerge(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === "string" || tag.tag !== "tag:yaml.org,2002:merge");
}

/** Printable characters that YAML 1.1 refuses (5.1 Character Set). */
const refused = /[\ufffe\uffff]/g;

/**
 * Texts that YAML 1.1 misreads without quotes: `=` and `<<` are types (yaml.org/type/value.html, merge.html), PyYAML stops at a tab, and the
 * blanks of blank lines count as indentation.
 */
const quoted = /^(=|<<)$|\t|^[ \n]*$/;

/** One document, with a final newline. */
export async function yamlText(value: Json): Promise<string> {
  const { Document, visit } = await import("yaml");
  const document = new Document(value, { ...yamlOptions, customTags: withoutMerge });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== "string") return;
      const isPlain = hasPrintableLines(node.value) && node.value.search(refused) < 0;
      if (!isPlain || quoted.test(node.value)) node.type = "QUOTE_DOUBLE";
    },
  });
  // Only double quotes know escapes, and the package does not escape these characters there.
  return [...document.toString(yamlOptions)].map(escapeOutsider).join("");
}

/** YAML's escape of a whole code point (5.7 Escape Sequences): unlike JSON it knows no surrogate halves. */
function escapeOutsider(character: string): string {
  if (hasPrintableLines(character) && character.search(refused) < 0) return character;
  const code = character.codePointAt(0) ?? 0;
  const [letter, digits] = code > 0xffff ? ["U", 8] : ["u", 4];
  return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
}
