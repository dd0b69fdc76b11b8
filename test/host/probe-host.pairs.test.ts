/** Links and NUMA nodes cost questions, which only who picks several GPUs asks. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { probeHost } from "../../src/host/probe-host.ts";
import { readHostOf, readPairsOf } from "../../src/host/probe.ts";
import { hostReader } from "../../src/node/launch/choose-launch.ts";
import { launchTargets } from "../../src/node/launch/launch-targets.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";

it.each(["ubuntu2404-sapphirerapids-h100", "rhel8-icelake-a100_no_nvml"])("of %s", async (machine) => {
  const io = fixtureHostIo(join(import.meta.dirname, "../fixtures/hosts", machine));
  const asked = async (pairs: boolean) => {
    const questions: string[] = [];
    const told = {
      ...io,
      readText: (path: string, limit?: number) => {
        if (path.endsWith("/numa_node")) questions.push("NUMA");
        return io.readText(path, limit);
      },
      readNvml: async (libraries: readonly string[], ofPairs?: boolean) => {
        if (ofPairs) questions.push("NVML");
        return io.readNvml(libraries);
      },
    };
    await probeHost(told, { pairs });
    return [...new Set(questions)].sort();
  };
  expect(await asked(false)).toEqual([]);
  expect(await asked(true)).toEqual(["NUMA", "NVML"]);
});

it("are asked for where a number of GPUs is picked here", () => {
  const { docker, kubernetes } = launchTargets;
  expect(["2", "16"].map((gpus) => hostReader(docker, gpus))).toEqual([readPairsOf, readPairsOf]);
  for (const gpus of [undefined, "1", "0,2", "device=2", "all", "none"])
    expect(hostReader(docker, gpus), gpus).toBe(readHostOf);
  expect(hostReader(kubernetes, "2")).toBe(readHostOf);
});
