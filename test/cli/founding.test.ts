/** The machine and the images that imgmatch was made for: an M60 of g3s.xlarge, and images of two toolkits, two CPUs and two GPUs, each with its driver. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { cuda, gpuImage, lockOf, requirement } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const toolkits = { nccl90: ["9.0.176", "390.30"], nccl92: ["9.2.148", "396.44"] } as const;
const marches = { generic: "x86-64", broadwell: "broadwell" } as const;
const codes = { nvcap70: "sm_70", nvcap52: "sm_52" } as const;

const lock = lockOf(
  Object.fromEntries(
    Object.entries(toolkits).flatMap(([nccl, [toolkit, version]]) =>
      Object.entries(marches).flatMap(([cpu, march]) =>
        Object.entries(codes).map(([nvcap, code]) => {
          const side = cuda(toolkit, [code], { driver: { mode: "bundled", version } });
          const features = findMarch(march)?.features ?? [];
          const axes = { cuda: toolkit, compute: code.replace(/^sm_(\d)/, "$1."), march };
          const name = `${nccl}_${cpu}_${nvcap}`;
          return [
            name,
            gpuImage(side, {
              tag: name,
              axes,
              requires: { ...requirement(side, features), cpu: { march, features } },
            }),
          ];
        }),
      ),
    ),
  ),
);
const folder = makeFolder({ "lock.json": formatLock(lock) });
const fleet = ["--lock", join(folder, "lock.json")];
const g3s = (driver: string) => ["--host-type", "g3s.xlarge", "--driver", driver];
const run = (command: string, ...args: readonly string[]) =>
  runInProcess([...command.split(" "), ...fleet, ...args]);

test("resolve finds the image of toolkit, CPU and GPU, and run hands over the device nodes alone", async () => {
  const { exit, out } = await run("resolve", ...g3s("396.44"));
  expect([exit, out]).toEqual([0, expect.stringMatching(/:nccl92_broadwell_nvcap52@sha256:/)]);
  const launched = await run("launch docker", ...g3s("396.44"));
  expect(launched.out).toMatch(
    /^docker run --rm --device \/dev\/nvidia0 --device \/dev\/nvidiactl --device \/dev\/nvidia-uvm .*nccl92_broadwell_nvcap52@/,
  );
  const dryRun = await run("run", "--dry-run", ...g3s("396.44"));
  expect(dryRun.out).toContain("--device /dev/nvidia0");
});

test("each image that a person might have taken is refused with its number", async () => {
  const whyNot = async (cell: string) => (await run(`why-not ${cell}`, ...g3s("396.44"))).out;
  expect(await whyNot("nccl90_broadwell_nvcap52")).toMatch(
    /DRIVER_NOT_EXACT: bundles the driver 390\.30 and needs exactly that kernel module, this host has 396\.44/,
  );
  expect(await whyNot("nccl92_broadwell_nvcap70")).toMatch(/NO_GPU_CODE: .*sm_70.*5\.2/);
  // It runs, and another one is better.
  expect(await whyNot("nccl92_generic_nvcap52")).not.toMatch(/[A-Z]+_[A-Z]+:/);
});

test("the nearest image of an updated driver is the one before it", async () => {
  const { exit, err } = await run("resolve", ...g3s("396.45"));
  expect([exit, err]).toEqual([
    3,
    expect.stringMatching(
      /NO_MATCH: .*\n {2}nccl92_\w+_nvcap52 and \d more: DRIVER_NOT_EXACT: bundles the driver 396\.44/,
    ),
  ]);
});

test("a driver that was updated without a reboot is a broken host, whatever its problems say", async () => {
  const facts = {
    ...{ schemaVersion: 1, platform: "linux/amd64", cpu: { march: "broadwell" }, problems: [] },
    nvidia: { driver: "396.44", library: "390.30", gpus: [{ index: 0, name: "Tesla M60", compute: "5.2" }] },
  };
  const file = join(makeFolder({ "facts.json": JSON.stringify(facts) }), "facts.json");
  const { exit, err } = await run("resolve", "--host", file);
  expect([exit, err]).toEqual([4, expect.stringMatching(/HOST_BROKEN: HOST_DRIVER_LIBRARY_MISMATCH/)]);
});

test("an image of a toolkit that is newer than the driver is refused before it is pulled", async () => {
  const eight = gpuImage(cuda("8.0.61", ["sm_52"], { driver: { mode: "host", minimum: "375.26" } }));
  const own = ["--lock", join(makeFolder({ "lock.json": formatLock(lockOf({ eight })) }), "lock.json")];
  const { exit, err } = await runInProcess(["resolve", ...own, ...g3s("346.46")]);
  expect([exit, err]).toEqual([3, expect.stringMatching(/DRIVER_TOO_OLD: .*375\.26.*346\.46/)]);
});
