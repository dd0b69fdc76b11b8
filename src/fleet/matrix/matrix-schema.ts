/** The shape of `matrix.yaml`. */

import { z } from "zod";
import { orderSteps } from "../../resolve/order-steps.ts";
import {
  accelValue,
  type ArgumentTexts,
  args,
  base,
  compiler,
  computeValue,
  cudaValue,
  freeAxis,
  marchValue,
  ownText,
  parent,
  pattern,
  patterns,
  platformValue,
  life,
  settings,
  text,
  variable,
  when,
} from "./value-schemas.ts";

const steps = Object.keys(orderSteps);

const namedCase = z.object({ ...settings, ...life, when, value: ownText.optional() }).catchall(ownText);

const attest = z
  .strictObject({
    provenance: z
      .enum(["max", "min", "false"])
      .optional()
      .describe("Provenance of each image: min, max, or false, the default."),
    sbom: z
      .union([
        z.enum(["true", "false"]),
        z.strictObject({ generator: text.describe("Image of the scanner that makes it.") }),
      ])
      .optional()
      .describe("true: attest a list of each image's contents. Only BuildKit makes one."),
  })
  .describe(
    "Attestations that are pushed beside every image. They are no input of the image. Default: none.",
  );

const version = z
  .union([
    text,
    z.strictObject({
      env: variable.optional().describe("The environment variable that holds the version."),
      default: text.optional().describe("With env: where the variable is not set, or empty."),
      git: z
        .enum(["describe", "commit"])
        .optional()
        .describe("describe: the nearest tag; commit: HEAD. Both with -dirty for changed files."),
    }),
  ])
  .describe("Version of the fleet, for tags and labels: a text, env or git.");

export const matrixSchema = z.strictObject({
  $schema: text.optional(),
  name: text
    .regex(
      /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/,
      "must be lower-case letters, digits and single separators . _ -",
    )
    .describe("Last part of the image's name: lower-case letters, digits and single . _ -"),
  version,
  registry: text.describe("Registry and path in front of the name: registry.example.com/team."),
  source: text.optional().describe("URL of the sources."),
  template: text.describe(
    "A Dockerfile, or a Handlebars template of a Dockerfile (.hbs), relative to this file.",
  ),
  context: text.optional().describe("Build context, relative to this file. Default: the template's folder."),
  contexts: settings.contexts.describe(
    "Folders that COPY --from and RUN --mount name: { src: ../lib }, relative to this file.",
  ),
  tag: text
    .describe("Tag template: {{version}}, {{cell}}, {{inputs}}, {{platform}} and every axis by name.")
    .optional(),
  channels: z
    .record(text, patterns)
    .optional()
    .describe(
      "Names for promote to move, each with its cells, written as for --only. {{cuda.short}} in a name: a channel for each.",
    ),
  variants: z
    .array(text)
    .min(1)
    .optional()
    .describe(
      "Tag templates: cells with one text are one index over platforms, beside the version's: {{version}}-{{cuda.short}}.",
    ),
  target: text.optional().describe("Stage to build. Default: the last."),
  runner: settings.runner,
  timeout: settings.timeout,
  freeDisk: settings.freeDisk,
  guard: settings.guard,
  args: args
    .optional()
    .describe(
      "Build arguments, each a template: {{march.flags}}. Never secrets: they stay in the image's history.",
    ),
  notSecret: z
    .array(variable)
    .min(1)
    .optional()
    .describe("Names of arguments and variables that look like secrets by their names alone, and are none."),
  labels: z.record(text, z.string()).optional().describe("Extra labels of every image."),
  base: base.optional(),
  replaceBases: z
    .record(text, text)
    .optional()
    .describe("Replacements of base images, by the name that the Dockerfile has for each."),
  compiler: compiler.optional(),
  prefer: z
    .array(
      text.regex(
        new RegExp(`^(${steps.join("|")}|[a-z][a-z0-9_]*=.+)$`),
        `is no step of the order: ${steps.join(", ")}, or axis=value`,
      ),
    )
    .optional()
    .describe(
      `The criteria that resolve looks at first among images that fit: ${steps.join(", ")}, or axis=label.`,
    ),
  plainPull: z
    .enum(["baseline", "least"])
    .optional()
    .describe(
      "A plain pull of the version gets an image that every machine of the platform starts, or none (baseline, the default), or the least demanding image (least).",
    ),
  measure: z
    .enum(["true", "false"])
    .optional()
    .describe("false: builds do not open their images, and the declared requirement holds. Default: true."),
  attest: attest.optional(),
  axes: z
    .object({
      cuda: z.array(cudaValue).min(1).optional(),
      accel: z
        .array(accelValue)
        .min(1)
        .optional()
        .describe("In place of cuda: accelerators of several vendors in one matrix."),
      compute: z.array(computeValue).min(1).optional(),
      platform: z.array(platformValue).min(1).optional(),
      march: z.array(marchValue).min(1).optional(),
    })
    .catchall(freeAxis)
    .describe(
      "Hardware axes cuda or accel, compute, platform and march; any other name is an axis that a user pins.",
    ),
  values: z
    .record(text, z.array(namedCase).min(1))
    .optional()
    .describe("Texts that depend on several axes: of each the first case that a cell meets."),
  exclude: z
    .array(z.object({ reason: text }).catchall(pattern))
    .optional()
    .describe("Cells not to build, each rule with its reason."),
  include: z
    .array(z.record(text, z.unknown()))
    .optional()
    .describe("Cells beside the product: for every axis a value, or a rule as in exclude."),
});

/** As the file has it. */
export type WrittenMatrix = z.infer<typeof matrixSchema>;
export type MatrixInput = Omit<WrittenMatrix, "args"> & ArgumentTexts;
export type VersionInput = MatrixInput["version"];

/** The keys that a mapping of the matrix may have, by its path. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(matrixSchema.shape);
  if (path[0] === "attest") return path.length === 1 ? ["provenance", "sbom"] : ["generator"];
  if (path[0] === "version") return ["env", "default", "git"];
  if (path[0] === "axes" && path.length === 2) return ["free", "values"];
  if (path.at(-2) === "args") return ["env", "default"];
  if (path.includes("base")) return Object.keys(parent.shape);
  if (path.includes("driver")) return ["mode", "minimum", "version", "package", "cuda", "branches"];
  if (path.at(-2) === "when" || (path[0] === "exclude" && path.length === 3)) return ["not"];
  return path.includes("cases") ? ["when", "value"] : ["reason"];
}
