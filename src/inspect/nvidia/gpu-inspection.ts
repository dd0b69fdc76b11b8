/** Counts NVIDIA's GPU code of a file, and of an image: targets, toolkits, compression, code of unknown kind. */

import { compareVersionTexts } from "../../hardware/driver-version.ts";
import { compareTargets, isPtx } from "../../hardware/gpu-target.ts";
import { cudaCodeEntry, toolkitsOfPtx } from "../../hardware/ptx-versions.ts";
import { compareText, groupBy } from "../../io/collections.ts";
import { count, createCodeTally, sortedCounts } from "../tally.ts";
import type { FatbinCompression, FatbinEntry } from "./fatbin.ts";

export interface GpuCode {
  /** Containers and lone files of code: the driver chooses in each for itself. */
  readonly modules: number;
  /** Bytes in the file. */
  readonly bytes: number;
  /**
   * Of `bytes`, those of each target, compressed or not: `sm_90`, `compute_90`, `lto_90`, `unknown`. Targets whose code is compressed as one
   * stand together: `sm_80,sm_90`. Headers of containers are of no target.
   */
  readonly sizes: Readonly<Record<string, number>>;
  /** Machine code and PTX that the driver loads: `sm_90a`, `compute_90`. Only what the file {@link registers}, if it registers any. */
  readonly targets: readonly TargetCount[];
  /**
   * True if CUDA's runtime gets code of this file before `main`, or if the file is code itself. Profilers (CUPTI) register nothing and load
   * helpers from their data.
   */
  readonly registers: boolean;
  /** Code in the data of a file that registers other code. */
  readonly embedded: readonly TargetCount[];
  /** Input of the device linker (`-rdc`) that is left in the file. */
  readonly relocatable: readonly TargetCount[];
  /** Code for nvJitLink alone: neither machine code nor PTX. */
  readonly lto: readonly TargetCount[];
  /** Unknown kinds: they may hold code for any target. */
  readonly unknown: readonly { readonly kind: number; readonly entries: number }[];
  /** Entries by compression. */
  readonly compression: Readonly<Partial<Record<FatbinCompression, number>>>;
  /** Of the `targets`, and of PTX in `relocatable`. */
  readonly toolkits: readonly ToolkitCount[];
  /** Modules by section; `file` stands for no section. */
  readonly places: Readonly<Record<string, number>>;
  readonly damage: readonly string[];
}

export interface TargetCount {
  readonly target: string;
  readonly modules: number;
  /** The newest PTX ISA of these modules, `8.7`; absent for machine code. */
  readonly isa?: string;
}

/** The range of toolkits that may have made code. It is one toolkit if both ends are equal. */
export interface ToolkitCount {
  readonly code: "ptx" | "sass";
  readonly minimum: string | null;
  readonly maximum: string | null;
  readonly isZstd: boolean;
  readonly entries: number;
}

/** A module by its entries. `exact` is the toolkit in an entry's payload. */
export interface GpuModule {
  readonly place: string;
  readonly bytes: number;
  readonly entries: readonly (FatbinEntry & { readonly exact?: string | null })[];
}

/** The section with input of the device linker. */
export const relocatablePlace = "__nv_relfatbin";
/** The section that nvcc, clang and nvfortran register with the runtime, and the place in a file without sections. */
export const registeredPlaces: ReadonlySet<string> = new Set([".nv_fatbin", "file"]);

export type GpuTally = ReturnType<typeof createGpuTally>;

/** Targets with their modules, and toolkits, of one part of a file. */
function createPart() {
  const targets: TargetCounts = new Map();
  const toolkits = new Map<string, ToolkitCount>();
  return {
    targets,
    add(toolkit: Omit<ToolkitCount, "entries">) {
      const key = JSON.stringify(toolkit);
      toolkits.set(key, { ...toolkit, entries: (toolkits.get(key)?.entries ?? 0) + 1 });
    },
    isEmpty: () => targets.size === 0 && toolkits.size === 0,
    toolkits: (): readonly ToolkitCount[] => [...toolkits.values()].sort(byToolkit),
  };
}

export function createGpuTally() {
  const { add, measure, complain, result } = createCodeTally();
  const parts = { registered: createPart(), embedded: createPart() };
  const [relocatable, lto]: [TargetCounts, TargetCounts] = [new Map(), new Map()];
  const unknown = new Map<number, number>();
  const compression = new Map<FatbinCompression, number>();
  return {
    add({ place, bytes, entries }: GpuModule) {
      add(place, bytes);
      const isLinked = place !== relocatablePlace;
      const part = isLinked && !registeredPlaces.has(place) ? parts.embedded : parts.registered;
      for (const [at, found] of groupBy(entries, ({ packed }) => packed?.at ?? null))
        if (at === null) for (const entry of found) measure([sizeName(entry)], entry.whole?.size ?? bytes);
        else measure(found.map(sizeName).sort(compareTargets), found[0]?.packed?.size ?? 0);
      const seen = new Set<string>();
      for (const entry of entries) {
        count(compression, entry.compression);
        if (entry.kind === "unknown") {
          count(unknown, entry.rawKind);
          continue;
        }
        const targets = entry.kind === "lto" ? lto : isLinked ? part.targets : relocatable;
        const target = targetOf(entry);
        countTarget(targets, target, entry, !seen.has(`${entry.kind} ${target}`));
        seen.add(`${entry.kind} ${target}`);
        const toolkit = isLinked || entry.kind === "ptx" ? toolkitOf(entry, entry.exact ?? null) : null;
        if (toolkit !== null) part.add(toolkit);
      }
    },
    complain,
    result: (): GpuCode | null => {
      const registers = !parts.registered.isEmpty();
      const { targets, toolkits } = registers ? parts.registered : parts.embedded;
      return result({
        targets: counts(targets),
        registers,
        embedded: registers ? counts(parts.embedded.targets) : [],
        relocatable: counts(relocatable),
        lto: counts(lto),
        unknown: [...unknown].sort(([a], [b]) => a - b).map(([kind, entries]) => ({ kind, entries })),
        compression: sortedCounts(compression),
        toolkits: toolkits(),
      });
    },
  };
}

function targetOf({ kind, arch, suffix }: FatbinEntry): string {
  return `${kind === "cubin" ? "sm" : "compute"}_${arch}${suffix}`;
}

function sizeName(entry: FatbinEntry): string {
  if (entry.kind === "unknown") return entry.kind;
  return entry.kind === "lto" ? `lto_${entry.arch}${entry.suffix}` : targetOf(entry);
}

function toolkitOf(entry: FatbinEntry, exact: string | null): Omit<ToolkitCount, "entries"> | null {
  const isZstd = entry.compression === "zstd";
  if (entry.kind === "ptx") {
    return { code: "ptx", ...toolkitsOfPtx(`${entry.version.major}.${entry.version.minor}`), isZstd };
  }
  if (entry.kind !== "cubin") return null;
  const range = exact === null ? rangeOf(entry) : { minimum: exact, maximum: exact };
  return { code: "sass", ...range, isZstd };
}

/** CUDA 12.9 was the last to write format 1.7. For sm_100 and later, 12.8 was the first to write 1.8. */
function rangeOf({ version, arch }: FatbinEntry): Pick<ToolkitCount, "minimum" | "maximum"> {
  if (version.major !== 1) return { minimum: null, maximum: null };
  if (version.minor <= 7) return { minimum: null, maximum: "12.9" };
  return version.minor === 8
    ? { minimum: arch < 100 ? "13.0" : "12.8", maximum: null }
    : { minimum: null, maximum: null };
}

type TargetCounts = Map<string, Omit<TargetCount, "target">>;

function countTarget(
  targets: TargetCounts,
  target: string,
  { kind, version: { major, minor } }: FatbinEntry,
  isFirstOfModule: boolean,
): void {
  const { modules = 0, isa: before } = targets.get(target) ?? {};
  const isa = kind === "ptx" ? newerIsa(before, `${major}.${minor}`) : before;
  targets.set(target, { modules: modules + Number(isFirstOfModule), ...(isa !== undefined && { isa }) });
}

/** What holds several versions of PTX for a target needs a driver for the newest. */
function newerIsa(a: string | undefined, b: string | undefined): string | undefined {
  return compareVersionTexts(a ?? "0", b ?? "0") < 0 ? b : a;
}

function counts(map: TargetCounts): TargetCount[] {
  return [...map]
    .map(([target, counted]) => ({ target, ...counted }))
    .sort((a, b) => compareTargets(a.target, b.target));
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
   * The numbers of files and of modules with each target. `relocatable` counts modules that the device linker left: the driver takes only
   * their PTX.
   */
  readonly targets: readonly (Omit<TargetCount, "modules"> & { readonly files: number } & ModuleCounts)[];
  readonly lto: readonly string[];
  /** Unknown kinds of code: they may hold any target. */
  readonly unknownKinds: readonly number[];
}

function modulesWith(target: string, counts: readonly TargetCount[]): number {
  return counts.find((each) => each.target === target)?.modules ?? 0;
}

/** A file of an image, as far as its GPU code matters. */
interface CodeFile {
  readonly path: string;
  readonly gpu: GpuCode | null;
}

/**
 * The files whose code is the application's: those that register code, or else all with code. Objects and static libraries are
 * input of a linker, and libcudadevrt.a, which comes with every runtime of PyPI, has PTX.
 */
export function applicationFiles<File extends CodeFile>(
  files: readonly File[],
): readonly (File & { readonly gpu: GpuCode })[] {
  const holders = files.filter((file): file is File & { readonly gpu: GpuCode } => file.gpu !== null);
  const registering = holders.filter(({ path, gpu }) => gpu.registers && !/\.[ao]$/.test(path));
  return registering.length > 0 ? registering : holders;
}

/** The GPU code of an image's files, by the application's files; null without any. */
export function gpuOf(files: readonly CodeFile[]): ImageGpu | null {
  const codes = files.flatMap(({ gpu }) => (gpu === null ? [] : [gpu]));
  if (codes.length === 0) return null;
  const targets = new Map<string, { files: number } & ModuleCounts & Pick<TargetCount, "isa">>();
  for (const {
    gpu: { targets: own, relocatable },
  } of applicationFiles(files)) {
    const left = relocatable.filter(({ target }) => isPtx(target));
    const all = [...own, ...left];
    for (const name of new Set(all.map(({ target }) => target))) {
      const before = targets.get(name) ?? { files: 0, modules: 0, relocatable: 0 };
      const isa = all
        .filter(({ target }) => target === name)
        .reduce((a, b) => newerIsa(a, b.isa), before.isa);
      targets.set(name, {
        files: before.files + 1,
        modules: before.modules + modulesWith(name, own),
        relocatable: before.relocatable + modulesWith(name, left),
        ...(isa !== undefined && { isa }),
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
export function cudaTargets(files: readonly CodeFile[]): readonly string[] {
  return gpuOf(files)?.targets.map(({ target }) => target) ?? [];
}

/** The code of all the files, in the form of a requirement. `toolkit`: the image's, null where unknown. */
export function cudaCode(files: readonly CodeFile[], toolkit: string | null): readonly string[] {
  return gpuOf(files)?.targets.map(({ target, isa }) => cudaCodeEntry(target, isa ?? null, toolkit)) ?? [];
}
