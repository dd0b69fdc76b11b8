/** The GPU code of a file: targets with the number of modules that have each, toolkits, compression, and code of unknown kind. */

import { compareText } from "../../io/collections.ts";
import { count, createCodeTally, sortedCounts } from "../tally.ts";
import type { FatbinCompression, FatbinEntry } from "./fatbin-entry.ts";
import { toolkitOfPtx } from "./ptx-versions.ts";

export interface GpuCode {
  /** Containers and lone files of code: the driver chooses in each for itself. */
  readonly modules: number;
  /** That it takes up in the file. */
  readonly bytes: number;
  /** Machine code and PTX that the driver loads: `sm_90a`, `compute_90`. */
  readonly targets: readonly TargetCount[];
  /** Input of the device linker (`-rdc`) that was left in the file. */
  readonly relocatable: readonly TargetCount[];
  /** Code for nvJitLink alone: neither machine code nor PTX. */
  readonly lto: readonly TargetCount[];
  /** Kinds that this version does not know: code may be in them for any target. */
  readonly unknown: readonly { readonly kind: number; readonly entries: number }[];
  /** Entries by compression. */
  readonly compression: Readonly<Partial<Record<FatbinCompression, number>>>;
  readonly toolkits: readonly ToolkitCount[];
  /** Modules by section; `file` for what stands in none. */
  readonly places: Readonly<Record<string, number>>;
  readonly damage: readonly string[];
}

export interface TargetCount {
  readonly target: string;
  readonly modules: number;
}

/** The toolkit that made code: exactly, when both ends are equal, or a range as far as the code tells. */
export interface ToolkitCount {
  readonly code: "ptx" | "sass";
  readonly minimum: string | null;
  readonly maximum: string | null;
  readonly isZstd: boolean;
  readonly entries: number;
}

/** A module by its entries. `exact` is the toolkit of an entry, where somebody has looked into its payload. */
export interface GpuModule {
  readonly place: string;
  readonly bytes: number;
  readonly entries: readonly (FatbinEntry & { readonly exact?: string | null })[];
}

/** The section whose code only the device linker takes. */
export const relocatablePlace = "__nv_relfatbin";

export type GpuTally = ReturnType<typeof createGpuTally>;

export function createGpuTally() {
  const { add, complain, result } = createCodeTally();
  const modulesOf = { targets: new Map(), relocatable: new Map(), lto: new Map() } as const satisfies Record<
    string,
    Map<string, number>
  >;
  const unknown = new Map<number, number>();
  const compression = new Map<FatbinCompression, number>();
  const toolkits = new Map<string, Omit<ToolkitCount, "entries">>();
  const toolkitEntries = new Map<string, number>();
  return {
    add({ place, bytes, entries }: GpuModule) {
      add(place, bytes);
      const linked = place === relocatablePlace ? "relocatable" : "targets";
      const seen = new Set<string>();
      for (const entry of entries) {
        count(compression, entry.compression);
        if (entry.kind === "unknown") {
          count(unknown, entry.rawKind);
          continue;
        }
        const list = entry.kind === "lto" ? "lto" : linked;
        const target = targetOf(entry);
        if (!seen.has(`${list} ${target}`)) count(modulesOf[list], target);
        seen.add(`${list} ${target}`);
        const toolkit = toolkitOf(entry, entry.exact ?? null);
        if (toolkit === null) continue;
        const key = JSON.stringify(toolkit);
        toolkits.set(key, toolkit);
        count(toolkitEntries, key);
      }
    },
    complain,
    result: (): GpuCode | null =>
      result({
        targets: counts(modulesOf.targets),
        relocatable: counts(modulesOf.relocatable),
        lto: counts(modulesOf.lto),
        unknown: [...unknown].sort(([a], [b]) => a - b).map(([kind, entries]) => ({ kind, entries })),
        compression: sortedCounts(compression),
        toolkits: [...toolkits]
          .map(([key, toolkit]) => ({ ...toolkit, entries: toolkitEntries.get(key) ?? 0 }))
          .sort(byToolkit),
      }),
  };
}

/** The name of an entry's target, whose suffix counts for both kinds. */
function targetOf({ kind, arch, suffix }: FatbinEntry): string {
  return `${kind === "cubin" ? "sm" : "compute"}_${arch}${suffix}`;
}

function toolkitOf(entry: FatbinEntry, exact: string | null): Omit<ToolkitCount, "entries"> | null {
  const isZstd = entry.compression === "zstd";
  if (entry.kind === "ptx") {
    const toolkit = toolkitOfPtx(`${entry.version.major}.${entry.version.minor}`);
    return { code: "ptx", minimum: toolkit, maximum: toolkit, isZstd };
  }
  if (entry.kind !== "cubin") return null;
  const range = exact === null ? rangeOf(entry) : { minimum: exact, maximum: exact };
  return { code: "sass", ...range, isZstd };
}

/** CUDA 12.9 was the last to write format 1.7, and for sm_100 and later 12.8 the first to write 1.8. */
function rangeOf({ version, arch }: FatbinEntry): Pick<ToolkitCount, "minimum" | "maximum"> {
  if (version.major !== 1) return { minimum: null, maximum: null };
  if (version.minor <= 7) return { minimum: null, maximum: "12.9" };
  return version.minor === 8
    ? { minimum: arch < 100 ? "13.0" : "12.8", maximum: null }
    : { minimum: null, maximum: null };
}

function counts(map: ReadonlyMap<string, number>): TargetCount[] {
  return [...map]
    .map(([target, modules]) => ({ target, modules }))
    .sort((a, b) => compareTargets(a.target, b.target));
}

/** Machine code first, by number, then by suffix. */
export function compareTargets(a: string, b: string): number {
  const key = (target: string): readonly [string, number] => [
    target.startsWith("sm") ? "0" : "1",
    Number.parseInt(target.replace(/^\w+_/, ""), 10),
  ];
  const [kindA, numberA] = key(a);
  const [kindB, numberB] = key(b);
  return kindA.localeCompare(kindB) || numberA - numberB || compareText(a, b);
}

function byToolkit(a: ToolkitCount, b: ToolkitCount): number {
  const key = ({ code, minimum, maximum, isZstd }: ToolkitCount) =>
    [code, ...[minimum, maximum].map(sortable), isZstd].join(" ");
  return compareText(key(a), key(b));
}

/** 12.9 before 12.10. */
function sortable(version: string | null): string {
  return (version ?? "")
    .split(".")
    .map((part) => part.padStart(4, "0"))
    .join(".");
}

interface ModuleCounts {
  readonly modules: number;
  readonly relocatable: number;
}

export interface ImageGpu {
  /**
   * `files`: in how many files; `modules`: in how many modules of them together, as a file's own `targets` count; `relocatable`: in how
   * many more that the device linker left, of whose PTX the driver takes what it can.
   */
  readonly targets: readonly ({ readonly target: string; readonly files: number } & ModuleCounts)[];
  readonly lto: readonly string[];
  /** Kinds of code that this version does not know: any target may be in them. */
  readonly unknownKinds: readonly number[];
}

function modulesWith(target: string, counts: readonly TargetCount[]): number {
  return counts.find((each) => each.target === target)?.modules ?? 0;
}

/** null for files without GPU code. */
export function gpuOf(files: readonly { readonly gpu: GpuCode | null }[]): ImageGpu | null {
  const codes = files.flatMap(({ gpu }) => (gpu === null ? [] : [gpu]));
  if (codes.length === 0) return null;
  const targets = new Map<string, { files: number } & ModuleCounts>();
  for (const { targets: own, relocatable } of codes) {
    // Of what the device linker left, the driver takes the PTX.
    const left = relocatable.filter(({ target }) => target.startsWith("compute_"));
    for (const name of new Set([...own, ...left].map(({ target }) => target))) {
      const before = targets.get(name) ?? { files: 0, modules: 0, relocatable: 0 };
      targets.set(name, {
        files: before.files + 1,
        modules: before.modules + modulesWith(name, own),
        relocatable: before.relocatable + modulesWith(name, left),
      });
    }
  }
  return {
    targets: [...targets]
      .map(([target, counts]) => ({ target, ...counts }))
      .sort((a, b) => compareTargets(a.target, b.target)),
    lto: [...new Set(codes.flatMap(({ lto }) => lto.map(({ target }) => target)))].sort(compareTargets),
    unknownKinds: [...new Set(codes.flatMap(({ unknown }) => unknown.map(({ kind }) => kind)))].sort(
      (a, b) => a - b,
    ),
  };
}

/** The names of NVIDIA's targets of these files together. */
export function cudaTargets(files: readonly { readonly gpu: GpuCode | null }[]): readonly string[] {
  return gpuOf(files)?.targets.map(({ target }) => target) ?? [];
}
