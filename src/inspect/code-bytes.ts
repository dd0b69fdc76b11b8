/** Counts the bytes of an image's code: of each GPU target, each CPU architecture, and each package. */

import { compareText, remember, sortedEntries, sum } from "../io/collections.ts";
import type { LockedCode } from "../lock/lock.ts";
import { codesIn, type InspectedFile } from "./file-inspection.ts";
import type { ImageFiles } from "./image/file-tree.ts";
import type { OpenedImage } from "./image/open-layers.ts";
import type { PackageOwner } from "./packages/package-owners.ts";
import { packagesOf } from "./packages/packages-of.ts";

export interface CodeBytes {
  /** The number of files with code: programs, libraries, GPU code by itself. */
  readonly files: number;
  /** Bytes of these files as they are unpacked. A file with several names counts once. */
  readonly bytes: number;
  /** Of `bytes`, code for GPUs as the files have it, by target, as `sizes` of a file's GPU code; SYCL's as `sycl:spir64`. */
  readonly gpu: Readonly<Record<string, number>>;
  /** Of `bytes`, the rest of programs and libraries, by machine: `x86_64`, `aarch64`. */
  readonly cpu: Readonly<Record<string, number>>;
}

/** `name` is empty for the files of no package. */
export interface PackageBytes extends CodeBytes, Pick<PackageOwner, "name" | "version"> {}

export interface ImageBytes extends CodeBytes {
  /** The largest first. */
  readonly packages: readonly PackageBytes[];
}

interface FoundCode extends Pick<ImageFiles, "packages"> {
  readonly files: readonly InspectedFile[];
  /** Files that decide nothing take bytes too. */
  readonly tests: readonly InspectedFile[];
}

export function imageBytes(
  image: Pick<OpenedImage, "source" | "name">,
  { files, tests, packages }: FoundCode,
): ImageBytes {
  // Hard links have one inspection.
  const all = [...new Map([...files, ...tests].map((file) => [file.checksums, file])).values()];
  const found = packagesOf(image, { files: all, unopened: [], packages }).map(
    ({ name, version, members }): PackageBytes => ({
      ...{ name, version },
      ...bytesOf(members.map(({ file }) => file)),
    }),
  );
  return {
    ...bytesOf(all),
    packages: found.sort((a, b) => b.bytes - a.bytes || compareText(a.name, b.name)),
  };
}

/** Packages in a lock's row by name: the row of a large fleet stays short. */
const mostLocked = 8;

/** As a lock has it. */
export function lockedCode({ packages }: ImageBytes): LockedCode {
  const named = packages.filter(({ name, gpu }) => name !== "" && Object.keys(gpu).length > 0);
  const shown = new Set(named.slice(0, mostLocked));
  const counts = new Map<string, Record<string, number>>();
  for (const each of packages) {
    const own = remember(counts, shown.has(each) ? each.name : "", (): Record<string, number> => ({}));
    for (const [kind, bytes] of Object.entries({ ...each.gpu, ...each.cpu }))
      own[kind] = (own[kind] ?? 0) + bytes;
  }
  return Object.fromEntries(counts);
}

function bytesOf(files: readonly InspectedFile[]): CodeBytes {
  const [gpu, cpu] = [new Map<string, number>(), new Map<string, number>()];
  const add = (counts: Map<string, number>, name: string, size: number) =>
    counts.set(name, (counts.get(name) ?? 0) + size);
  for (const { size, program, sycl, archived, ...file } of files) {
    const codes = codesIn(file);
    for (const sizes of [...codes.map((code) => code.sizes), archived ?? {}])
      for (const [target, bytes] of Object.entries(sizes)) add(gpu, target, bytes);
    for (const [kind, bytes] of Object.entries(sycl)) add(gpu, `sycl:${kind}`, bytes);
    const rest = size - sum([...codes.map(({ bytes }) => bytes), ...Object.values(sycl)]);
    if (program !== null) add(cpu, program.machine, Math.max(0, rest));
  }
  return {
    files: files.length,
    bytes: sum(files.map(({ size }) => size)),
    gpu: Object.fromEntries(sortedEntries(Object.fromEntries(gpu))),
    cpu: Object.fromEntries(sortedEntries(Object.fromEntries(cpu))),
  };
}
