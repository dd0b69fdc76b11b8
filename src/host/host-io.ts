/** The questions that the probe asks a machine. `node-host-io.ts` asks this machine; tests answer from a folder. */

import type { EndedProgram } from "../io/run-program.ts";
import type { NvmlReading } from "./nvidia/nvml-reading.ts";

/** The answer for an existing file that this user may not read. */
export const denied = Symbol("denied");
export type Denied = typeof denied;

export interface HostIo {
  /** `process.platform`: `linux`, `darwin`, `win32`, … */
  readonly platform: string;
  /** `process.arch`: `x64`, `arm64`, `ppc64`, … */
  readonly arch: string;
  readonly endianness: "BE" | "LE";
  readonly env: Readonly<Record<string, string | undefined>>;
  /** null for an absent file. With `limit`, reads a plain file alone, and so many bytes of it. */
  readText(path: string, limit?: number): string | null | Denied;
  /** Names in a folder, sorted; empty when there is no such folder or it may not be read. */
  list(path: string): readonly string[];
  exists(path: string): boolean;
  /** True if this user may read and write the device node. */
  mayOpen(path: string): boolean;
  /** The target of a symbolic link as it is written, or null. */
  readLink(path: string): string | null;
  /** Runs a program without a shell; null when there is no such program. Never rejects. */
  run(command: string, args: readonly string[], limits: RunLimits): Promise<CommandResult | null>;
  /** Reads NVML from the first of these libraries that loads, with `pairs` about each two GPUs too; null if none loads, or without koffi. */
  readNvml(libraries: readonly string[], pairs?: boolean): Promise<NvmlReading | null>;
  /** The answers of `systeminformation`, for systems without `/proc`. */
  readInventory(): Promise<Inventory | null>;
}

export interface RunLimits {
  /** After this many milliseconds the program and all its children are killed. */
  readonly timeoutMs: number;
  /** Output beyond this many bytes ends the program too. */
  readonly maxBytes: number;
}

export type CommandResult = EndedProgram;

/** The part of `systeminformation` that the facts use. */
export interface Inventory {
  readonly vendor: string | null;
  readonly model: string | null;
  /** CPU flags under the system's own names, separated by blanks; empty when it does not tell. */
  readonly flags: string;
  readonly kernel: string | null;
  readonly gpus: readonly {
    readonly vendor: string;
    readonly name: string;
    readonly driver: string | null;
  }[];
}

/** The machine of one probe: the text of a file is read once. What is not there is looked for again, as a driver may bring it. */
export function readingOnce(io: HostIo): HostIo {
  const texts = new Map<string, string>();
  const readText: HostIo["readText"] = (path, limit) => {
    const kept = texts.get(path);
    if (limit !== undefined || kept !== undefined) return kept ?? io.readText(path, limit);
    const text = io.readText(path);
    if (typeof text === "string") texts.set(path, text);
    return text;
  };
  return { ...io, readText };
}

/** The text of a file, or null if it is absent or may not be read. */
export function textOf(io: HostIo, path: string): string | null {
  const text = io.readText(path);
  return text === denied ? null : text;
}
