import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/host/run-command.ts";
import { needs } from "../support/needs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const limits = { timeoutMs: 5_000, maxBytes: 64 * 1024 };
const sh = (script: string, bounds = limits) => runCommand("sh", ["-c", script], bounds, process.env);

describe(
  "runCommand",
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

    it("is null for a program that does not exist", async () => {
      expect(await runCommand(join(folder, "nvidia-smi"), [], limits, process.env)).toBeNull();
    });

    it("passes arguments without a shell", async () => {
      const answer = await runCommand("echo", ["$HOME; rm -rf /", "`id`"], limits, process.env);
      expect(answer?.stdout).toBe("$HOME; rm -rf / `id`\n");
    });

    it("kills a hanging program with all its children, and does not wait for their pipes", async () => {
      const pidFile = join(folder, "grandchild");
      const start = performance.now();
      const answer = await sh(`trap '' TERM; sleep 60 & echo $! > '${pidFile}'; echo begun; wait`, {
        timeoutMs: 300,
        maxBytes: 1024,
      });
      expect(answer).toMatchObject({ status: null, stdout: "begun\n", timedOut: true });
      expect(performance.now() - start).toBeLessThan(15_000);
      expect(await isGone(Number(readFileSync(pidFile, "utf8")))).toBe(true);
    });

    it("stops a program that prints without end", async () => {
      const answer = await sh("yes", { timeoutMs: 10_000, maxBytes: 4096 });
      expect(answer).toMatchObject({ status: null, timedOut: false });
      expect(answer?.stdout).toHaveLength(4096);
    });

    it("returns within the bound when a background child keeps the pipe open", async () => {
      const answer = await sh("sleep 60 & echo done", { timeoutMs: 400, maxBytes: 1024 });
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
