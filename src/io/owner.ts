/** Names for what a killed process would leave behind: they tell who made it, so that a later one can clean up. */

import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { isErrno } from "./files.ts";

/** For a day, a file without a known owner is left alone. */
const unknownMs = 24 * 3_600_000;

/** A file name of this process that nobody can guess: `<pid>-<machine>-<random>`. */
export function ownedName(): string {
  return [process.pid, machine(), randomBytes(12).toString("hex")].join("-");
}

/** Whether the process of a name of {@link ownedName} is gone. A name of another form has been left when it is a day old. */
export function isLeft(name: string, mtimeMs: number): boolean {
  return ownerIsGone(name) ?? Date.now() - mtimeMs > unknownMs;
}

/** null where that cannot be told: another machine, or a name of another form. */
export function ownerIsGone(name: string): boolean | null {
  const pid = ownerPid(name);
  return pid === null ? null : !isAlive(pid);
}

/** The pid of a name of {@link ownedName}; null for another machine's, and for a name of another form. */
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
    // EPERM: there is such a process, of another user.
    return isErrno(error, "EPERM");
  }
}
