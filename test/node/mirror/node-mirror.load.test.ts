/** The program's mirror asked thousands of times, by many and for much: its memory has a bound. `bench/mirror.ts` has the minute, and the times. */

import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startFaultServer } from "../../oci/registry/support/fault-server.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { cudaFreeLock } from "../../cli/support/lock.ts";
import { bundleServe, startProgramMirror } from "./support/program-mirror.ts";

const mebibyte = 1024 * 1024;

/** Asks so many at a time; counts the statuses. */
async function askMany(
  port: number,
  count: number,
  pathOf: (index: number) => string,
  headersOf: (index: number) => Record<string, string> = () => ({}),
): Promise<Readonly<Record<number, number>>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  onTestFinished(() => agent.destroy());
  const seen: Record<number, number> = {};
  const ask = (index: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const options = { port, host: "127.0.0.1", path: pathOf(index), method: "HEAD", agent };
      const sent = request({ ...options, headers: headersOf(index) }, (response) => {
        const status = response.statusCode ?? 0;
        seen[status] = (seen[status] ?? 0) + 1;
        response.resume().on("end", resolve);
      });
      sent.on("error", reject).end();
    });
  for (let start = 0; start < count; start += 32)
    await Promise.all(Array.from({ length: Math.min(32, count - start) }, (_, index) => ask(start + index)));
  return seen;
}

async function residentBytes(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]);
}

describe("The memory of a mirror", needs(process.platform === "linux" ? null : "measured on Linux"), () => {
  let serve: readonly [string, ...string[]];
  beforeAll(() => {
    const [node, ...words] = bundleServe("load");
    // Young objects are collected soon, so that those that stay show after thousands of requests. A heap that grows on ends the process.
    serve = [node, "--max-semi-space-size=1", "--max-old-space-size=32", ...words];
  }, 120_000);

  it("does not grow with the number of requests", async () => {
    const lock = JSON.parse(cudaFreeLock("registry.example.com/team/app", "any", []));
    const manifest = { mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1234 };
    for (const image of Object.values<Record<string, unknown>>(lock.images)) image.manifest = manifest;
    const folder = makeFolder({});
    writeFileSync(join(folder, "lock.json"), JSON.stringify(lock));
    const { port } = await startProgramMirror([...serve, "--lock", "lock.json"], folder);
    const path = () => "/v2/team/app/manifests/1";
    expect(await askMany(port, 1600, path)).toEqual({ 200: 1600 });
    const before = await residentBytes(port);
    expect(await askMany(port, 4800, path)).toEqual({ 200: 4800 });
    // Two kilobytes kept of each would be nine megabytes.
    expect((await residentBytes(port)) - before).toBeLessThan(8 * mebibyte);
  });

  it("does not grow with what callers make up: tags, logins, names", async () => {
    const registry = await startFaultServer((_, response) => void response.writeHead(404).end("{}"));
    const { port } = await startProgramMirror([...serve, `${registry.host}/team/app`], makeFolder({}));
    // Together 34 MB: kept, they would be more than the heap may have.
    const login = "x".repeat(14_000);
    const seen = await askMany(
      port,
      2400,
      (index) =>
        `/v2/team/${index % 8 === 0 ? `other${index}` : "app"}/manifests/${index}?ns=${registry.host}`,
      (index) => ({ authorization: `Bearer ${index}${login}` }),
    );
    expect(seen).toEqual({ 404: 2400 });
    expect(await residentBytes(port)).toBeLessThan(160 * mebibyte);
  });
});
