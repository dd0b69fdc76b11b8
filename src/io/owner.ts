/** Names a temporary file after its process. A later process can remove the files of a killed process. */

import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { isErrno } from "./files.ts";

/** A file without a known owner stays for a day. */
const unknownMs = 24 * 3_600_000;

/** A file name of this process that nobody can guess: `<pid>-<machine>-<random>`. */
export function ownedName(): string {
  return [process.pid, machine(), randomBytes(12).toString("hex")].join("-");
}

/** True if the process behind a name is gone. With another machine's name, or one of another form, a file is left after a day. */
export function isLeft(name: string, mtimeMs: number): boolean {
  return ownerIsGone(name) ?? Date.now() - mtimeMs > unknownMs;
}

/** null for another machine's name, or one of another form. */
export function ownerIsGone(name: string): boolean | null {
  const pid = ownerPid(name);
  return pid === null ? null : !isAlive(pid);
}

/** The pid in a name of {@link ownedName}; null for another machine's name, or one of another form. */
export function ownerPid(name: string): number | null {
  const [, pid, where] = /(?:^|[^0-9a-z])(\d+)-([0-9a-f]{12})-[0-9a-f]{24}/.exec(name) ?? [];
  return where === machine() ? Number(pid) : null;
}

function machine(): string {
  return createHash("sha256").update(hostname()).digest("hex").slice(0, 12);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process is another user's.
    return isErrno(error, "EPERM");
  }
}
