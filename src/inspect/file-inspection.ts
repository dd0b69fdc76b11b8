/** The findings in one file: plain data for the other thread and for the cache. */

import type { AmdCode } from "./amd/amd-inspection.ts";
import { isBundle } from "./amd/bundle.ts";
import { isCompressedBundle } from "./amd/compressed-bundle.ts";
import { isArchiveOfCode } from "./amd/kpack.ts";
import type { Checksums } from "./checksums.ts";
import type { CpuCode } from "./cpu/cpu-code.ts";
import type { CpuNeed } from "./cpu/cpu-need.ts";
import type { ElfDynamic } from "./elf/dynamic.ts";
import { isElf } from "./elf/elf.ts";
import { isContainer } from "./nvidia/fatbin.ts";
import type { GpuCode } from "./nvidia/gpu-inspection.ts";
import { readPtxEntry } from "./nvidia/ptx-text.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";

export interface FileInspection {
  /** Bytes. */
  readonly size: number;
  readonly checksums: Checksums;
  readonly program: ProgramFacts | null;
  readonly cpu: CpuCode | null;
  /** NVIDIA's GPU code. */
  readonly gpu: GpuCode | null;
  /** AMD's GPU code. */
  readonly amd: AmdCode | null;
  /** Bytes of SYCL code by its kind: `spir64`, or `spir64_gen` for Intel's GPUs. No rule judges it. */
  readonly sycl: Readonly<Record<string, number>>;
  /** The reasons why parts of it could not be read. */
  readonly unopened: readonly string[];
}

export interface ProgramFacts extends ElfDynamic {
  /** `x86_64`, `aarch64`, …, or `machine 243`. */
  readonly machine: string;
  /** psABI level that the loader enforces. */
  readonly neededLevel: string | null;
  readonly kernel: string | null;
  /** Branches of kernel drivers on which NVIDIA's libcuda may serve as a forward-compatibility package. */
  readonly branches?: readonly string[];
  /** Release of the AMD compiler that made it: `6.4.4`. */
  readonly rocm?: string;
}

/** A file of an image. */
export interface InspectedFile extends FileInspection {
  readonly path: string;
  readonly layer: number;
  readonly answer: CpuNeed | null;
  /** The distribution's package that brought the file unchanged, by the checksum in the package database; null if none did. */
  readonly package: string | null;
  /** Of an archive whose code counts as that of programs: the bytes of each target. */
  readonly archived?: Readonly<Record<string, number>>;
}

/** Endings of reasons that leave only the needs of a CPU unknown. */
export const unreadForCpu = {
  machine: ", which is not read for CPU features",
  instructions: " unknown instructions inside functions",
} as const;

/** The key of each vendor's GPU code in a file, and in an image. */
export const codeKeys = { nvidia: "gpu", amd: "amd" } as const satisfies Record<GpuVendor, string>;

/** The GPU code of each vendor in a file. */
export type GpuCodes = Pick<FileInspection, (typeof codeKeys)[GpuVendor]>;

export const noCode: GpuCodes = { gpu: null, amd: null };

/** The GPU code of all vendors in a file. */
export function codesIn(file: GpuCodes): readonly (GpuCode | AmdCode)[] {
  return gpuVendors.flatMap((vendor) => file[codeKeys[vendor]] ?? []);
}

/**
 * The unread parts of files that may hold GPU code of a vendor: not those of which only the CPU's needs are unknown, or whose damage is in
 * another vendor's code.
 */
export function hidingGpuCode<Unread extends { readonly path: string; readonly reason: string }>(
  files: readonly InspectedFile[],
  unopened: readonly Unread[],
  vendor: GpuVendor | "gpu",
): readonly Unread[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const others = vendor === "gpu" ? [] : gpuVendors.filter((each) => each !== vendor);
  return unopened.filter(
    ({ path, reason }) =>
      !Object.values(unreadForCpu).some((end) => reason.endsWith(end)) &&
      !others.some((each) => byPath.get(path)?.[codeKeys[each]]?.damage.includes(reason)),
  );
}

/** So many bytes tell the kind of a file. */
export const headBytes = 4096;

/**
 * So many unread bytes may hold code, and are reported. A stripped library of one function by gcc 12 has 580 in xz. Comments and padding
 * of zips have fewer.
 */
export const holdsCodeFrom = 512;

/** Tells whether a file begins as each vendor's GPU code does. */
const beginsAs: Readonly<Record<GpuVendor, (head: Uint8Array) => boolean>> = {
  nvidia: (head) => isContainer(head) || readPtxEntry(head) !== null,
  amd: (head) => isBundle(head) || isCompressedBundle(head) || isArchiveOfCode(head),
};

/** Tells from its head whether a file holds code itself. */
export function holdsCode(head: Uint8Array): boolean {
  return isElf(head) || gpuVendors.some((vendor) => beginsAs[vendor](head));
}
