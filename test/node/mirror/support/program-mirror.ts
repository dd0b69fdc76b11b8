/** `imgmatch serve` as a process, from a bundle of the sources as they are. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { resolve } from "node:path";
import { onTestFinished } from "vitest";

export interface ProgramMirror {
  readonly port: number;
  readonly child: ChildProcess;
  readonly log: () => readonly Readonly<Record<string, unknown>>[];
  readonly ended: Promise<number | null>;
}

/** @returns the command that is `imgmatch serve` on a port of its own */
export function bundleServe(name: string): readonly [string, ...string[]] {
  const bundle = `node_modules/.cache/imgmatch-${name}`;
  execFileSync(process.execPath, ["scripts/bundle.mjs", bundle], { stdio: "inherit" });
  return [process.execPath, resolve(bundle, "cli.cjs"), "serve", "--listen", "127.0.0.1:0"];
}

/** Until the test ends. */
export async function startProgramMirror(
  [program, ...args]: readonly [string, ...string[]],
  cwd: string,
): Promise<ProgramMirror> {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<number | null>((done) => child.once("close", done));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  let text = "";
  const port = await new Promise<number>((done, reject) => {
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${text}`)));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const [, found] = /"listening".*?:(\d+)"/.exec(text) ?? [];
      if (found !== undefined) done(Number(found));
    });
  });
  const log = () => text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  return { port, child, log, ended };
}
