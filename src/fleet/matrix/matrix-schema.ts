/**
 * The shape of `matrix.yaml`. Every scalar is text: the file is read with YAML's failsafe schema, because `12.10`
 * unquoted is the number 12.1 to a YAML reader, and a CUDA version to its author.
 */

import { z } from "zod";
import { onPaths } from "../../hardware/requirement.ts";
import { orderSteps } from "../../resolve/order-steps.ts";

// A matrix is read once: functions made for its shapes would take longer to compile than they save.
z.config({ jitless: true });

const text = z.string().min(1);
const steps = Object.keys(orderSteps);

const parent = z.strictObject({
  fleet: text.describe(
    "Matrix of another fleet: the base is its cell with the same values of the shared axes.",
  ),
  pin: z.record(text, text).optional().describe("Values of the other fleet's own axes."),
});

const base = z
  .union([text, z.record(text, z.union([text, parent])), parent])
  .describe("Base image, or several by stage name (build, run). The last one is the run stage's.");

/** Settings that any value may bring for its cells, in place of the matrix's own. */
const settings = {
  template: text.optional().describe("The template of its cells."),
  target: text.optional().describe("The stage that its cells build."),
  context: text.optional().describe("The build context of its cells."),
  repository: text.optional().describe("The repository of its cells' images, instead of registry and name."),
  base: base.optional(),
  args: z.record(text, z.string()).optional().describe("Build arguments of its cells, beside the matrix's."),
  runner: z
    .union([text, z.array(text).min(1)])
    .optional()
    .describe("Labels of the CI machine that builds its cells."),
  timeout: text
    .regex(/^[1-9]\d{0,4}$/, "must be a number of minutes")
    .optional()
    .describe("Minutes that a CI job of its cells may take."),
  freeDisk: z
    .enum(["true", "false"])
    .optional()
    .describe("true: a CI job of its cells makes room on its disk first."),
};

/** A key that nobody else reads: templates see it. */
const ownText = z.union([z.string(), z.array(text).min(1)]);

const compiler = text
  .regex(/^(gcc|clang)[ -]\d+(\.\d+)*$/, "must be gcc or clang and a version: gcc 12.2")
  .describe("Compiler of the base image: gcc 12.2. A march that it does not know is then impossible.");

const driver = z
  .discriminatedUnion("mode", [
    z.strictObject({
      mode: z.literal("host"),
      minimum: text.optional().describe("Only for a toolkit that imgmatch does not know."),
    }),
    z.strictObject({
      mode: z.literal("bundled"),
      version: text.describe("The kernel module must be exactly this."),
    }),
    z.strictObject({
      mode: z.literal("compat"),
      package: text
        .optional()
        .describe("Driver version of the cuda-compat package, when not NVIDIA's latest."),
      cuda: text.optional(),
      branches: z.array(text).optional(),
      onPath: z
        .enum(onPaths)
        .optional()
        .describe(
          "How the image's loader finds the package: always (LD_LIBRARY_PATH), cache (ld.so.conf), never (default): a container toolkit has to load it.",
        ),
    }),
  ])
  .describe(
    "The user-space driver comes from the host (default), the image, or NVIDIA's forward-compatibility package.",
  );

const baseKeys = {
  label: text.optional(),
  platforms: z.array(text).min(1).optional().describe("Platforms of the base images, such as linux/amd64."),
  compiler: compiler.optional(),
  cpuFloor: text.optional().describe("March that the base images' own binaries need: x86-64-v2 for UBI 9."),
};

/** With a toolkit of NVIDIA. */
const toolkitKeys = {
  driver: driver.optional(),
  require: text.optional().describe("NVIDIA_REQUIRE_CUDA of the base image."),
};

const cudaKeys = { ...settings, toolkit: text, ...baseKeys, ...toolkitKeys };

const cudaValue = z.union([
  text.describe("A toolkit version such as 12.8.1, or none for the CPU-only row."),
  z.object(cudaKeys).catchall(ownText),
]);

const accelKeys = {
  ...settings,
  cuda: text.optional().describe("A CUDA toolkit, such as 12.8.1: GPUs of NVIDIA."),
  rocm: text.optional().describe("A ROCm release, such as 7.2: GPUs of AMD."),
  accel: text
    .optional()
    .describe(
      "none for the CPU-only row, or an accelerator that imgmatch does not judge, such as vulkan or sycl.",
    ),
  ...baseKeys,
  ...toolkitKeys,
};

const accelValue = z.union([
  text.describe("none for the CPU-only row, or an accelerator that imgmatch does not judge: vulkan, sycl."),
  z.object(accelKeys).catchall(ownText).describe("One of cuda, rocm and accel, and what it brings."),
]);

const targets = z.union([
  text.describe(
    'Compute capability: "8.0" (SASS), "9.0+ptx" (SASS and PTX), "9.0a", "10.0f". Of AMD: gfx942, gfx90a:xnack-, gfx11-generic, amdgcnspirv.',
  ),
  z.array(text).min(1).describe("Several of one vendor in one image."),
]);

const pattern = z.union([text, z.array(text).min(1)]);

const when = z
  .record(text, pattern)
  .optional()
  .describe("Axes (or platform) and what they have, as in exclude. Default: always.");

const computeKeys = {
  ...settings,
  value: targets.optional(),
  cases: z
    .array(z.strictObject({ when, value: targets }))
    .min(1)
    .optional()
    .describe("In place of value: the first case that a cell meets."),
  label: text.optional(),
};

const computeValue = z.union([...targets.options, z.object(computeKeys).catchall(ownText)]);

const platformKeys = { ...settings, platform: text };

const platformValue = z.union([
  text.describe("linux/amd64, linux/arm64, linux/ppc64le or linux/riscv64."),
  z.object(platformKeys).catchall(ownText),
]);

const marchKeys = {
  ...settings,
  march: text,
  label: text.optional(),
  without: z.array(text).optional(),
};

const marchValue = z.union([
  text.describe("A -march (or -mcpu) name of gcc and clang."),
  z.object(marchKeys).catchall(ownText),
]);

const freeKeys = { ...settings, value: text, label: text.optional() };

const freeValue = z.union([
  text,
  z.object(freeKeys).catchall(ownText).describe("A value with further texts that templates may use."),
]);

const freeValues = z.array(freeValue).min(1);

const freeAxis = z.union([
  freeValues,
  z.strictObject({
    free: z
      .enum(["true", "false"])
      .optional()
      .describe("true: this is a free axis, although its name or its values look like a hardware axis."),
    values: freeValues,
  }),
]);

const namedCase = z.object({ ...settings, when, value: ownText.optional() }).catchall(ownText);

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
      env: text
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable")
        .optional()
        .describe("The environment variable that holds the version."),
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
    "A Dockerfile as it stands, or a Handlebars template of one (.hbs), relative to this file.",
  ),
  context: text.optional().describe("Build context, relative to this file. Default: the template's folder."),
  tag: text
    .describe("Tag template: {{version}}, {{cell}}, {{inputs}}, {{platform}} and every axis by name.")
    .optional(),
  channels: z
    .record(text, pattern)
    .optional()
    .describe(
      "Names that promote moves, each with the cells that it selects, written as for --only. {{cuda.short}} in a name: a channel for each.",
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
  args: z
    .record(text, z.string())
    .optional()
    .describe(
      "Build arguments, each a template: {{march.flags}}. Never secrets: they stay in the image's history.",
    ),
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
    .describe("Cells beside the product: one value for every axis."),
});

/** The keys that a mapping of the matrix may have, by its path. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(matrixSchema.shape);
  if (path[0] === "attest") return path.length === 1 ? ["provenance", "sbom"] : ["generator"];
  if (path[0] === "version") return ["env", "default", "git"];
  if (path[0] === "axes" && path.length === 2) return ["free", "values"];
  if (path.includes("base")) return Object.keys(parent.shape);
  if (path.includes("driver")) return ["mode", "minimum", "version", "package", "cuda", "branches"];
  return path.includes("cases") ? ["when", "value"] : ["reason"];
}

/** The keys that imgmatch reads in a value, by {@link inputKind} of the axis. */
export const valueKeys = {
  cuda: cudaKeys,
  accel: accelKeys,
  compute: computeKeys,
  platform: platformKeys,
  march: marchKeys,
  free: freeKeys,
} as const;

export type MatrixInput = z.infer<typeof matrixSchema>;
export type VersionInput = MatrixInput["version"];
export type CudaInput = z.infer<typeof cudaValue>;
export type AccelInput = z.infer<typeof accelValue>;
export type ComputeInput = z.infer<typeof computeValue>;
export type PlatformInput = z.infer<typeof platformValue>;
export type MarchInput = z.infer<typeof marchValue>;
export type FreeInput = z.infer<typeof freeValue>;
export type FreeAxisInput = z.infer<typeof freeAxis>;
export type DriverInput = z.infer<typeof driver>;
export type BaseInput = z.infer<typeof base>;
const settingsShape = z.object(settings);
export type SettingsInput = z.infer<typeof settingsShape>;
export type ParentInput = z.infer<typeof parent>;

/** How the values of an axis are written, by its name. */
export function inputKind(axis: string): keyof typeof valueSchemas {
  return Object.hasOwn(valueSchemas, axis) ? (axis as keyof typeof valueSchemas) : "free";
}

/** Shapes of single values, for `include`. */
export const valueSchemas = {
  cuda: cudaValue,
  accel: accelValue,
  compute: computeValue,
  platform: platformValue,
  march: marchValue,
  free: freeValue,
} as const;
