/** The checked matrix: every value parsed, with its place in `matrix.yaml`. */

import type { Digest } from "../../oci/digest.ts";
import type { Place } from "../../errors.ts";
import type { March } from "../../hardware/cpu-marches.ts";
import type { CudaToolkit } from "../../hardware/cuda-toolkits.ts";
import type { GpuTarget } from "../../hardware/gpu-target.ts";
import type { DriverRequirement } from "../../lock/requirement.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";

export interface Matrix {
  /** The file as the user named it, for messages. */
  readonly file: string;
  /** sha256 over the file's text with `\n` line ends. */
  readonly digest: Digest;
  readonly name: string;
  /** Empty until `withVersion` has found it, if {@link versionFrom} is set. */
  readonly version: string;
  /** The source of the version; null if the file has the version itself. */
  readonly versionFrom: Located<VersionSource> | null;
  /** The repository of the images: `registry/name`. */
  readonly repository: string;
  /** URL of the sources, for `org.opencontainers.image.source`. */
  readonly source: string | null;
  /** A Dockerfile, or the template of one. Paths are relative to the matrix file, with forward slashes. */
  readonly template: Located<string>;
  /** null: the template's folder. */
  readonly context: Located<string> | null;
  /** Folders by the names that the Dockerfile has for them. */
  readonly contexts: Located<Readonly<Record<string, string>>> | null;
  readonly tag: Located<string>;
  /** The selections of channels, by their names, which may be templates. */
  readonly channels: Readonly<Record<string, Located<readonly string[]>>>;
  /** Tag templates of indexes beside the version's. */
  readonly variants: readonly Located<string>[];
  readonly target: Located<string> | null;
  /** Build arguments, each a template. */
  readonly args: Readonly<Record<string, Argument>>;
  /** Names that only look like those of secrets. */
  readonly notSecret: readonly string[];
  /** Labels of the CI machine that builds. */
  readonly runner: Located<readonly string[]> | null;
  readonly timeoutMinutes: Located<number> | null;
  /** True: a CI job makes room on its disk first. */
  readonly freeDisk: Located<boolean> | null;
  /** True: an image asks the host before its program starts. */
  readonly guard: Located<boolean> | null;
  /** Extra labels of every image. */
  readonly labels: Readonly<Record<string, string>>;
  /** Base images of cells whose values bring none. */
  readonly base: Located<Bases> | null;
  /** Other fleets whose cells are bases, by the text that stands for each in {@link Bases}. */
  readonly parents: Readonly<Record<string, ParentFleet>>;
  /** Replacements of base images, by their references in the Dockerfile. */
  readonly replaceBases: Readonly<Record<string, Located<string>>>;
  /** Compiler of the base images of cells whose `cuda` or `accel` value names none; null if unknown. */
  readonly compiler: Compiler | null;
  readonly prefer: readonly string[];
  /** `least`: a plain pull may get an image that not every machine starts. Undefined: it gets none then. */
  readonly plainPull?: "least" | undefined;
  /** False: builds do not open their images. */
  readonly measure: boolean;
  /** null for no attestations. */
  readonly attest: Located<Attestations> | null;
  /** cuda or accel, compute, platform and march first, then the free axes in the order of the file. */
  readonly axes: readonly Axis[];
  /** Texts that depend on several axes. */
  readonly values: readonly NamedText[];
  readonly exclude: readonly Exclusion[];
  readonly include: readonly Inclusion[];
}

/** Attestations that are made when an image is pushed. They are no input of the image. */
export interface Attestations {
  /** `max`: with build arguments and steps; `min`: without; null: none. */
  readonly provenance: "max" | "min" | null;
  /** null: no list of the image's contents. `generator`: the scanner's image; null for the builder's own. */
  readonly sbom: { readonly generator: string | null } | null;
}

/** The source of a version that is not in the matrix. */
export type VersionSource =
  | {
      readonly from: "environment";
      readonly name: string;
      /** The version if the variable is not set, or empty; null makes that an error. */
      readonly fallback: string | null;
    }
  | {
      readonly from: "git";
      /** The nearest tag and how far HEAD is from it, or HEAD's commit. */
      readonly asks: "describe" | "commit";
    };

export interface Located<Value> {
  readonly value: Value;
  readonly at: Place;
}

/** `given`: by `--build-arg`, which goes before everything in the matrix. */
export interface Argument extends Located<string> {
  readonly given?: true;
}

/** The compiler of a base image. A cell whose march it does not know is impossible. */
export interface Compiler {
  readonly family: "gcc" | "clang";
  /** For example `12.2`. */
  readonly version: string;
}

/** Another fleet, whose cells are bases here. */
export interface ParentFleet {
  /** The path of its matrix, from this one. */
  readonly file: Located<string>;
  /** Axis of the other fleet → label. It goes before the label of this fleet's cell. */
  readonly pin: Readonly<Record<string, string>>;
}

/** Stage name → reference, or a key of the matrix's `parents`. The key is `""` if one base image is named without a stage. */
export type Bases = Readonly<Record<string, string>>;

export type Axis =
  | AxisOf<AccelValue, "cuda" | "accel">
  | AxisOf<ComputeValue, "compute">
  | AxisOf<PlatformValue, "platform">
  | AxisOf<MarchValue, "march">
  | AxisOf<FreeValue, string>;

export interface AxisOf<Value extends { readonly kind: string }, Name> {
  readonly kind: Value["kind"];
  readonly name: Name;
  readonly at: Place;
  readonly values: readonly Value[];
}

/** `label` is the value's text in cell ids, pins and `--only`. */
export interface Value {
  readonly label: string;
  /** All labels of the axis, if another value's label is an alias of this value: the label then means the other value alone. */
  readonly labelsOfAxis?: ReadonlySet<string>;
  readonly at: Place;
  /** The day from which on it is deprecated: `2026-12-31`. */
  readonly deprecated?: string;
  readonly settings: Settings;
  /** Further keys of the value, which templates see. */
  readonly data: Data;
}

export type Data = Readonly<Record<string, string | readonly string[]>>;

/** Settings of the matrix that a value may bring too. */
export type SettingName =
  | ("template" | "target" | "context" | "contexts" | "base")
  | ("runner" | "timeoutMinutes" | "freeDisk" | "guard");

/** Settings that a value brings for its cells in place of the matrix's own. Texts and arguments are templates. */
export interface Settings extends Readonly<{ [Name in SettingName]?: NonNullable<Matrix[Name]> }> {
  /** The repository of the images, in place of the matrix's `registry/name`. */
  readonly repository?: Located<string>;
  /** Added to the matrix's. */
  readonly args?: Readonly<Record<string, Located<string>>>;
}

/** A value of the axis `cuda` or `accel`: a vendor's toolkit, or another accelerator; both are null in the CPU-only row. */
export interface AccelValue extends Value {
  readonly kind: "accel";
  readonly gpu: { readonly vendor: GpuVendor; readonly toolkit: Toolkits[GpuVendor] } | null;
  /** An accelerator that imgmatch does not judge: `vulkan`. */
  readonly other: string | null;
  /** Platforms of the base images; null for any. */
  readonly platforms: readonly string[] | null;
  readonly compiler: Compiler | null;
  /** CPU level that the base images' own binaries need. */
  readonly cpuFloor: March | null;
}

/** Each vendor's toolkit, as an axis has it. */
export interface Toolkits extends Record<GpuVendor, { readonly release: string }> {
  readonly nvidia: CudaToolkit & {
    readonly driver: DriverRequirement;
    /** `NVIDIA_REQUIRE_CUDA` of the base image. */
    readonly require: string | null;
  };
  /** A ROCm release as in the matrix: `7.2`, `7.2.1`. */
  readonly amd: { readonly release: string };
}

/** A target of each vendor's compiler. */
export interface Targets extends Record<GpuVendor, unknown> {
  /** SASS or PTX. */
  readonly nvidia: GpuTarget;
  /** `gfx90a:sramecc+:xnack-`, `gfx11-generic`, `amdgcnspirv`. */
  readonly amd: string;
}

/** A vendor's GPU code: its toolkit, and the targets that the toolkit compiles for. */
export type GpuCode<Vendor extends GpuVendor = GpuVendor> = {
  readonly [V in Vendor]: {
    readonly vendor: V;
    readonly toolkit: Toolkits[V];
    readonly targets: readonly Targets[V][];
  };
}[Vendor];

export interface ComputeValue extends Value {
  readonly kind: "compute";
  readonly vendor: GpuVendor;
  /** In the order of the file. Empty if `cases` decide. */
  readonly targets: readonly Targets[GpuVendor][];
  /** The targets by the cell. Empty if they are the same for all cells. */
  readonly cases: readonly Case<ComputeValue>[];
}

/** Its label is the platform. */
export interface PlatformValue extends Value {
  readonly kind: "platform";
}

export interface MarchValue extends Value {
  readonly kind: "march";
  readonly march: March;
  readonly without: readonly string[];
}

export interface FreeValue extends Value {
  readonly kind: "free";
  readonly value: string;
}

export type AxisValue = AccelValue | ComputeValue | PlatformValue | MarchValue | FreeValue;

/** The first case that a cell meets decides. */
export interface Case<Chosen> {
  readonly at: Place;
  /** Empty: every cell meets it. */
  readonly when: AxisPatterns;
  readonly chosen: Chosen;
}

/** An entry of `values:`. */
export interface NamedText {
  readonly name: string;
  readonly cases: readonly Case<NamedValue>[];
}

export interface NamedValue extends Omit<Value, "label"> {
  /** null for a case that only brings settings. */
  readonly value: string | readonly string[] | null;
}

/** Axis, or `axis.key` for a further key of its values → what a rule asks of it. */
export type AxisPatterns = Readonly<Record<string, AxisPattern>>;

export interface AxisPattern {
  /** Labels, globs with `*`, or the leading parts of versions. */
  readonly patterns: readonly string[];
  /** True for `{ not: … }`: no pattern matches. False: one does. */
  readonly not: boolean;
}

/** Cells that match every named axis are not built. */
export interface Exclusion {
  readonly at: Place;
  readonly reason: string;
  readonly match: AxisPatterns;
}

/** One cell beside the product of the axes. */
export interface Inclusion {
  readonly at: Place;
  readonly values: Readonly<Record<string, AxisValue>>;
}
