import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { GpuFacts, HostFacts } from "../../src/facts/facts.ts";
import { describeHostFacts } from "../../src/cli/probe-lines.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { machines } from "./machines.ts";

const root = fileURLToPath(new URL("../fixtures/hosts", import.meta.url));
const folders = readdirSync(root);

describe.each(folders)("%s", (name) => {
  const folder = `${root}/${name}`;

  it("has the facts of expected.json, byte for byte", async () => {
    const facts = await probeHost(fixtureHostIo(folder));
    expect(formatHostFacts(facts)).toBe(readFileSync(`${folder}/expected.json`, "utf8"));
  });

  it("is what its row says", async () => {
    expect(summary(await probeHost(fixtureHostIo(folder)))).toBe(machines[name]);
  });

  it("starts no process that it does not need", async () => {
    const io = fixtureHostIo(folder);
    await probeHost(io);
    expect(io.spawned).toHaveLength(io.allowedSpawns);
    if (!existsSync(`${folder}/nvidia-smi.json`)) expect(io.allowedSpawns).toBe(0);
  });

  it("survives the way through a file", async () => {
    const facts = await probeHost(fixtureHostIo(folder));
    expect(parseHostFacts(formatHostFacts(facts), "facts.json")).toEqual(facts);
    expect(describeHostFacts(facts).join("\n")).not.toMatch(/null|undefined/);
  });

  it("gives every problem a cure", async () => {
    const { problems } = await probeHost(fixtureHostIo(folder));
    for (const problem of problems) {
      expect(problem.code).toMatch(/^HOST_/);
      expect(problem.message).not.toBe("");
      expect(problem.fix ?? "").not.toBe("");
    }
  });
});

it("covers every problem state that the probe can find", async () => {
  const found = new Set<string>();
  for (const name of folders) {
    for (const { code } of (await probeHost(fixtureHostIo(`${root}/${name}`))).problems) found.add(code);
  }
  expect([...found].sort()).toEqual([
    "HOST_CONTAINER_WITHOUT_DEVICES",
    "HOST_DRIVER_LIBRARY_MISMATCH",
    "HOST_FABRIC_NOT_READY",
    "HOST_GPU_FIELD_UNKNOWN",
    "HOST_GPU_LOST",
    "HOST_GPU_TAKEN",
    "HOST_GPU_UNSUPPORTED_BY_DRIVER",
    "HOST_MIG_EMPTY",
    "HOST_NOUVEAU",
    "HOST_NO_DEVICES",
    "HOST_NO_DRIVER",
    "HOST_NO_PERMISSION",
    "HOST_NO_UVM",
    "HOST_NVML_FAILED",
    "HOST_SMI_FAILED",
    "HOST_SMI_GARBAGE",
    "HOST_SMI_TIMEOUT",
    "HOST_UNREADABLE",
    "HOST_UNSUPPORTED",
    "HOST_VISIBLE_DEVICES_UNCLEAR",
  ]);
});

it("has a row for every machine, and a machine for every row", () => {
  expect(folders).toEqual(Object.keys(machines).sort());
  expect(folders.length).toBeGreaterThanOrEqual(40);
});

function summary({ cpu, nvidia, problems, runtime }: HostFacts): string {
  const codes = problems.map(({ code }) => code).join(" ") || "-";
  const tail = [codes, runtime.nvidia ?? "-"];
  if (nvidia == null) return [cpu.level ?? "unknown", "no nvidia", ...tail].join(" | ");
  const driver = nvidia.driver === null ? "no driver" : `${nvidia.driver} ${nvidia.module ?? "unknown"}`;
  const gpus = nvidia.gpus.map((gpu) => [gpu.compute ?? "unknown", gpu.class, ...migWords(gpu)].join(" "));
  const all = [cpu.level ?? "unknown", driver, nvidia.cuda ?? "-", gpus.join(", ") || "no gpu", ...tail];
  return all.join(" | ");
}

/** `no instance` where the mode is on and empty. */
function migWords({ mig }: GpuFacts): readonly string[] {
  return mig?.length === 0 ? ["no instance"] : (mig ?? []).map(({ profile }) => profile);
}
