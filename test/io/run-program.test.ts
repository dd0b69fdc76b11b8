import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { nodeHostIo } from "../../src/host/node-host-io.ts";
import { runProgram } from "../../src/io/run-program.ts";
import { needs } from "../support/needs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const limits = { timeoutMs: 5_000, maxBytes: 64 * 1024 };
const sh = (script: string, bounds = limits) =>
  runProgram("sh", ["-c", script], { ...bounds, env: process.env });

describe(
  "runProgram",
  needs(process.platform === "win32" ? "Windows: it has no shell scripts" : null),
  () => {
    it("gives status, output and errors", async () => {
      expect(await sh("echo out; echo err >&2; exit 6")).toEqual({
        status: 6,
        stdout: "out\n",
        stderr: "err\n",
        timedOut: false,
      });
    });

    it("rejects for a program that does not exist, which is null for the probe", async () => {
      const missing = join(folder, "nvidia-smi");
      await expect(runProgram(missing, [], { env: process.env })).rejects.toMatchObject({ code: "ENOENT" });
      expect(await nodeHostIo().run(missing, [], limits)).toBeNull();
    });

    it("feeds its input, and gives none without", async () => {
      const cat = (input: object) => runProgram("cat", [], { env: process.env, ...input });
      expect(await cat({ input: "of many\nlines" })).toMatchObject({ status: 0, stdout: "of many\nlines" });
      expect(await cat({})).toMatchObject({ status: 0, stdout: "" });
    });

    it("tells lines as they come, and keeps those of standard output only", async () => {
      const [errors, output]: [string[], string[]] = [[], []];
      const ended = await runProgram("sh", ["-c", "printf 'a\\r\\nb'; printf 'c\\nd' >&2"], {
        env: process.env,
        onLine: (line) => errors.push(line),
        onOutput: (line) => output.push(line),
      });
      expect([output, errors]).toEqual([
        ["a", "b"],
        ["c", "d"],
      ]);
      expect(ended).toMatchObject({ stdout: "a\r\nb", stderr: "" });
    });

    it("asks a program to end when it is aborted, and rejects with the reason", async () => {
      const stop = new AbortController();
      const file = join(folder, "asked");
      const options = {
        env: process.env,
        signal: stop.signal,
        onOutput: () => stop.abort(new Error("enough")),
      };
      const script = `trap 'echo term > "${file}"; exit 0' TERM; echo begun; while :; do sleep 0.05; done`;
      await expect(runProgram("sh", ["-c", script], options)).rejects.toThrow("enough");
      expect(readFileSync(file, "utf8")).toBe("term\n");
      await expect(runProgram("sh", ["-c", "echo x"], options)).rejects.toThrow("enough");
    });

    it("waits for nobody who holds the standard error that it drops", async () => {
      const script = "sleep 20 >/dev/null & echo done";
      const bounds = { timeoutMs: 15_000, dropErrors: true, env: process.env };
      expect(await runProgram("sh", ["-c", script], bounds)).toMatchObject({
        stdout: "done\n",
        timedOut: false,
      });
    });

    it("passes arguments without a shell", async () => {
      const answer = await nodeHostIo().run("echo", ["$HOME; rm -rf /", "`id`"], limits);
      expect(answer?.stdout).toBe("$HOME; rm -rf / `id`\n");
    });

    it("kills a hanging program with all its children, and does not wait for their pipes", async () => {
      const pidFile = join(folder, "grandchild");
      const answer = await sh(`trap '' TERM; sleep 1000 & echo $! > '${pidFile}'; echo begun; wait`, {
        timeoutMs: 2000,
        maxBytes: 1024,
      });
      expect(answer).toMatchObject({ status: null, stdout: "begun\n", timedOut: true });
      expect(await isGone(Number(readFileSync(pidFile, "utf8")))).toBe(true);
    });

    it("stops a program that prints without end", async () => {
      const answer = await sh("yes", { timeoutMs: 10_000, maxBytes: 4096 });
      expect(answer).toMatchObject({ status: null, timedOut: false });
      expect(answer?.stdout).toHaveLength(4096);
    });

    it("returns within the bound when a background child keeps the pipe open", async () => {
      const answer = await sh("sleep 1000 & echo done", { timeoutMs: 2000, maxBytes: 1024 });
      expect(answer).toMatchObject({ stdout: "done\n", timedOut: true });
    });
  },
);

async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 50; tries += 1) {
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "utf8") : null;
    // A killed process may stay a zombie until the machine's init takes it.
    if (stat === null || / [ZX] /.test(stat)) return true;
    await sleep(20);
  }
  return false;
}
