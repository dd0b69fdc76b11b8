/** Signals and closed pipes, told to the real program. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, closeSync, constants, existsSync, openSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { cudaFreeLock } from "./support/lock.ts";

const bundle = "node_modules/.cache/imgmatch-signals";
const cli = resolve(bundle, "cli.cjs");
// Takes connections and never answers.
let connections = 0;
const silent: Server = createServer(() => {
  connections++;
});
let registry = "";

beforeAll(async () => {
  execFileSync(process.execPath, ["scripts/bundle.mjs", bundle], { stdio: "inherit" });
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  const address = silent.address();
  registry = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}, 120_000);
afterAll(() => void silent.close());

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

function start(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [cli, ...args], {
    cwd,
    env: { ...process.env, DOCKER_CONFIG: cwd, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

function end(child: ChildProcess): Promise<Ended> {
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdout?.resume();
  return new Promise((done) => child.on("close", (code, signal) => done({ code, signal, stderr })));
}

/** That nobody has now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === "object" && address !== null ? address.port : 0;
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** A machine with much to do takes seconds to start a program. */
async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400 && !condition(); tries++) await pause(50);
  expect(condition()).toBe(true);
}

/** More than a pipe holds: it is gone when the program has read from its standard input. */
const blanks = " ".repeat(4 * 1024 * 1024);

const project = (bases: readonly string[] = []) =>
  makeFolder({
    "matrix.yaml": `name: app\nversion: "1"\nregistry: ${registry}/team\ntemplate: a.hbs\nbase: ${registry}/base:1\naxes:\n  march: [x86-64-v3]\n`,
    "a.hbs": "FROM {{base}}\n",
    "images/imgmatch.lock.json": cudaFreeLock(`${registry}/team/app`, "x86-64-v3", bases),
  });

describe("the first signal ends a command that waits", () => {
  test.each<[string, string[]]>([
    ["plan for a registry", ["plan"]],
    ["plan --remote", ["plan", "--remote"]],
    ["export for a registry", ["export", "bake"]],
    ["build before anything is built", ["build", "--dry-run"]],
    ["lock --update-bases", ["lock", "--update-bases"]],
    ["verify", ["verify"]],
    ["resolve --from", ["resolve", "--from", "REGISTRY/team/app:1"]],
    ["check for a registry", ["check", "REGISTRY/team/app:1"]],
    ["labels --from", ["labels", "--from", "REGISTRY/team/app:1"]],
    ["resolve for standard input", ["resolve", "--host", "-"]],
    ["why-not for standard input", ["why-not", "x", "--host", "-"]],
  ])("%s: 130", { timeout: 60_000 }, async (_, args) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const before = connections;
      let isRead = false;
      const child = start(
        args.map((arg) => arg.replace("REGISTRY", registry)),
        // Known bases are not asked for, and an image without them is not opened.
        project(args[0] === "audit" ? [`${registry}/base:1`] : []),
      );
      const ended = end(child);
      if (args.includes("-")) {
        child.stdin?.write(blanks, () => {
          isRead = true;
        });
      }
      await until(() => isRead || connections > before);
      child.kill(signal);
      const { code, stderr } = await ended;
      expect({ code, stderr }).toEqual({ code: 130, stderr: expect.not.stringContaining("bug") });
    }
  });
});

test("an error that nobody catches is told with a stack, and without the line of the bundle", async () => {
  // Thrown by the engine of JavaScript, in the function of the program that a signal calls.
  const preload = "AbortController.prototype.abort = JSON.parse.bind(null, '{');";
  const boom = join(makeFolder({ "boom.cjs": preload }), "boom.cjs");
  const before = connections;
  const child = start(["plan"], project(), { NODE_OPTIONS: `--require ${boom}` });
  const ended = end(child);
  await until(() => connections > before);
  child.kill("SIGTERM");
  const { code, stderr } = await ended;
  expect(stderr).toMatch(
    /^This is a bug in imgmatch.*\nimgmatch \S+, Node .*\nSyntaxError: .*\n {4}at .*cli/s,
  );
  for (const line of stderr.split("\n")) expect(line.length).toBeLessThan(300);
  expect(code).toBe(1);
});

describe("serve", () => {
  test("listens until SIGTERM, and ends with 0", { timeout: 30_000 }, async () => {
    const child = start(
      ["serve", "--lock", "images/imgmatch.lock.json", "--listen", "127.0.0.1:0"],
      project(),
    );
    let log = "";
    child.stderr?.on("data", (chunk) => {
      log += chunk;
    });
    const ended = end(child);
    await until(() => log.includes('"listening"'));
    const port = /127\.0\.0\.1:(\d+)/.exec(log)?.[1];
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0, signal: null });
    expect(
      log
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).event),
    ).toEqual(["listening", "stopped"]);
  });
});

describe("the log of serve that nobody reads", () => {
  test("holds up no answer", { timeout: 60_000 }, async () => {
    const log = join(project(), "log");
    execFileSync("mkfifo", [log]);
    // A pipe that blocks, as a shell makes it, held open by somebody who reads when he likes.
    const reader = openSync(log, constants.O_RDWR);
    const port = await freePort();
    const words = [process.execPath, cli, "serve", "--lock", "images/imgmatch.lock.json", "--require-gpu"];
    const child = spawn("sh", ["-c", `exec "$@" 2>"$LOG"`, "sh", ...words, "--listen", `127.0.0.1:${port}`], {
      cwd: project(),
      env: { ...process.env, LOG: log },
      stdio: "ignore",
    });
    const ended = end(child);
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5000) });
    for (let tries = 0; tries < 200 && !(await ask("/healthz").catch(() => null)); tries++) await pause(50);
    // Each line of the log has 500 bytes, and the pipe holds 64 KB.
    const path = `/v2/team/app/manifests/1?${"x".repeat(300)}`;
    for (let count = 0; count < 500; count++) expect((await ask(path)).status).toBe(404);
    expect((await ask("/healthz")).status).toBe(200);
    child.kill("SIGKILL");
    await ended;
    closeSync(reader);
  });
});

describe("run", () => {
  /** A docker whose container ignores signals, as a shell as process 1 does; it goes on when the command has ended. */
  const docker = (rm: string) => `#!/bin/sh
echo "$@" >> "$CALLS"
case $1 in
run) trap '' INT TERM; shift; [ "$1" = --cidfile ] && echo 0123456789abcdef > "$2"; echo runs >> "$CALLS"; while :; do sleep 0.1; done;;
rm) ${rm};;
esac
`;
  const runIn = (rm: string) => {
    const cwd = project();
    const bin = makeFolder({ docker: docker(rm) });
    chmodSync(join(bin, "docker"), 0o755);
    const calls = join(bin, "calls");
    // Where no Docker is and Podman is, Podman would run it.
    const env = { PATH: `${bin}:${process.env.PATH}`, CALLS: calls, DOCKER_HOST: "unix:///nowhere.sock" };
    const child = start(["run"], cwd, env);
    return { child, ended: end(child), calls: () => (existsSync(calls) ? readFileSync(calls, "utf8") : "") };
  };

  test("the second signal removes the container", { timeout: 30_000 }, async () => {
    const { child, ended, calls } = runIn("true");
    await until(() => calls().endsWith("runs\n"));
    child.kill("SIGINT");
    await pause(700);
    expect(child.exitCode).toBeNull();
    expect(calls()).not.toContain("rm --force");
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130, stderr: "INTERRUPTED: interrupted\n" });
    expect(calls()).toContain("rm --force 0123456789abcdef\n");
  });

  test("what cannot be removed is named, and the third waits for nothing", { timeout: 30_000 }, async () => {
    const failing = runIn("exit 1");
    await until(() => failing.calls().endsWith("runs\n"));
    failing.child.kill("SIGTERM");
    failing.child.kill("SIGINT");
    const said =
      "INTERRUPTED: interrupted; the container 0123456789abcdef may still run\n  fix: docker rm --force 0123456789abcdef\n";
    await pause(300);
    const first = await failing.ended;
    expect(first).toMatchObject({ code: 130, stderr: said });

    const hanging = runIn("exec sleep 3");
    await until(() => hanging.calls().endsWith("runs\n"));
    for (const signal of ["SIGINT", "SIGTERM", "SIGINT"] as const) {
      hanging.child.kill(signal);
      await pause(200);
    }
    expect(await hanging.ended).toMatchObject({ code: 130, stderr: said });
  });
});

describe("a pipe that nobody reads", () => {
  test.each<[string, string]>([
    [
      "standard error",
      `"$NODE" "$CLI" plan --matrix none.yaml 2>&1 >/dev/null | true; echo "\${PIPESTATUS[0]}"`,
    ],
    ["standard output", `"$NODE" "$CLI" plan --matrix none.yaml --json | true; echo "\${PIPESTATUS[0]}"`],
    ["standard output of help", `"$NODE" "$CLI" --help | true; echo "\${PIPESTATUS[0]}"`],
  ])("%s changes no exit code", (name, script) => {
    const env = { ...process.env, NODE: process.execPath, CLI: cli };
    const out = execFileSync("bash", ["-c", script], { env, encoding: "utf8" });
    expect(out.trim()).toBe(name.endsWith("help") ? "0" : "2");
  });
});
