/** Answers the questions of the probe about this machine. */

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from "node:fs";
import { attempt } from "../io/attempt.ts";
import { isErrno } from "../io/files.ts";
import { type Denied, denied, type HostIo } from "./host-io.ts";
// Not when it is needed: compiled code is kept for the program's first file alone.
import { readNvmlWithKoffi } from "./nvidia/nvml-koffi.ts";

/** Reads this machine through `node:fs`, `node:child_process` and, where it is installed and needed, `koffi`. */
export function nodeHostIo(env: NodeJS.ProcessEnv = process.env): HostIo {
  return {
    platform: process.platform,
    arch: process.arch,
    // node:os would be one more module to load.
    endianness: new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? "LE" : "BE",
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
    readNvml: readNvmlWithKoffi,
    readInventory: async () => (await import("./inventory.ts")).readInventory().catch(() => null),
  };
}

function readText(path: string, limit?: number): string | null | Denied {
  try {
    return limit === undefined ? readFileSync(path, "utf8") : readStart(path, limit);
  } catch (error) {
    return isErrno(error, "EACCES", "EPERM") ? denied : null;
  }
}

function readStart(path: string, limit: number): string | null {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!fstatSync(file).isFile()) return null;
    const bytes = Buffer.alloc(limit);
    let length = 0;
    for (let more = -1; more !== 0 && length < limit; length += more)
      more = readSync(file, bytes, length, limit - length, null);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

/** Mode bits say less than open does: device rules of a cgroup, AppArmor and a mount without devices refuse too. */
function mayOpen(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDWR | (constants.O_NONBLOCK ?? 0)));
    return true;
  } catch (error) {
    // A driver that fails has let this user in.
    return !isErrno(error, "EACCES", "EPERM", "ENOENT");
  }
}
