/** The program's mirror whose lock, or whose cache, lies on a file system that hangs, as a network's does whose server is away. */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { cudaFreeLock } from "../../cli/support/lock.ts";
import { startFaultServer } from "../../registry/support/fault-server.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { bundleServe, startProgramMirror } from "./support/program-mirror.ts";
import { whyNoPython } from "../../support/programs.ts";

const whyNoFileSystem =
  process.platform !== "linux" || process.getuid?.() !== 0 || !existsSync("/dev/fuse")
    ? "a file system of a test's own needs root on Linux, and /dev/fuse"
    : whyNoPython();

/** What lies in `shown` is to be seen in `mounted`, unless it hangs. */
async function startFileSystem() {
  const folder = makeFolder({});
  const [shown, mounted, flag] = ["shown", "mounted", "hang"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [shown, mounted]) mkdirSync(path);
  const program = "test/node/mirror/support/hanging_fs.py";
  const child = spawn("python3", [program, shown, mounted, flag], { stdio: "inherit" });
  onTestFinished(async () => {
    // Whoever still waits for an answer of it hears that there is none.
    child.kill("SIGKILL");
    spawnSync("umount", ["--lazy", mounted]);
  });
  await expect
    .poll(() => readFileSync("/proc/self/mounts", "utf8"), { timeout: 20_000 })
    .toContain(` ${mounted} fuse `);
  const hang = (does: boolean): void => (does ? writeFileSync(flag, "") : rmSync(flag));
  return { shown, mounted, hang };
}

const ask = (port: number, path: string, method = "HEAD") =>
  fetch(`http://127.0.0.1:${port}${path}`, { method, signal: AbortSignal.timeout(5000) }).then(
    ({ status }) => status,
  );
const tagged = (version: string) => `/v2/team/app/manifests/${version}`;

/** Manifests that are known need no registry. */
function lockOf(version: string): string {
  const lock = JSON.parse(cudaFreeLock("registry.example.com/team/app", "any", []));
  const manifest = { mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1234 };
  for (const image of Object.values<Record<string, unknown>>(lock.images)) image.manifest = manifest;
  return JSON.stringify({ ...lock, version });
}

describe("A mirror whose files hang", needs(whyNoFileSystem), () => {
  let serve: readonly [string, ...string[]];
  beforeAll(() => {
    serve = bundleServe("hanging-file");
  }, 120_000);

  it("answers from the lock as it was read last, and reads it again when it can", async () => {
    const { shown, mounted, hang } = await startFileSystem();
    writeFileSync(join(shown, "lock.json"), lockOf("1.0"));
    const { port, log } = await startProgramMirror([...serve, "--lock", join(mounted, "lock.json")], shown);
    expect(await ask(port, tagged("1.0"))).toBe(200);

    hang(true);
    writeFileSync(join(shown, "lock.json"), lockOf("2.0"));
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(port, tagged("1.0"))));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(await ask(port, "/healthz", "GET")).toBe(200);
    const told = log().filter(({ event }) => event === "fleet");
    expect(told.map(({ message }) => message)).toEqual([
      expect.stringMatching(/lock\.json does not answer: the fleet is as it was read last$/),
    ]);

    hang(false);
    await expect.poll(() => ask(port, tagged("2.0")), { timeout: 5000 }).toBe(200);
  });

  it("leaves a cache aside that does not answer, and asks the registry", async () => {
    const { mounted, hang } = await startFileSystem();
    const registry = await startFaultServer((_, response) => void response.writeHead(404).end("{}"));
    const flags = ["--cache", mounted, `${registry.host}/team/app`];
    const { port, log } = await startProgramMirror([...serve, ...flags], mounted);
    hang(true);
    const answers = await Promise.all(["1.0", "2.0", "3.0"].map((version) => ask(port, tagged(version))));
    // The registry says that these are no fleets.
    expect(answers).toEqual([404, 404, 404]);
    expect(registry.asked.map(({ path }) => path).sort()).toEqual(["1.0", "2.0", "3.0"].map(tagged));
    expect(await ask(port, "/healthz", "GET")).toBe(200);
    expect(log().map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/mounted does not answer: the cache is left aside$/),
    );
    hang(false);
    await sleep(100);
    expect(await ask(port, tagged("4.0"))).toBe(404);
  });
});
