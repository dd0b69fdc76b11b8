import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { nodeHostIo } from "../../src/host/node-host-io.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { runInProcess } from "../support/run-cli.ts";

const stack = inject("stack");
const env = stack.available ? stack.engineEnv : {};

describe("check and doctor with a real engine", needs(stack.available ? null : stack.reason), () => {
  let features: readonly string[] = [];

  beforeAll(async () => {
    features = (await probeHost(nodeHostIo())).cpu.features ?? [];
    await importImage("imgmatch-check:fits", label(features));
    await importImage("imgmatch-check:misfit", label([...features, "no_such_feature"].sort()));
    await importImage("imgmatch-check:plain");
  });

  it("an image that the engine has is judged by its label", async () => {
    expect(await run("check", "imgmatch-check:fits")).toMatchObject({ exit: 0 });
    const misfit = await run("check", "imgmatch-check:misfit");
    expect(misfit.out).toContain("needs no_such_feature");
    expect(misfit.exit).toBe(3);
  });

  it("an image without a label is judged by its files", async () => {
    const { out, exit } = await run("check", "imgmatch-check:plain", "--json");
    expect(JSON.parse(out)).toMatchObject({ source: "engine", judgedBy: "files", fits: true, reasons: [] });
    expect(exit).toBe(0);
  });

  it("what the engine does not have is asked of the registry", async () => {
    const registry = stack.available ? stack.registry : "";
    const { err, exit } = await run("check", `${registry}/nothing/here:1`);
    expect(err).toContain("IMAGE_NOT_FOUND");
    expect(exit).toBe(5);
  });

  it("doctor sees the engine", async () => {
    const { out } = await run("doctor", "--json");
    const { checks } = JSON.parse(out) as { checks: { check: string; state: string; message: string }[] };
    const found = checks.find(({ check }) => check === "engine");
    expect(found?.state).toBe("ok");
    expect(found?.message).toContain(env.DOCKER_HOST);
  });

  function label(cpu: readonly string[]): string {
    return JSON.stringify({ cpu: { march: "native", features: cpu }, cuda: null });
  }

  /** An empty root file system under a name, as `docker import` makes it. */
  async function importImage(name: string, requires?: string): Promise<void> {
    const change =
      requires === undefined ? [] : ["--change", `LABEL dev.imgmatch.requires=${JSON.stringify(requires)}`];
    execFileSync("docker", ["import", ...change, "-", name], {
      ...{ env: { ...process.env, ...env }, input: Buffer.alloc(1024) },
    });
  }

  async function run(...args: readonly string[]) {
    return runInProcess(args, { env: { ...process.env, ...env, HOME: makeFolder({}) } });
  }
});
