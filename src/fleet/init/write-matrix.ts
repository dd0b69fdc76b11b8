/** Writes the matrix for `init --from Dockerfile`. */

import type { Compiler } from "../matrix/matrix.ts";
import type { ArgumentTemplates } from "./vary-march.ts";

export interface ProposedMatrix {
  readonly name: string;
  readonly registry: string;
  /** Paths from the matrix. */
  readonly template: string;
  readonly context: string;
  readonly args: ArgumentTemplates;
  readonly notSecret: readonly string[];
  readonly compiler: Compiler | null;
  readonly marches: readonly string[];
  readonly gpus: ProposedGpus | null;
  readonly pythons: readonly string[];
}

export interface ProposedGpus {
  readonly args: ArgumentTemplates;
  /** The line of the accelerators' axis. */
  readonly accel: string;
  /** That line with `unknown`, which the user has to fill in, with the GPUs. */
  readonly toFill?: string;
  readonly note?: string;
  readonly computes: readonly (string | readonly string[])[];
}

/** @param isPlanned true for the text that shows that the matrix can be planned; else what the user has to fill in is `unknown` */
export function matrixText(proposed: ProposedMatrix, isPlanned: boolean): string {
  const { name, registry, template, context, args, notSecret, compiler, marches, gpus, pythons } = proposed;
  const folder = template.includes("/") ? template.slice(0, template.lastIndexOf("/")) : ".";
  const lines = [
    "# yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json",
    `name: ${text(name)}`,
    'version: "0.1.0"',
    `registry: ${text(registry)}`,
    `template: ${text(template)} # used as it stands`,
    ...(context === folder ? [] : [`context: ${text(context)}`]),
    ...(Object.keys(args).length === 0
      ? []
      : ["# What a build is given for the ARGs of that name; each is a template.", "args:"]),
    ...Object.entries(args).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`),
    ...(notSecret.length === 0 ? [] : [`notSecret: ${list(notSecret)}`]),
    ...(compiler === null
      ? []
      : [
          `compiler: ${compiler.family} ${compiler.version} # of the base image: a march that it does not know is not built`,
        ]),
    "",
    "axes:",
    ...(gpus === null
      ? []
      : !isPlanned && gpus.toFill !== undefined
        ? [`  ${gpus.toFill}`, "  compute: [unknown]"]
        : [
            `  ${gpus.accel}`,
            `  compute: [${gpus.computes.map((each) => (typeof each === "string" ? text(each) : list(each))).join(", ")}]`,
          ]),
    `  march: ${list(marches)}`,
    ...(pythons.length === 0 ? [] : [`  python: ${list(pythons)}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function list(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}

/** Quotes a text that some reader of YAML could take for something else. */
function text(value: string): string {
  return /^[A-Za-z][\w./:-]*$/.test(value) &&
    !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value) &&
    !value.endsWith(":")
    ? value
    : JSON.stringify(value);
}
