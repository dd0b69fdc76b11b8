/** Calls C functions of a driver's library through koffi. Texts and structs pass through buffers. */

import { readFileSync } from "node:fs";
import { attempt } from "../io/attempt.ts";

/** A function of a library. */
export type Call = (...args: readonly (Buffer | bigint | number | null)[]) => number;

export interface NativeLibrary {
  /** The name that the loader got. */
  readonly path: string;
  /** Finds a function by its name and the C types of its parameters. */
  readonly bind: (name: string, types: readonly string[]) => Call;
  /** The text at the pointer in this buffer. */
  readonly textAt: (place: Buffer) => string;
}

/** Loads the first library that can be loaded; null without koffi or library. A function that it lacks answers `absent`. */
export async function openLibrary(
  libraries: readonly string[],
  absent: number,
): Promise<NativeLibrary | null> {
  const koffi = await import("koffi").catch(() => null);
  if (koffi === null) return null;
  for (const path of libraries) {
    const library = attempt(() => koffi.load(path), null);
    if (library === null) continue;
    const bind = (name: string, types: readonly string[]) =>
      attempt(
        () => library.func(name, "int", [...types]) as Call,
        () => absent,
      );
    return { path, bind, textAt: (place) => koffi.decode(place, "const char *") as string };
  }
  return null;
}

export async function canLoadLibraries(): Promise<boolean> {
  return import("koffi").then(
    () => true,
    () => false,
  );
}

/** The file that the loader took for a library of this process; undefined where `/proc` does not tell. */
export function fileOfLibrary({ path }: Pick<NativeLibrary, "path">): string | undefined {
  const nameOf = (file: string) => file.split("/").at(-1)?.split(".so")[0];
  const maps = attempt(() => readFileSync("/proc/self/maps", "utf8"), "");
  return maps
    .split("\n")
    .map((line) => line.slice(line.indexOf("/")))
    .find((file) => file.startsWith("/") && nameOf(file) === nameOf(path));
}

export function cString(buffer: Buffer): string {
  const end = buffer.indexOf(0);
  return buffer.toString("utf8", 0, end < 0 ? buffer.length : end);
}

function copy(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

export function uint(buffer: Buffer, offset: number): number {
  return new DataView(copy(buffer)).getUint32(offset, littleEndian);
}

export function wide(buffer: Buffer, offset: number): number {
  return Number(new DataView(copy(buffer)).getBigUint64(offset, littleEndian));
}

/** Pointers are opaque numbers: nothing here dereferences one. */
export function pointer(buffer: Buffer): bigint {
  return new BigUint64Array(copy(buffer))[0] ?? 0n;
}

const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
