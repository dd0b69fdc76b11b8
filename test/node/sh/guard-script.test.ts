/** The text of a guard, and what it does with its own process: modes, environment, exit codes, PID. */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findMarch, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import type { Requirement } from "../../../src/lock/requirement.ts";
import { guardScript } from "../../../src/node/sh/guard-script.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { requirements, wholeFleet } from "./support/fleet.ts";
import { writeMachine } from "./support/machine.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-guard-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dialects = findDialects(join(folder, "awks"));
const repository = "registry.example.com/team/cv";
const platform = "linux/amd64";

function featuresOf(name: string): readonly string[] {
  const march = findMarch(name);
  return march === null ? expect.fail(name) : marchFeatures(march);
}

const onV3 = (name: string): Requirement => ({
  cpu: { march: "x86-64-v3", features: featuresOf("x86-64-v3") },
  cuda: requirements[name] ?? null,
});

/** A machine with the CPU of a level and, of NVIDIA, a driver with these cards, all given to the container. */
function machineOf(name: string, level: string, driver: string | null, ids: readonly string[] = []): string {
  const flags = featuresOf(level).join(" ");
  const files = new Map([
    ["/proc/cpuinfo", `flags\t\t: ${flags}\n`],
    ["/proc/sys/kernel/osrelease", "6.8.0\n"],
    ["/.dockerenv", ""],
  ]);
  const nodes: string[] = [];
  if (driver !== null) {
    files.set(
      "/proc/driver/nvidia/version",
      `NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${driver}  Mon\n`,
    );
    nodes.push("/dev/nvidiactl");
  }
  for (const [index, id] of ids.entries()) {
    const bus = `0000:0${index + 1}:00.0`;
    files.set(
      `/proc/driver/nvidia/gpus/${bus}/information`,
      `Bus Location: ${bus}\nDevice Minor: ${index}\n`,
    );
    for (const [file, text] of [
      ["vendor", "0x10de"],
      ["device", `0x${id}`],
      ["class", "0x030200"],
    ] as const)
      files.set(`/sys/bus/pci/devices/${bus}/${file}`, `${text}\n`);
    nodes.push(`/dev/nvidia${index}`);
  }
  const root = join(folder, name);
  writeMachine(root, { arch: "x64", env: {}, files, nodes, links: {}, denied: [], smi: null });
  return root;
}

const [h100, v100, unheardOf] = ["2330", "1db6", "3ffe"];
const axes = { cuda: "13.0.2", compute: "9.0", march: "x86-64-v3", python: "3.12" };

describe.each(dialects)("in $name", ({ shell, awk }) => {
  const [program = "sh", ...words] = shell.split(" ");
  const start = (file: string, root: string, env: Record<string, string>, args = ["echo", "started"]) => {
    const PATH = `${awk}:${process.env.PATH}`;
    const given = { PATH, IMGMATCH_ROOT: root, ...env };
    return spawnSync(program, [...words, file, ...args], { env: given, encoding: "utf8" });
  };
  const guardOf = async (name: string, requires: Requirement, by = axes) => {
    const file = join(folder, `${name}.sh`);
    writeFileSync(file, await guardScript({ axes: by, platform, repository, requires }));
    return file;
  };

  test("a driver update, a dropped card and a small CPU are told with their numbers and a sibling", async () => {
    const cuda13 = await guardOf("cuda13", onV3("13.0"));
    const cases: readonly (readonly [string, string])[] = [
      [
        machineOf("r550", "x86-64-v4", "550.54.15", [h100]),
        "DRIVER_TOO_OLD: this host has driver 550.54.15, CUDA 12.4; this image needs driver 580.65.06 or newer (its PTX: CUDA 13.0.2). " +
          `Take ${repository} with cuda=12, compute=9.0, march=x86-64-v3, python=3.12`,
      ],
      [
        machineOf("v100", "x86-64-v4", "580.95.05", [v100]),
        "NO_GPU_CODE: no code of it runs on compute capability 7.0; it has code for sm_75 sm_80 sm_90 sm_110 compute_110. " +
          `Take ${repository} with cuda=13.0.2, compute=7.0, march=x86-64-v3, python=3.12`,
      ],
      [
        machineOf("v2", "x86-64-v2", "580.95.05", [h100]),
        `CPU_FEATURES_MISSING: the CPU of this host does not have abm. Take ${repository} with cuda=13.0.2, compute=9.0, march=x86-64-v2, python=3.12`,
      ],
      [
        machineOf("no-gpu", "x86-64-v4", null),
        `NO_NVIDIA_DRIVER: this host has no NVIDIA GPU. Take ${repository} with cuda=none, march=x86-64-v3, python=3.12`,
      ],
    ];
    for (const [root, line] of cases)
      expect(start(cuda13, root, {})).toMatchObject({
        status: 78,
        stdout: "",
        stderr: `imgmatch: ${line}\n`,
      });
    for (const root of [
      machineOf("h100", "x86-64-v4", "580.95.05", [h100]),
      machineOf("unheard-of", "x86-64-v4", "580.95.05", [unheardOf]),
      machineOf("unknown-driver", "x86-64-v4", "999.10", [h100]),
    ])
      expect(start(cuda13, root, {}), root).toMatchObject({ status: 0, stdout: "started\n", stderr: "" });
  });

  test("IMGMATCH_GUARD is off, warn or json", async () => {
    const guard = await guardOf("modes", onV3("none"), { ...axes, cuda: "none" });
    const root = machineOf("small", "x86-64-v2", null);
    expect(start(guard, root, { IMGMATCH_GUARD: "off" })).toMatchObject({ status: 0, stderr: "" });
    const warned = start(guard, root, { IMGMATCH_GUARD: "warn" });
    expect(warned).toMatchObject({ status: 0, stdout: "started\n" });
    expect(warned.stderr).toContain("CPU_FEATURES_MISSING");
    const told = start(guard, root, { IMGMATCH_GUARD: "json" });
    expect(told.status).toBe(78);
    expect(JSON.parse(told.stderr)).toEqual({
      code: "CPU_FEATURES_MISSING",
      message: "the CPU of this host does not have abm",
      repository,
      axes: { cuda: "none", compute: "9.0", march: "x86-64-v2", python: "3.12" },
    });
  });

  test("the program gets its arguments, variables and process as without a guard", async () => {
    const guard = await guardOf("through", onV3("none"));
    const root = machineOf("large", "x86-64-v4", null);
    const env = { "a.b": "1", "A-B": "x y", Q: "it's\n'two' lines\\", R: "kept", e: "", f: "x" };
    const direct = spawnSync("env", ["-0"], {
      env: { PATH: `${awk}:${process.env.PATH}`, IMGMATCH_ROOT: root, ...env },
    });
    const sorted = (text: string) => text.split("\0").sort();
    const guarded = start(guard, root, env, ["env", "-0"]);
    expect(sorted(guarded.stdout)).toEqual(sorted(direct.stdout.toString()));
    const args = ["", "a b", "'", '"', "*", "$HOME", "x\ny"];
    expect(start(guard, root, {}, ["printf", "<%s>", ...args]).stdout).toBe(
      args.map((each) => `<${each}>`).join(""),
    );
    expect(start(guard, root, {}, ["sh", "-c", "exit 7"]).status).toBe(7);
    expect(start(guard, root, {}, ["/no/such/program"]).status).toBe(127);
    expect(start(guard, root, {}, [folder]).status).toBe(126);
    expect(start(guard, root, {}, []).status).toBe(127);
    const child = spawn(program, [...words, guard, "sleep", "60"], {
      env: { PATH: `${awk}:${process.env.PATH}`, IMGMATCH_ROOT: root },
    });
    for (let waited = 0; waited < 200; waited++) {
      const name = execFileSync("ps", ["-o", "comm=", "-p", String(child.pid)], { encoding: "utf8" }).trim();
      if (name === "sleep") break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    child.kill("SIGTERM");
    expect(await new Promise((resolve) => child.on("exit", (_, signal) => resolve(signal)))).toBe("SIGTERM");
  });

  test("with IMGMATCH_COMMAND the arguments stand in place of the entrypoint", async () => {
    const text = await guardScript({ axes, platform, repository, requires: onV3("none") });
    const args = ["-c", text, "imgmatch-guard-2", "/entry.sh", "word", "env"];
    const given = { PATH: `${awk}:${process.env.PATH}`, IMGMATCH_COMMAND: "1", IMGMATCH_GUARD: "off" };
    // A bash that is not named sh reads ~/.bashrc where its input is a socket.
    const result = spawnSync(program, [...words, ...args], {
      ...{ env: given, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
    });
    expect(result).toMatchObject({ status: 0, stderr: "" });
    expect(result.stdout).toContain("IMGMATCH_GUARD=off");
    expect(result.stdout).not.toContain("IMGMATCH_COMMAND");
  });

  test("an awk that fails lets the program start", async () => {
    const guard = await guardOf("failing", onV3("13.0"));
    const broken = join(folder, "broken");
    writeMachine(broken, {
      arch: "x64",
      env: {},
      files: new Map(),
      nodes: [],
      links: {},
      denied: [],
      smi: null,
    });
    writeFileSync(join(broken, "awk"), "#!/bin/sh\nexit 2\n", { mode: 0o755 });
    const env = { PATH: `${broken}:${process.env.PATH}` };
    expect(start(guard, broken, env)).toMatchObject({ status: 0, stdout: "started\n", stderr: "" });
  });
});

test("there is a shell to try", needs(whyNoDialect(dialects)), () => expect(dialects).not.toEqual([]));

test("the text is at most 24 KB, and a function of the cell alone", { timeout: 60_000 }, async () => {
  const all = Object.entries(wholeFleet().images);
  for (const [cell, image] of all.filter(([id]) =>
    /arrowlake|(none|12.6t|13.0)_(neoverse|power9|rva22)/.test(id),
  )) {
    const asked = { axes: image.axes, platform: image.platform, repository, requires: image.requires };
    const text = await guardScript(asked);
    expect(Buffer.byteLength(text), cell).toBeLessThanOrEqual(24_000);
    expect(await guardScript({ ...asked }), cell).toBe(text);
    expect(text).not.toContain(image.digest);
  }
  const rocm = { release: "7.2", code: ["gfx942", "gfx90a:sramecc+:xnack-", "gfx11-generic"] };
  const cpu = { march: "x86-64-v4", features: featuresOf("x86-64-v4") };
  const amd = await guardScript({ axes, platform, repository, requires: { cpu, cuda: null, rocm } });
  expect(Buffer.byteLength(amd)).toBeLessThanOrEqual(24_000);
});

test("no value of a matrix reaches the shell, the awk or the JSON as their syntax", async () => {
  const wild = { cuda: "none", march: "x86-64-v3", name: `'; touch /x; "\\$(id)\`` };
  const text = await guardScript({ axes: wild, platform, repository, requires: onV3("none") });
  expect(text).toContain("name=?? touch /x? ???(id)?");
});
