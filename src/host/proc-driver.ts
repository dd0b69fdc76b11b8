/** The NVIDIA kernel module: its version and flavor, from `/proc` and `/sys`. */

import { denied, type HostIo } from "./io.ts";

export interface KernelModule {
  /** null when the file names no version, or only an L4T release number. */
  readonly version: string | null;
  readonly flavor: "open" | "proprietary" | null;
  /** Set when the number is that of an L4T release (old Jetson stack) and belongs to no driver branch. */
  readonly l4t: string | null;
}

export const procVersionPath = "/proc/driver/nvidia/version";
const sysVersionPath = "/sys/module/nvidia/version";

/**
 * Reads the text of `/proc/driver/nvidia/version`.
 *
 * The version is the first number after `Kernel Module` (open: after `for <architecture>`): `x86_64` and the compiler's
 * line have numbers of their own, and the rest of the line may be cut or in another language.
 *
 * @example parseProcDriver("NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.56  Fri …") // version 418.56, proprietary
 */
export function parseProcDriver(text: string): KernelModule | null {
  const line = text.split("\n").find((each) => /^\s*NVRM version:/.test(each));
  const match = /\bKernel Module(?:\s+for\s+(\S+))?\s+(\d+(?:\.\d+){1,3})(?![\w.])/.exec(line ?? "");
  if (line === undefined || match === null) return null;
  const version = match[2] ?? null;
  // The nvgpu stack of JetPack 4 and 5 prints the L4T release (34.1.1) and neither "Open" nor the x86 word order.
  const onTegra = match[1] === "aarch64" && !/\bOpen Kernel Module\b/.test(line);
  if (onTegra && version !== null && Number(version.split(".")[0]) < 100) {
    return { version: null, flavor: null, l4t: version };
  }
  return { version, flavor: /\bOpen Kernel Module\b/.test(line) ? "open" : "proprietary", l4t: null };
}

/** `/sys/module/nvidia/version` holds the number and nothing else. */
export function parseSysDriver(text: string): string | null {
  return /^\s*(\d+(?:\.\d+){1,3})\s*$/.exec(text)?.[1] ?? null;
}

export interface KernelModuleReading extends KernelModule {
  readonly source: string;
}

/** What the kernel says about its NVIDIA module; null when none is loaded, {@link denied} when it may not be read. */
export function readKernelModule(io: HostIo): KernelModuleReading | null | typeof denied {
  const proc = io.readText(procVersionPath);
  if (typeof proc === "string") {
    const parsed = parseProcDriver(proc);
    if (parsed !== null) return { ...parsed, source: procVersionPath };
  }
  const sys = io.readText(sysVersionPath);
  if (typeof sys === "string") {
    const version = parseSysDriver(sys);
    if (version !== null) return { version, flavor: null, l4t: null, source: sysVersionPath };
  }
  if (proc === denied || sys === denied) return denied;
  return proc === null && sys === null
    ? null
    : { version: null, flavor: null, l4t: null, source: proc === null ? sysVersionPath : procVersionPath };
}
