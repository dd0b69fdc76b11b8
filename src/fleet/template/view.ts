/** Makes the view: the names and values that templates see. docs/ describes it. */

import { compilerFlags } from "../../hardware/cpu-marches.ts";
import { gpuVendors } from "../../hardware/gpu-vendors.ts";
import { gpuAxes } from "../matrix/gpu-axes.ts";
import type { AccelValue, Bases, ComputeValue, Data, MarchValue, Matrix } from "../matrix/matrix.ts";
import { once, remember } from "../../io/collections.ts";
import type { Cell } from "../cells/cell.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import { allValues, none } from "../matrix/values.ts";
import { memoizeBy } from "../cells/memoize-by.ts";
import { gpuWords, shortOf } from "./gpu-words.ts";

export interface TemplateView {
  /** The matrix's name. */
  readonly name: string;
  /** The fleet's version. */
  readonly version: string;
  /** Registry and path without tag. */
  readonly repository: string;
  /** The cell's id. */
  readonly cell: string;
  /** Operating system and architecture. */
  readonly platform: string;
  /** The architecture alone. */
  readonly architecture: string;
  /** The base image's reference, or one for each stage: `base.build`, `base.run`. Null where the matrix names none. */
  readonly base: string | Bases | null;
  /** Null in a CPU-only row, except for its keys; null in a matrix without accelerators. */
  readonly accel: {
    /** `cuda`, `rocm`, `none`, or an accelerator that imgmatch does not judge. */
    readonly name: string;
    /** As PyTorch's wheels call it: `cu128`, `rocm7.2`, `cpu`; an accelerator that imgmatch does not judge, by its name. */
    readonly short: string;
  } | null;
  /** Null without a CUDA toolkit, except for `cuda.short`. */
  readonly cuda: {
    /** The toolkit's version. */
    readonly toolkit: string;
    /** The first number of it. */
    readonly major: string;
    /** The first two numbers of it. */
    readonly minor: string;
    /** As `accel.short`. */
    readonly short: string;
    /** The source of the user-space driver. */
    readonly driver: {
      /** `host`, `bundled` or `compat`. */
      readonly mode: string;
      /** The version in the image. Null for `host`. */
      readonly version: string | null;
    };
  } | null;
  /** Null without a ROCm release. */
  readonly rocm: {
    /** The release. */
    readonly release: string;
    /** The first number of it. */
    readonly major: string;
    /** The first two numbers of it. */
    readonly minor: string;
    /** As `accel.short`. */
    readonly short: string;
  } | null;
  /** Null in a row without CUDA and ROCm. */
  readonly gpu: {
    /** A list of GPU code. */
    readonly targets: readonly string[];
    /** clang's options for exactly these targets of AMD. Only of AMD. */
    readonly offload?: string;
    /** nvcc's options for exactly these targets, quoted for the shell. Only of NVIDIA. */
    readonly gencode?: string;
    /** The same for `CMAKE_CUDA_ARCHITECTURES`: `90-real` is machine code alone, `90` with PTX; or for `CMAKE_HIP_ARCHITECTURES`. */
    readonly cmake: string;
    /** The same for `TORCH_CUDA_ARCH_LIST`; or for `PYTORCH_ROCM_ARCH`. */
    readonly torch: string;
  } | null;
  /** The march of the cell. */
  readonly march: {
    /** Its name. */
    readonly name: string;
    /** The compiler's options for it. */
    readonly flags: string;
    /** A list of the features that it leaves out. */
    readonly without: readonly string[];
  };
  /** Every axis's label by its name. */
  readonly axes: Readonly<Record<string, string>>;
  /** This cell's build arguments by name. */
  readonly args: Readonly<Record<string, string>>;
  /** A free axis by its name: its text. If one of its values is a mapping, also `value` and every key, null if absent. */
  readonly [axis: string]: unknown;
}

/** A template that is read and checked. Its type stands here because users of the library do not have the parser's types. */
export interface Template {
  /** True for a project's own Dockerfile: only build arguments tell such a file the cell. */
  readonly isPlain: boolean;
  /** Throws `TEMPLATE_UNKNOWN_NAME` when the template names something that the view does not have. */
  render(view: TemplateView): string;
}

export function viewOf(cell: Cell, matrix: Matrix, args: TemplateView["args"]): TemplateView {
  return Object.assign(sharedView(cell, matrix), { args }) as TemplateView;
}

/**
 * The view of a build argument's template, made when the first of a cell's texts needs it, without `args`. Its `gpu.gencode` has neither
 * quotes nor brackets, with one option for each target: a shell that inserts a variable removes no quotes from its text.
 */
export function argumentViewOnce(cell: Cell, matrix: Matrix): () => object {
  return once(() => {
    const words = wordsOf(cell);
    return Object.assign(sharedView(cell, matrix), { gpu: words && { ...words.gpu, ...words.argument } });
  });
}

function sharedView(cell: Cell, matrix: Matrix): Record<string, unknown> {
  const { accel, compute, march, platform } = cell;
  const view: Record<string, unknown> = {};
  for (const [name, { value }] of [...Object.entries(cell.free), ...Object.entries(cell.named)]) {
    const own = ownKeys(name, cell, matrix);
    view[name] =
      own === null ? value : { ...own, value, ...(!Array.isArray(value) && { [textSymbol]: value }) };
  }
  const platformKeys = ownKeys("platform", cell, matrix);
  const computeKeys = ownKeys("compute", cell, matrix);
  const bases = cell.settings.base?.value ?? {};
  return Object.assign(view, {
    name: matrix.name,
    version: matrix.version,
    repository: repositoryOfCell(matrix, cell),
    cell: cell.id,
    platform: platformKeys === null ? platform : { ...platformKeys, [textSymbol]: platform },
    architecture: platform.slice(platform.indexOf("/") + 1),
    base: bases[""] ?? (Object.keys(bases).length === 0 ? null : bases),
    accel: accel === null ? null : withKeys(accelView(accel), ownKeys("accel", cell, matrix)),
    ...toolkitViews(cell, matrix),
    gpu: (compute?.targets.length ? (wordsOf(cell)?.gpu ?? null) : null) satisfies TemplateView["gpu"],
    march: withKeys(marchView(march), ownKeys("march", cell, matrix)),
    axes: cell.axes,
    // The targets themselves are `gpu`.
    ...(computeKeys === null ? {} : { compute: { ...computeKeys, [textSymbol]: compute?.label ?? null } }),
  });
}

/** A view under the key of each vendor's toolkit. */
function toolkitViews(cell: Cell, matrix: Matrix): Readonly<Record<string, object | null>> {
  const { accel } = cell;
  const words = wordsOf(cell);
  const views = gpuVendors.map((vendor): [string, object | null] => {
    const { key, axis } = gpuAxes[vendor];
    if (accel === null) return [key, null];
    // The rows of an axis have its name.
    const absent = axis === null ? null : { short: shortOf(accel), [textSymbol]: null };
    const view = accel.gpu?.vendor === vendor ? (words?.toolkit ?? null) : absent;
    return [key, withKeys(view, ownKeys(key, cell, matrix))];
  });
  return Object.fromEntries(views);
}

function withKeys(view: object | null, keys: object | null): object | null {
  return keys === null ? view : { ...view, ...keys };
}

/** The text that a mapping is printed and compared as. With null it is nothing, and only its keys can be named. */
export const textSymbol = Symbol("text");

/**
 * The keys of a value, except for those that imgmatch reads. A key that only other values of the axis have is null: the names that a template
 * can use are the same for all cells. null for an axis without such keys.
 */
function ownKeys(
  axis: string,
  { values, named }: Cell,
  matrix: Matrix,
): Readonly<Record<string, Data[string] | null>> | null {
  const keys = dataKeys(matrix)[axis] ?? [];
  if (keys.length === 0) return null;
  const data = (values[axis] ?? named[axis])?.data ?? {};
  return Object.fromEntries(keys.map((key) => [key, Object.hasOwn(data, key) ? (data[key] ?? null) : null]));
}

/** Axis → every such key of its values. */
const dataKeys = memoizeBy((matrix: Matrix): Readonly<Record<string, readonly string[]>> => {
  const cases = matrix.values.flatMap(({ name, cases: all }) =>
    all.map(({ chosen }) => [name, chosen] as const),
  );
  const keys = new Map<string, Set<string>>();
  for (const [name, { data }] of [...allValues(matrix), ...cases]) {
    const found = remember(keys, name, () => new Set());
    for (const key of Object.keys(data)) found.add(key);
  }
  return Object.fromEntries([...keys].map(([name, found]) => [name, [...found]]));
});

function wordsOf({ accel, compute }: Pick<Cell, "accel" | "compute">) {
  return accel === null || compute === null ? null : wordsOfValues(accel)(compute);
}

const wordsOfValues = memoizeBy((accel: AccelValue) =>
  memoizeBy((compute: ComputeValue) => gpuWords(accel, compute)),
);

/** A CPU-only row prints as nothing: only its keys can be named. */
const accelView = memoizeBy((accel: AccelValue) => {
  const { gpu, other } = accel;
  const name = gpu === null ? (other ?? none) : gpuAxes[gpu.vendor].key;
  return { name, short: shortOf(accel), ...(name === none && { [textSymbol]: null }) };
});

const marchView = memoizeBy(({ march, without }: MarchValue) => ({
  name: march.name,
  flags: compilerFlags(march, without).join(" "),
  without,
}));
