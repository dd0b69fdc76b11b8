import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findMarch, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import { classRules } from "../../../src/hardware/gpu-class.ts";
import { nameRows, virtualRows } from "../../../src/hardware/gpu-name-table.ts";
import { pciRows } from "../../../src/hardware/gpu-pci-table.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { toEre } from "../../../src/node/sh/safe-text.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { brandsByName } from "../../../src/resolve/nvidia-view.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../../resolve/support/locks.ts";
import { devices, node, pci } from "../../host/amd/support/amd-host.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fakeSmi, writeMachine } from "./support/machine.ts";
import { runScripts } from "./support/run-scripts.ts";
import { whyNoShellcheck } from "../../support/programs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-text-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dialects = findDialects(join(folder, "awks"));

async function write(
  name: string,
  lock: Lock,
  options: Partial<Parameters<typeof fleetScript>[1]> = {},
): Promise<string> {
  const file = join(folder, name);
  writeFileSync(file, (await fleetScript(lock, { version: "1.0.0", ...options })).text);
  return file;
}

const march = findMarch("x86-64-v3");
const cpu = `processor: 0\nvendor_id: GenuineIntel\nflags: ${march === null ? "" : marchFeatures(march).join(" ")}\n`;

function machine(name: string, more: Readonly<Record<string, string>> = {}, arch = "x64"): string {
  const root = join(folder, name);
  mkdirSync(root);
  const files = new Map([
    ["/proc/cpuinfo", cpu],
    ["/proc/sys/kernel/osrelease", "6.8.0\n"],
    ...Object.entries(more),
  ]);
  writeMachine(root, { arch, env: {}, files, nodes: [], links: {}, denied: [], smi: null });
  return root;
}

function run(
  script: string,
  root: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  return spawnSync("sh", [script, ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, ...env, IMGMATCH_ROOT: root },
  });
}

test("a draft of RISC-V's vectors is no vectors", needs(whyNoDialect(dialects)), async () => {
  const vectors = { march: "rva23u64", features: ["c", "v"] };
  const plain = { march: "rv64gc", features: ["c"] };
  const of = (cpu: LockedImage["requires"]["cpu"]) =>
    image({ platform: "linux/riscv64", requires: { cpu, cuda: null } });
  const lock = lockOf({ v: of(vectors), plain: of(plain) });
  const script = await write("vectors.sh", lock);
  const root = (name: string, arch: string) => {
    const text = `isa : rv64imafdcv\nmvendorid : 0x5b7\nmarchid : ${arch}\nmimpid : 0x0\n`;
    return machine(name, { "/proc/cpuinfo": text }, "riscv64");
  };
  const [draft, ratified] = [root("c910", "0x0"), root("c920v2", "0x8000000009140d00")];
  for (const dialect of dialects) {
    const asked = [draft, ratified].map((root) => ({ script, root, env: {}, smi: null }));
    const answers = runScripts(mkdtempSync(join(folder, "out-")), dialect, asked);
    expect(
      answers.map(({ stdout }) => /:(\w+)@/.exec(stdout)?.[1]),
      dialect.name,
    ).toEqual(["plain", "v"]);
  }
});

describe("the text of a script", () => {
  test("is the same for the same input, and says what it was made from", async () => {
    const lock = wholeFleet();
    const [one, other] = [
      await fleetScript(lock, { version: "1.0.0" }),
      await fleetScript(lock, { version: "1.0.0" }),
    ];
    expect(one).toEqual(other);
    expect(one.lockDigest).toBe(digestOf(new TextEncoder().encode(formatLock(lock))));
    const script = await write("says.sh", lock);
    expect(run(script, "", ["--version"]).stdout).toBe("imgmatch 1.0.0, cv-tf 1.12.0\n");
    expect(run(script, "", ["--lock-digest"]).stdout).toBe(`${one.lockDigest}\n`);
    expect(run(script, "", ["--gpu"])).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining("USAGE"),
    });
  });

  test("has nothing that shellcheck finds", needs(whyNoShellcheck()), async () => {
    const { images, ...fleet } = wholeFleet();
    const march = "x86-64-v3";
    const rocm = rocmImage(["gfx942"], "7.2", { axes: { march }, tag: "rocm" });
    const lock = { ...fleet, images: { ...images, rocm } };
    const script = await write("clean.sh", lock, { pins: { march: "x86-64*" } });
    expect(spawnSync("shellcheck", ["--shell=sh", script], { encoding: "utf8" }).stdout).toBe("");
  });

  test("stays small: 40 images in 30 KB, 400 in 61", async () => {
    const bytes = async (count: number) =>
      Buffer.byteLength((await fleetScript(fleetOf(count), { version: "1.0.0" })).text);
    expect(await bytes(40)).toBeLessThanOrEqual(30_000);
    expect(await bytes(400)).toBeLessThanOrEqual(61_000);
  });
});

function fleetOf(count: number): Lock {
  const cells = Object.entries(wholeFleet((cell) => /^(none|12.8|13.0)_x86/.test(cell)).images);
  const images: Record<string, LockedImage> = {};
  for (let index = 0; index < count; index++) {
    const [cell, each] = cells[index % cells.length] ?? ["", image()];
    images[`${cell}-${index}`] = { ...each, axes: { ...each.axes, python: `3.${index}` } };
  }
  return lockOf(images);
}

describe("a fleet of 1,500 images", () => {
  const root = machine("many");
  test("is answered by every shell and awk", {
    ...needs(whyNoDialect(dialects)),
    timeout: 60_000,
  }, async () => {
    const script = await write("many.sh", fleetOf(1500));
    // More than Linux takes as one argument.
    expect((await fleetScript(fleetOf(1500), { version: "1.0.0" })).text.length).toBeGreaterThan(131_072);
    const answers = dialects.map((dialect) => {
      const out = mkdtempSync(join(folder, "out-"));
      return runScripts(out, dialect, [{ script, root, env: {}, smi: null }])[0];
    });
    const [first] = answers;
    expect(first).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^registry[^ ]+:none_x86-64-v3-\d+@sha256:[0-9a-f]{64}\n$/),
    });
    for (const answer of answers) expect(answer).toEqual(first);
  });
});

test("a shell's options and a caller's IFS change no answer", needs(whyNoDialect(dialects)), async () => {
  const root = machine("options");
  const script = await write("options.sh", fleetOf(3));
  for (const dialect of dialects) {
    const answerOf = (shell: string, env: Readonly<Record<string, string>> = {}) => {
      const out = mkdtempSync(join(folder, "out-"));
      return runScripts(out, { ...dialect, shell }, [{ script, root, env, smi: null }])[0];
    };
    const plain = answerOf(dialect.shell);
    expect(plain?.status).toBe(0);
    for (const options of ["-e", "-f", "-u", "-efu"])
      expect(answerOf(`${dialect.shell} ${options}`), `${dialect.name} ${options}`).toEqual(plain);
    for (const IFS of ["/", "0123456789abcdef.:", ""])
      expect(answerOf(dialect.shell, { IFS }), `${dialect.name} IFS=${IFS}`).toEqual(plain);
  }
});

test("scripts that run at once write nothing, and answer alike", needs(whyNoDialect(dialects)), async () => {
  const script = await write("at-once.sh", fleetOf(3));
  const empty = mkdtempSync(join(folder, "empty-"));
  const together = `for each in 1 2 3 4 5 6 7 8; do sh ${script} & done; wait`;
  const { stdout } = spawnSync("sh", ["-c", together], {
    cwd: empty,
    env: { PATH: process.env.PATH, TMPDIR: empty, HOME: empty },
    encoding: "utf8",
  });
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(8);
  expect(new Set(lines).size).toBe(1);
  expect(readdirSync(empty)).toEqual([]);
});

describe("a hostile lock", () => {
  const proof = join(folder, "proof");
  const words = [
    `'; touch ${proof} #`,
    `"; system("touch ${proof}") #`,
    `$(touch ${proof})`,
    `\`touch ${proof}\``,
    "a\nIMGMATCH_TABLES\ntouch x",
    "a b",
    "a\\n",
    "é",
    "",
  ];
  const base = lockOf({ one: image() });
  const poisoned: readonly (readonly [string, (word: string) => Lock])[] = [
    ["repository", (word) => ({ ...base, repository: word })],
    ["name", (word) => ({ ...base, name: word })],
    ["version", (word) => ({ ...base, version: word })],
    ["tag", (word) => ({ ...base, images: { one: { ...image(), tag: word } } })],
    ["platform", (word) => lockOf({ one: image({ platform: word }) })],
    ["digest", (word) => lockOf({ one: image({ digest: word as `sha256:${string}` }) })],
    [
      "feature",
      (word) => lockOf({ one: image({ requires: { cpu: { march: "m", features: [word] }, cuda: null } }) }),
    ],
    [
      "kernel",
      (word) =>
        lockOf({ one: image({ requires: { cpu: { march: "m", features: [] }, cuda: null, kernel: word } }) }),
    ],
  ];
  for (const [place, lock] of poisoned)
    test.each(words)(`is refused by its ${place}: %j`, async (word) => {
      await expect(fleetScript(lock(word), { version: "1.0.0" })).rejects.toThrow("EXPORT_UNSAFE");
    });

  test("says nothing by what does not go into the script: cells, axes, marches, toolkits, code, expressions, pins", async () => {
    for (const [index, word] of words.entries()) {
      const evil = image({
        axes: { cuda: word, [word]: word },
        requires: {
          cpu: { march: word, features: ["avx2"] },
          cuda: {
            toolkit: word,
            code: [word],
            driver: { mode: "compat", package: word, cuda: word, branches: [word] },
            require: word,
          },
        },
      });
      const images = {
        [word]: { ...evil, tag: "evil" },
        good: { ...image(), tag: "good", axes: { cuda: word } },
      };
      const script = await write(
        `hostile-${index}.sh`,
        { ...base, images },
        { pins: { cuda: { text: word, matches: () => true } } },
      );
      execFileSync("sh", ["-n", script]);
      const { status, stdout } = run(script, machine(`hostile-${index}`));
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(":good@sha256:") });
      expect(existsSync(proof)).toBe(false);
    }
  });

  test("a hostile machine neither", async () => {
    const script = await write("machine.sh", wholeFleet());
    const words_ = words.map((word) => word.replaceAll("\n", " "));
    for (const [index, word] of words_.entries()) {
      const root = machine(`evil-${index}`, {
        "/proc/cpuinfo": `flags: ${word}\nvendor_id: ${word}\n`,
        "/proc/sys/kernel/osrelease": word,
        "/proc/driver/nvidia/version": `NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${word}  x\n`,
        "/proc/driver/nvidia/gpus/0000:01:00.0/information": `Model: ${word}\nGPU UUID: ${word}\nBus Location: ${word}\n`,
        "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:01:00.0/device": `${word}\n`,
        "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
      });
      const { status, stdout } = run(script, root, ["--unchecked"], {
        CUDA_VISIBLE_DEVICES: word,
        NVIDIA_VISIBLE_DEVICES: word,
      });
      expect([3, 4]).toContain(status);
      expect(stdout).toBe("");
      expect(existsSync(proof)).toBe(false);
    }
  });
});

describe("states that only a script meets", () => {
  test("a 32-bit process under a 64-bit kernel is of the small architecture, as a 32-bit Node.js is", async () => {
    const script = await write("narrow.sh", wholeFleet());
    const small = machine("narrow", {
      "/proc/self/maps": "00400000-0040b000 r-xp x\nffffe000-fffff000 r-xp [vdso]\n",
    });
    const wide = machine("wide", {
      "/proc/self/maps": "00400000-0040b000 r-xp x\n7ffc7f0e6000-7ffc7f107000 rw-p [stack]\n",
    });
    expect(run(script, small).stderr).toContain("linux/386");
    expect(run(script, wide).status).toBe(0);
  });

  test("no awk is said", async () => {
    const script = await write("no-awk.sh", wholeFleet());
    const result = spawnSync("/bin/sh", [script], { encoding: "utf8", env: { PATH: "/nowhere" } });
    expect(result).toMatchObject({
      status: 4,
      stdout: "",
      stderr: "imgmatch: HOST_UNREADABLE: there is no awk on this host\n",
    });
  });

  test("a driver without nvidia-smi is answered by --unchecked and by --cpu alone", async () => {
    const script = await write("unchecked.sh", wholeFleet());
    const root = machine("unchecked", {
      "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  x\n",
      "/proc/driver/nvidia/gpus/0000:01:00.0/information":
        "Model: NVIDIA A100-SXM4-80GB\nBus Location: 0000:01:00.0\n",
      "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
      "/sys/bus/pci/devices/0000:01:00.0/device": "0x20b2\n",
      "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
    });
    expect(run(script, root)).toMatchObject({
      status: 4,
      stdout: "",
      stderr: expect.stringContaining("HOST_UNCHECKED"),
    });
    expect(run(script, root, ["--unchecked"]).stdout).toContain(":12.8_x86-64-v3@");
    expect(run(script, root, ["--cpu"]).stdout).toContain(":none_x86-64-v3@");
  });

  test("a fabric of which an old nvidia-smi does not tell is unknown where the bus has an NVSwitch", async () => {
    const script = await write("fabric.sh", wholeFleet());
    const bin = join(folder, "fabric-bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "nvidia-smi"), fakeSmi, { mode: 0o755 });
    const on = (name: string, fabric: Readonly<Record<string, readonly string[]>>) => {
      const bus = "0000:05:00.0";
      const root = join(folder, `fabric-${name}`);
      mkdirSync(root);
      const version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.06  x\n";
      const files = new Map([
        ["/proc/cpuinfo", cpu],
        ["/proc/driver/nvidia/version", version],
        [`/sys/bus/pci/devices/${bus}/vendor`, "0x10de\n"],
        [`/sys/bus/pci/devices/${bus}/device`, "0x22a3\n"],
        [`/sys/bus/pci/devices/${bus}/class`, "0x068000\n"],
      ]);
      const fields = {
        index: ["0"],
        ...{ uuid: ["GPU-1"], name: ["NVIDIA H100 80GB HBM3"], driver_version: ["535.183.06"] },
        ...{ "pci.bus_id": ["00000000:06:00.0"], "pci.device_id": ["0x233010DE"] },
        ...{ "memory.total": ["81559 MiB"], "memory.used": ["0 MiB"], compute_mode: ["Default"] },
        ...{ "mig.mode.current": ["Disabled"], compute_cap: ["9.0"] },
        ...fabric,
      };
      const smi = { fields, table: "", list: "" };
      writeMachine(root, {
        arch: "x64",
        env: {},
        files,
        nodes: ["/dev/nvidiactl"],
        links: {},
        denied: [],
        smi,
      });
      return (...args: readonly string[]) => run(script, root, args, { PATH: `${bin}:${process.env.PATH}` });
    };
    const untold = on("untold", {});
    expect(untold()).toMatchObject({
      status: 4,
      stdout: "",
      stderr: expect.stringContaining("FACT_UNKNOWN"),
    });
    expect(untold("--unchecked").stdout).toContain(":12.8a_x86-64-v3@");
    const told = (state: string) => ({ "fabric.state": [state], "fabric.status": ["N/A"] });
    expect(on("up", told("Completed"))().stdout).toContain(":12.8a_x86-64-v3@");
    expect(on("down", told("In Progress"))()).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("HOST_FABRIC_NOT_READY"),
    });
    expect(on("shut", { ...told("Completed"), compute_mode: ["Prohibited"] })()).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("HOST_GPU_NOT_READY"),
    });
  });

  test("an image whose package decides is refused by name, and no image is named in its place", async () => {
    const script = await write(
      "toolkit.sh",
      wholeFleet((cell) => /^(none|13.0c)_x86-64$/.test(cell)),
    );
    const on = (driver: string) =>
      machine(`toolkit-${driver}`, {
        "/proc/driver/nvidia/version": `NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${driver}  x\n`,
        "/proc/driver/nvidia/gpus/0000:01:00.0/information":
          "Model: NVIDIA A100-SXM4-80GB\nBus Location: 0000:01:00.0\n",
        "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:01:00.0/device": "0x20b2\n",
        "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
      });
    expect(run(script, on("535.183.06"), ["--unchecked"])).toMatchObject({
      status: 4,
      stdout: "",
      stderr: expect.stringMatching(
        /FACT_UNKNOWN: .* the container toolkit .* package of \S*13\.0c_x86-64; ask imgmatch resolve/,
      ),
    });
    // Too old with the package and without, and new enough to need none.
    expect(run(script, on("470.256.02"), ["--unchecked"]).stdout).toContain(":none_x86-64@");
    expect(run(script, on("580.95.05"), ["--unchecked"]).stdout).toContain(":13.0c_x86-64@");
  });

  describe("an AMD GPU", () => {
    const lock = lockOf({
      cpu: image({ axes: { accel: "none" } }),
      cuda: gpuImage(cuda("12.8.1", ["sm_80"])),
      exact: rocmImage(["gfx942:sramecc+", "gfx90a"]),
      family: rocmImage(["gfx11-generic", "gfx1036"]),
    });
    const version = { "/sys/module/amdgpu/version": "6.14.14\n" };
    const mi300x = {
      gfx_target_version: 90402,
      device_id: 0x74a1,
      capability: 2 ** 26,
      unique_id: "12345678901234567890",
    };
    const w7900 = { gfx_target_version: 110000, device_id: 0x7448 };
    const strix = { gfx_target_version: 110501, device_id: 0x1586 };
    const ryzen = { gfx_target_version: 100306, device_id: 0x164e };
    const gpus = (...nodes: readonly Readonly<Record<string, number | string>>[]) => ({
      ...version,
      ...Object.assign(
        {},
        ...nodes.map((each, index) => node(index + 1, { drm_render_minor: 128 + index, ...each })),
      ),
      ...Object.fromEntries(devices(nodes.length).map((device) => [device, ""])),
    });
    const { "/sys/module/amdgpu/version": _module, ...builtIn } = gpus(mi300x);
    const card = pci("0000:83:00.0", "1002:74a1", "0x120000");
    const held = { "/sys/bus/pci/drivers/amdgpu/0000:83:00.0/bind": "" };

    test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, string]>([
      ["that runs an image's own target", gpus(mi300x), {}, ":exact@"],
      ["of an image's family", gpus(w7900), {}, ":family@"],
      ["in a state that no code is for", gpus({ ...mi300x, capability: 0 }), {}, ":cpu@"],
      [
        "in a state that nobody tells",
        gpus({ ...mi300x, gfx_target_version: 0, capability: 0 }),
        {},
        ":cpu@",
      ],
      ["whose old kernel names no target", gpus({ ...w7900, gfx_target_version: 0 }), {}, ":family@"],
      ["beside one that no image serves too", gpus(mi300x, w7900), {}, ":cpu@"],
      ["beside a processor's", gpus(mi300x, ryzen), {}, ":exact@"],
      ["beside a processor's, by its cores", gpus(mi300x, { ...w7900, cpu_cores_count: 8 }), {}, ":exact@"],
      ["beside a processor's, by its target", gpus(mi300x, { ...strix, device_id: 0xfffe }), {}, ":exact@"],
      ["named twice, which ends the list", gpus(mi300x, w7900), { ROCR_VISIBLE_DEVICES: "0,0,1" }, ":exact@"],
      ["named by what two have", gpus(mi300x, mi300x), { ROCR_VISIBLE_DEVICES: "GPU-AB" }, ":cpu@"],
      ["named by no number of HIP's", gpus(mi300x), { HIP_VISIBLE_DEVICES: "00" }, ":cpu@"],
      ["of a processor, alone", gpus(ryzen), {}, ":family@"],
      ["chosen by its number", gpus(w7900, mi300x), { ROCR_VISIBLE_DEVICES: "1" }, ":exact@"],
      ["chosen by its UUID", gpus(w7900, mi300x), { HIP_VISIBLE_DEVICES: "GPU-ab54a98ceb1f0ad2" }, ":exact@"],
      ["hidden", gpus(mi300x), { CUDA_VISIBLE_DEVICES: "-1" }, ":cpu@"],
      ["that nobody drives", card, {}, ":cpu@"],
      ["that no module drives", { ...node(1, mi300x), ...card, "/dev/kfd": "" }, {}, ":cpu@"],
      ["that the kernel itself drives", { ...builtIn, ...card }, {}, ":exact@"],
      ["that nobody knows", gpus({ device_id: 0xfffe }), {}, "FACT_UNKNOWN: the target of an AMD GPU"],
      [
        "that its driver leaves out",
        { ...gpus(w7900), ...card, ...held },
        {},
        "HOST_BROKEN: HOST_AMD_GPU_SKIPPED",
      ],
      [
        "that a container does not have",
        { ...version, ...node(1, mi300x) },
        { container: "docker" },
        ":cpu@",
      ],
    ])("%s", async (title, files, env, answer) => {
      const root = machine(`amd ${title}`, files);
      if (Object.keys(files).some((path) => path in held))
        symlinkSync("x", join(root, "/sys/bus/pci/devices/0000:83:00.0/driver"));
      const script = await write("amd.sh", lock);
      const { status, stdout, stderr } = run(script, root, [], env);
      expect(`${status} ${stdout}${stderr}`).toContain(answer);
      expect(status).toBe(answer.startsWith(":") ? 0 : 4);
    });

    test("is nothing to one who asks for a CPU image, and to a fleet without images for it", async () => {
      const root = machine("amd unknown", gpus({ device_id: 0xfffe }));
      expect(run(await write("amd.sh", lock), root, ["--cpu"]).stdout).toContain(":cpu@");
      const { exact, family: _, ...others } = lock.images;
      const script = await write("others.sh", lockOf(others));
      expect(run(script, root).stdout).toContain(":cpu@");
      expect(readFileSync(script, "utf8")).not.toMatch(/kfd|amdgpu/);
      if (exact === undefined) throw new Error("no image");
      const old = machine("amd old", gpus({ ...mi300x, gfx_target_version: 0, capability: 0 }));
      expect(run(await write("alone.sh", lockOf({ exact })), old)).toMatchObject({
        status: 4,
        stderr: expect.stringContaining("FACT_UNKNOWN: whether sramecc is on decides for exact"),
      });
    });
  });

  test("a GPU whose compute capability nobody tells gets no image that knowing it could better", async () => {
    const script = await write("unknown.sh", wholeFleet());
    const root = machine("unknown", {
      "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  x\n",
      "/proc/driver/nvidia/gpus/0000:01:00.0/information":
        "Model: NVIDIA Z9000\nBus Location: 0000:01:00.0\n",
      "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
      "/sys/bus/pci/devices/0000:01:00.0/device": "0x3fff\n",
      "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
    });
    const answer = (says: string, status: number, words: string[] = [], of = script) => {
      const bin = mkdtempSync(join(folder, "smi-"));
      writeFileSync(join(bin, "nvidia-smi"), `#!/bin/sh\necho '${says}'\nexit ${status}\n`, { mode: 0o755 });
      return run(of, root, words, { PATH: `${bin}:${process.env.PATH}` });
    };
    for (const [says, status] of [
      ["Failed to initialize NVML: Insufficient Permissions", 4],
      ["something else", 0],
    ] as const) {
      expect(answer(says, status)).toMatchObject({
        status: 4,
        stdout: "",
        stderr: expect.stringContaining(
          "FACT_UNKNOWN: the compute capability of GPU 0 (NVIDIA Z9000) is unknown",
        ),
      });
      expect(answer(says, status, ["--cpu"]).stdout).toContain(":none_x86-64-v3@");
    }
    const cpuImages = await write(
      "cpu-images.sh",
      wholeFleet((cell) => cell.startsWith("none_")),
    );
    expect(answer("something else", 0, [], cpuImages)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(":none_x86-64-v3@"),
      stderr: expect.stringContaining("HOST_"),
    });
  });
});

test("patterns mean in POSIX words what they mean in the tables", () => {
  const names = [
    ...pciRows().flatMap((row) => row.names),
    ...nameRows.map(({ name }) => name),
    ...virtualRows.flatMap((row) => row.profiles.split(" ").map((profile) => `${row.board}-${profile}`)),
    "T4",
    "T4G",
    "T400",
    "T1000E-x",
    "P100",
    "GeForce",
    "geforcex",
    "TITAN_X",
    "RTX 6000D",
    "Orin (nvgpu)",
    "GB10",
  ].map((name) => name.replace(/^NVIDIA /, ""));
  for (const pattern of [...classRules.map(([, each]) => each), ...brandsByName.map(([each]) => each)]) {
    const posix = new RegExp(toEre(pattern));
    for (const name of names)
      expect(posix.test(name.toLowerCase()), `${name} ${pattern}`).toBe(pattern.test(name));
  }
});
