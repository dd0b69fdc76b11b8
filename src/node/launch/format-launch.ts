/** A launch as text: a command line, JSON, or YAML that readers of version 1.1 and 1.2 take for the same. */

import type { Tags } from "yaml";
import { hasPrintableLines } from "../../printable.ts";
import { shellCommand } from "./shell.ts";
import type { Json, LaunchCommand, LaunchFormat, LaunchOutput, LaunchRequest } from "./target.ts";

export type LaunchAnswer = CommandLaunch | DocumentLaunch;

/** A command to type. */
export interface CommandLaunch extends LaunchCommand {
  readonly schemaVersion: 1;
  readonly reference: LaunchRequest["reference"];
  /** Those that the container gets, by name. */
  readonly gpus: readonly string[];
}

/** Documents to hand to the system's own tool. */
export interface DocumentLaunch {
  readonly documents: readonly Json[];
}

/** Turns the output of a target into the answer. */
export function launchAnswer(
  output: LaunchOutput,
  { reference, units = [] }: Pick<LaunchRequest, "reference" | "units">,
): LaunchAnswer {
  if (output.form === "documents") return { documents: output.documents };
  const { argv, env } = output.command;
  return { schemaVersion: 1, reference, gpus: units.map(({ name }) => name), argv, env };
}

/**
 * Writes the output of `imgmatch launch`, with the newline at its end. Throws `LAUNCH_UNSUPPORTED` for a word that no line can show.
 *
 * @example
 * await formatLaunch(await launch({ target: "docker" }), "shell"); // docker run … repo:tag@sha256:…
 */
export async function formatLaunch(answer: LaunchAnswer, format: LaunchFormat): Promise<string> {
  if ("documents" in answer) return formatDocuments(answer.documents, format);
  return format === "json" ? jsonText(answer) : `${shellCommand(answer)}\n`;
}

/** Several documents are a stream in YAML. JSON has one value: a list as Kubernetes knows it, else an array. */
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

/** Docker and Kubernetes read YAML 1.1, where a bare `no` is false and `12:30` a number: 1.1 quotes what it would take so. */
const yamlOptions = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;

/** The package writes `<<` bare, however it is to be quoted, as long as it knows a type that is written so. */
function withoutMerge(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === "string" || tag.tag !== "tag:yaml.org,2002:merge");
}

/**
 * Printable characters that YAML 1.1 refuses as they are, or takes for the end of a line (5.1 Character Set, 5.4 Line Break Characters).
 */
const refused = /[\ufffe\uffff]/g;

/**
 * Texts that a reader of YAML 1.1 takes for something else unless they are quoted: the types of a default value and of a merge
 * (yaml.org/type/value.html, merge.html), a tab, at which PyYAML stops, and a block of blank lines, whose blanks count as indentation.
 */
const quoted = /^(=|<<)$|\t|^[ \n]*$/;

/** A document with the newline at its end. */
export async function yamlText(value: Json): Promise<string> {
  const { Document, visit } = await import("yaml");
  const document = new Document(value, { ...yamlOptions, customTags: withoutMerge });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== "string") return;
      const plain = hasPrintableLines(node.value) && node.value.search(refused) < 0;
      if (!plain || quoted.test(node.value)) node.type = "QUOTE_DOUBLE";
    },
  });
  // Only double quotes know escapes, and there the package writes these characters all the same.
  return [...document.toString(yamlOptions)].map(escapeOutsider).join("");
}

/** Of YAML's escapes the one that fits (5.7 Escape Sequences): half of a character, as JSON knows it, is none there. */
function escapeOutsider(character: string): string {
  if (hasPrintableLines(character) && character.search(refused) < 0) return character;
  const code = character.codePointAt(0) ?? 0;
  const [letter, digits] = code > 0xffff ? ["U", 8] : ["u", 4];
  return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
}
