/** The program in this process, and whether what it prints could do more to a terminal than show words. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { CommandContext } from "../../src/cli/command.ts";
import { isPrintable } from "../../src/printable.ts";
import { runInProcess } from "../support/run-cli.ts";

/** Begins a line where a line break from outside comes through. */
export const forged = "FORGED";

/** ESC, BEL, CR, C1, bidi and zero-width controls, a NUL, and a line of its own. */
export const nasty = `\u001b]0;x\u0007\r\u009b2J\u202e\u2066\u200f\u200b\u2028\u0000\n${forged}`;

export const folder = mkdtempSync(join(tmpdir(), "imgmatch-hostile-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

export interface Shown {
  readonly out: string;
  readonly err: string;
}

export async function shown(
  args: readonly string[],
  { env, ...more }: Partial<CommandContext> = {},
): Promise<Shown> {
  const home = { DOCKER_CONFIG: folder, HOME: folder, DOCKER_HOST: "unix:///nowhere/docker.sock" };
  return runInProcess(args, { cwd: folder, ...more, env: { ...home, ...env } });
}

export function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Both streams, of which one at least says something. */
export function expectSafe({ out, err }: Shown): void {
  expect(out + err).not.toBe("");
  for (const stream of [out, err]) {
    const lines = stream.split("\n");
    // One assertion for all lines: thousands of texts pass here.
    expect(lines.filter((line) => !isPrintable(line.replaceAll("\t", "")))).toEqual([]);
    if (lines.some((line) => line.startsWith(forged))) expect.fail(`a line of its own: ${stream}`);
    if (stream.includes("This is a bug")) expect.fail(stream);
  }
}

/** A JSON document with every text of it, one at a time, and every key made nasty. */
export function poisoned(json: string): string[] {
  const texts: string[] = [];
  const root = JSON.parse(json) as unknown;
  visit(root, (change) => texts.push(change()));
  return texts;

  function visit(value: unknown, tell: (change: () => string) => void): void {
    if (typeof value !== "object" || value === null) return;
    const object = value as Record<string, unknown>;
    for (const [key, inner] of Object.entries(object).slice(0, 12)) {
      if (typeof inner === "string") {
        object[key] = `${inner}${nasty}`;
        tell(() => JSON.stringify(root));
        object[key] = inner;
      }
      visit(inner, tell);
      if (Array.isArray(value)) continue;
      delete object[key];
      object[`${key}${nasty}`] = inner;
      tell(() => JSON.stringify(root));
      delete object[`${key}${nasty}`];
      object[key] = inner;
    }
  }
}
