/** Names for what a killed process would leave behind: they tell who made it, so that a later one can clean up. */

import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { attempt } from "./attempt.ts";
import { isErrno } from "./files.ts";

/** What nobody can tell the owner of is left alone for a day. */
const unknownMs = 24 * 3_600_000;

/** A file name of this process that nobody can guess: `<pid>-<start>-<place>-<random>`. */
export function ownedName(): string {
  const { pid } = process;
  return [pid, startOf(pid) ?? 0, place(), randomBytes(12).toString("hex")].join("-");
}

/** Whether the process of a name of {@link ownedName} is gone. A name of another form has been left when it is a day old. */
export function isLeft(name: string, mtimeMs: number): boolean {
  return ownerIsGone(name) ?? Date.now() - mtimeMs > unknownMs;
}

/** null where that cannot be told: another machine or container, or a name of another form. */
export function ownerIsGone(name: string): boolean | null {
  const [, pid = "", start, where] =
    /(?:^|[^0-9a-z])(\d+)-(\d+)-([0-9a-f]{12})-[0-9a-f]{24}/.exec(name) ?? [];
  if (where === undefined || where !== place()) return null;
  if (!isAlive(Number(pid))) return true;
  // Numbers are given again: a container that starts anew often has the one that it had before.
  const now = startOf(Number(pid));
  return now !== null && start !== "0" && String(now) !== start;
}

/** The pid of a name of {@link ownedName}. */
export function ownerPid(name: string): number | null {
  const [, pid] = /(?:^|[^0-9a-z])(\d+)-\d+-[0-9a-f]{12}-[0-9a-f]{24}/.exec(name) ?? [];
  return pid === undefined ? null : Number(pid);
}

let known: string | null = null;

/** Where process numbers mean the same: a machine since it was started, and a container on it (pid_namespaces(7)). */
function place(): string {
  known ??= createHash("sha256")
    .update(
      [
        hostname(),
        text("/proc/sys/kernel/random/boot_id"),
        attempt(() => readlinkSync("/proc/self/ns/pid"), ""),
      ].join("\0"),
    )
    .digest("hex")
    .slice(0, 12);
  return known;
}

/** When a process started, in ticks since the machine did (proc_pid_stat(5), starttime); null where nobody says. */
function startOf(pid: number): number | null {
  const stat = text(`/proc/${pid}/stat`);
  // The program's name stands in brackets and may hold any.
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return ticks === undefined || !/^\d+$/.test(ticks) ? null : Number(ticks);
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

function text(path: string): string {
  return attempt(() => readFileSync(path, "utf8"), "");
}
