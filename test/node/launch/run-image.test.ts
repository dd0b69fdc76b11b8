import { spawn as spawnProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { runImage, type Spawn } from "../../../src/node/launch/run-image.ts";
import type { LocalTarget } from "../../../src/node/launch/target.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { requirement } from "../../resolve/support/locks.ts";
import { reference } from "./support/requests.ts";

const request = { reference, requires: requirement(null), host: cpuHost(), args: [] };
const node = (script: string): Pick<LocalTarget, "command"> => ({
  command: () => ({ argv: [process.execPath, "-e", script], env: { GREETING: "17" } }),
});

describe("runImage", () => {
  it("answers the program's exit code, with the target's environment", async () => {
    expect(await runImage(node("process.exit(Number(process.env.GREETING))"), request)).toBe(17);
  });

  it("answers 128 + n for a program that signal n ended", async () => {
    expect(await runImage(node("process.kill(process.pid, 'SIGKILL')"), request)).toBe(137);
  });

  it("says so when the program is absent", async () => {
    const absent: Pick<LocalTarget, "command"> = { command: () => ({ argv: ["/no/such/docker"], env: {} }) };
    await expect(runImage(absent, request)).rejects.toMatchObject({ code: "LAUNCH_FAILED", exitCode: 5 });
  });

  it("passes signals on and stops listening afterwards", async () => {
    const before = process.listenerCount("SIGTERM");
    const signals: string[] = [];
    const spawn: Spawn = () => {
      const child = new EventEmitter() as EventEmitter & ReturnType<Spawn>;
      child.kill = (signal) => {
        signals.push(signal);
        child.emit("close", null, signal);
        return true;
      };
      setImmediate(() => process.emit("SIGTERM"));
      return child;
    };
    expect(await runImage(node(""), request, undefined, spawn)).toBe(143);
    expect(signals).toEqual(["SIGTERM"]);
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  it("ends the program where a signal of the caller's aborts", async () => {
    const ended = new AbortController();
    const spawn: Spawn = ({ argv: [file, ...args] }) => {
      const child = spawnProcess(file, args, { stdio: ["ignore", "pipe", "inherit"] });
      child.stdout.once("data", () => ended.abort());
      return child;
    };
    const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready')";
    expect(await runImage(node(script), request, ended.signal, spawn)).toBe(137);
  });

  it("lets a real program end by itself after a signal", async () => {
    const script =
      "process.on('SIGTERM', () => process.exit(5)); setInterval(() => {}, 1000); console.log('ready')";
    const spawn: Spawn = ({ argv: [file, ...args] }) => {
      const child = spawnProcess(file, args, { stdio: ["ignore", "pipe", "inherit"] });
      child.stdout.once("data", () => process.emit("SIGTERM"));
      return child;
    };
    expect(await runImage(node(script), request, undefined, spawn)).toBe(5);
  });
});
