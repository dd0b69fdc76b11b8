/** This machine, as the probe asks for it. */

import { accessSync, constants, existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";
import { attempt } from "../io/attempt.ts";
import { isErrno } from "../io/files.ts";
import { type Denied, denied, type HostIo } from "./io.ts";

/** Reads this machine through `node:fs`, `node:child_process` and, where it is installed and needed, `koffi`. */
export function nodeHostIo(env: NodeJS.ProcessEnv = process.env): HostIo {
  return {
    platform: process.platform,
    arch: process.arch,
    endianness: endianness(),
    env,
    readText,
    list: (path) => attempt(() => readdirSync(path).sort(), []),
    exists: existsSync,
    mayOpen,
    readLink: (path) => attempt(() => readlinkSync(path), null),
    run: async (command, args, limits) => {
      const { runProgram } = await import("../io/run-program.ts");
      return runProgram(command, args, { ...limits, env }).catch(() => null);
    },
    readNvml: async (libraries) => (await import("./nvml-koffi.ts")).readNvmlWithKoffi(libraries),
    readInventory: async () => (await import("./inventory.ts")).readInventory(),
  };
}

function readText(path: string): string | null | Denied {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return isErrno(error, "EACCES") || isErrno(error, "EPERM") ? denied : null;
  }
}

function mayOpen(path: string): boolean {
  return attempt(() => {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  }, false);
}
