/**
 * The shapes of the values of axes in `matrix.yaml`. Every scalar is text: the file is read with YAML's failsafe schema, because `12.10`
 * unquoted is the number 12.1 to a YAML reader, and a CUDA version to its author.
 */

import { z } from "zod";
import { isDay } from "../../lock/lock.ts";
import { onPaths } from "../../lock/requirement.ts";

// zod compiles a function for each shape by default. A matrix is read once, so that compiling takes longer than it saves.
z.config({ jitless: true });

export const text = z.string().min(1);

export const parent = z.strictObject({
  fleet: text.describe(
    "Matrix of another fleet: the base is its cell with the same values of the shared axes.",
  ),
  pin: z.record(text, text).optional().describe("Values of the other fleet's own axes."),
});

export const base = z
  .union([text, z.record(text, z.union([text, parent])), parent])
  .describe("Base image, or several by stage name (build, run). The last one is the run stage's.");

export const contextName = /^(?!scratch$)[a-z][a-z0-9]*([._-][a-z0-9]+)*$/;
/** A relative path: no URL, no `target:` and no other word of BuildKit. */
export const contextFolder = /^(?![a-z][a-z0-9+.-]*:|git@|[/~\\])/i;

/** The name of a variable of the environment. */
export const variable = text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable");

export const args = z.record(
  text,
  z.union([
    z.string(),
    z.strictObject({
      env: variable.describe("The environment variable that holds the argument: an input of the image."),
      default: z.string().describe("The argument where the variable is not set, or empty."),
    }),
  ]),
);

/** Settings that any value may bring for its cells, in place of the matrix's own. */
export const settings = {
  template: text.optional().describe("The template of its cells."),
  target: text.optional().describe("The stage that its cells build."),
  context: text.optional().describe("The build context of its cells."),
  contexts: z
    .record(
      text.regex(contextName, "must be lower-case letters, digits and single . _ -"),
      text.regex(contextFolder, "must be a folder, relative to this file"),
    )
    .optional()
    .describe("Folders that COPY --from and RUN --mount name, in place of the matrix's."),
  repository: text.optional().describe("The repository of its cells' images, instead of registry and name."),
  base: base.optional(),
  args: args.optional().describe("Build arguments of its cells, beside the matrix's."),
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
  guard: z
    .enum(["true", "false"])
    .optional()
    .describe("true: before its program starts, an image asks the host whether it runs there."),
};

/** What any value may have beside its settings. */
export const life = {
  deprecated: text
    .refine(isDay, "must be a day: 2026-12-31")
    .optional()
    .describe(
      "From this day on its images are deprecated: plan and resolve warn. No input of an image, and no template sees it.",
    ),
};

/** A key that imgmatch does not read. Templates see it. */
export const ownText = z.union([z.string(), z.array(text).min(1)]);

export const compiler = text
  .regex(/^(gcc|clang)[ -]\d+(\.\d+)*$/, "must be gcc or clang and a version: gcc 12.2")
  .describe("Compiler of the base image: gcc 12.2. A march that it does not know is then impossible.");

const links = z
  .record(text.regex(/^lib[\w.+-]+$/, "must be the name of a library: libnvdla_compiler.so"), text)
  .optional()
  .describe(
    "For Jetson: libraries of the host's driver that JetPack 7 has dropped, each with the file of the images that is linked with the library. {}: none is loaded.",
  );

const driver = z
  .discriminatedUnion("mode", [
    z.strictObject({
      mode: z.literal("host"),
      minimum: text
        .optional()
        .describe(
          "The oldest driver. Default: the floor of the toolkit's major. Needed for a toolkit of a major that imgmatch does not know.",
        ),
      l4t: text
        .regex(/^\d+$/, 'must be the major of an L4T release: "36"')
        .optional()
        .describe('Major of the L4T release on which the images are built, for Jetson: "36" is JetPack 6.'),
      links,
    }),
    z.strictObject({
      mode: z.literal("bundled"),
      version: text.describe("The kernel module must be exactly this."),
    }),
    z.strictObject({
      mode: z.literal("compat"),
      for: z
        .literal("jetson")
        .optional()
        .describe(
          "The package is one for Jetson, whose libcuda runs nowhere else. Without this, one for servers.",
        ),
      package: text
        .optional()
        .describe(
          "Driver version of the cuda-compat package, when not NVIDIA's latest. A package for Jetson has its CUDA version.",
        ),
      cuda: text.optional(),
      branches: z.array(text).optional(),
      onPath: z
        .enum(onPaths)
        .optional()
        .describe(
          "How the image's loader finds the package: always (LD_LIBRARY_PATH), cache (ld.so.conf), never (default): a container toolkit has to load it.",
        ),
      links,
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

/** Keys of a CUDA toolkit. */
const toolkitKeys = {
  driver: driver.optional(),
  require: text.optional().describe("NVIDIA_REQUIRE_CUDA of the base image."),
};

const cudaKeys = { ...settings, ...life, toolkit: text, ...baseKeys, ...toolkitKeys };

export const cudaValue = z.union([
  text.describe("A toolkit version such as 12.8.1, or none for the CPU-only row."),
  z.object(cudaKeys).catchall(ownText),
]);

/** A vendor's toolkit, by the key that its row in `gpu-axes.ts` has. */
const releaseKeys = {
  cuda: text.optional().describe("A CUDA toolkit, such as 12.8.1: GPUs of NVIDIA."),
  rocm: text.optional().describe("A ROCm release, such as 7.2: GPUs of AMD."),
};
export type ReleaseKey = keyof typeof releaseKeys;

const accelKeys = {
  ...settings,
  ...life,
  ...releaseKeys,
  accel: text
    .optional()
    .describe(
      "none for the CPU-only row, or an accelerator that imgmatch does not judge, such as vulkan or sycl.",
    ),
  ...baseKeys,
  ...toolkitKeys,
};

export const accelValue = z.union([
  text.describe("none for the CPU-only row, or an accelerator that imgmatch does not judge: vulkan, sycl."),
  z.object(accelKeys).catchall(ownText).describe("One of cuda, rocm and accel, and what it brings."),
]);

const targets = z.union([
  text.describe(
    'Compute capability: "8.0" (SASS), "9.0+ptx" (SASS and PTX), "9.0a", "10.0f". Of AMD: gfx942, gfx90a:xnack-, gfx11-generic, amdgcnspirv.',
  ),
  z.array(text).min(1).describe("Several of one vendor in one image."),
]);

export const patterns = z.union([text, z.array(text).min(1)]);

export const pattern = z.union([
  ...patterns.options,
  z.strictObject({ not: patterns.describe("What the axis must not have.") }),
]);

export const when = z
  .record(text, pattern)
  .optional()
  .describe(
    "Axes (or platform) and what they have, as in exclude: a text, a list, or { not: … }; axis.key for a key of its values. Default: always.",
  );

const computeKeys = {
  ...settings,
  ...life,
  value: targets.optional(),
  cases: z
    .array(z.strictObject({ when, value: targets }))
    .min(1)
    .optional()
    .describe("In place of value: the first case that a cell meets."),
  label: text.optional(),
};

export const computeValue = z.union([...targets.options, z.object(computeKeys).catchall(ownText)]);

const platformKeys = { ...settings, ...life, platform: text };

export const platformValue = z.union([
  text.describe("linux/amd64, linux/arm64, linux/ppc64le or linux/riscv64."),
  z.object(platformKeys).catchall(ownText),
]);

const marchKeys = {
  ...settings,
  ...life,
  march: text,
  label: text.optional(),
  without: z.array(text).optional(),
};

export const marchValue = z.union([
  text.describe("A -march (or -mcpu) name of gcc and clang."),
  z.object(marchKeys).catchall(ownText),
]);

const freeKeys = { ...settings, ...life, value: text, label: text.optional() };

const freeValue = z.union([
  text,
  z.object(freeKeys).catchall(ownText).describe("A value with further texts that templates may use."),
]);

const freeValues = z.array(freeValue).min(1);

export const freeAxis = z.union([
  freeValues,
  z.strictObject({
    free: z
      .enum(["true", "false"])
      .optional()
      .describe("true: a free axis, although name or values look like a hardware axis."),
    values: freeValues,
  }),
]);

/** By {@link kindOfAxis}: the keys that imgmatch reads in a value, and its shape. */
export const valueShapes = {
  cuda: { keys: Object.keys(cudaKeys), schema: cudaValue },
  accel: { keys: Object.keys(accelKeys), schema: accelValue },
  compute: { keys: Object.keys(computeKeys), schema: computeValue },
  platform: { keys: Object.keys(platformKeys), schema: platformValue },
  march: { keys: Object.keys(marchKeys), schema: marchValue },
  free: { keys: Object.keys(freeKeys), schema: freeValue },
} as const;

export type ValueKind = keyof typeof valueShapes;

/** The kind of values that an axis with this name has. */
export function kindOfAxis(name: string): ValueKind {
  return Object.hasOwn(valueShapes, name) ? (name as ValueKind) : "free";
}

/** A value as the matrix has it. */
export type ValueInput<Kind extends ValueKind> = z.infer<(typeof valueShapes)[Kind]["schema"]>;
export type PatternInput = z.infer<typeof pattern>;
export type DriverInput = z.infer<typeof driver>;
/** Keys that not every toolkit has. */
export type ToolkitInput = z.infer<z.ZodObject<typeof toolkitKeys>>;
export type BaseInput = z.infer<typeof base>;
export type SettingsInput = Omit<z.infer<z.ZodObject<typeof settings>>, "args"> & ArgumentTexts;

/** After `withEnvironment`. */
export interface ArgumentTexts {
  readonly args?: Readonly<Record<string, string>> | undefined;
}
export type ParentInput = z.infer<typeof parent>;
