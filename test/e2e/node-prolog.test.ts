/** The prologs of docs/node.md in a real Slurm: the node's image for its jobs and tasks, and a drained node where the host is broken. */

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeHostIo } from "../../src/host/node-host-io.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { fleetScript } from "../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { needs } from "../support/needs.ts";
import { type RunningSlurm, startSlurm, typed, whyNoSlurm } from "./support/slurm.ts";

describe("Slurm with the prologs of docs/node.md", needs(whyNoSlurm), () => {
  let slurm: RunningSlurm;
  let folder = "";
  let image: string | undefined;
  const at = (name: string) => join(folder, name);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-prolog-"));
    chmodSync(folder, 0o755);
    mkdirSync(at("etc"));
    const file = "docs/examples/vision/images/imgmatch.lock.json";
    const lock = parseLock(readFileSync(file, "utf8"), file);
    image = resolveImage(lock, await probeHost(nodeHostIo())).match?.reference;
    writeFileSync(at("etc/fleet.sh"), (await fleetScript(lock, { version: "1.0.0" })).text);
    for (const name of ["slurm-prolog.sh", "slurm-task-prolog.sh"]) {
      const text = readFileSync(join("docs/node", name), "utf8");
      const here = text.replaceAll("/etc/imgmatch", at("etc")).replaceAll("/run/imgmatch", at("run"));
      writeFileSync(at(name), here, { mode: 0o755 });
    }
    const config = [`Prolog=${at("slurm-prolog.sh")}`, `TaskProlog=${at("slurm-task-prolog.sh")}`];
    slurm = await startSlurm("any", { config });
  });
  afterAll(async () => {
    await slurm?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("gives the node's image to jobs in a file and to tasks in a variable", () => {
    const { status, stdout, stderr } = typed(`srun sh -c 'echo "$IMGMATCH_IMAGE"'`, slurm.env);
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: `${image}\n` });
    expect(readFileSync(at("run/image"), "utf8")).toBe(`${image}\n`);
  });

  it("starts jobs without an image where none fits", () => {
    writeFileSync(at("etc/fleet.sh"), "exit 3\n");
    const { status, stdout } = typed(`srun sh -c 'echo "<$IMGMATCH_IMAGE>"'`, slurm.env);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "<>\n" });
    expect(existsSync(at("run/image"))).toBe(false);
  });

  it("drains a node whose host is broken", async () => {
    writeFileSync(at("etc/fleet.sh"), "echo HOST_BROKEN >&2; exit 4\n");
    typed("timeout 20 sbatch --output=/dev/null --wrap=true", slurm.env);
    const state = () =>
      execFileSync("sinfo", ["--noheader", "--format=%T"], { env: slurm.env, encoding: "utf8" });
    await expect.poll(state, { timeout: 30_000 }).toMatch(/drain/);
  });
});
