/** The states of a real H200 (a public machine's table): the program, the exported script and a program that calls cuInit, each as three users. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import { guardScript } from "../../src/node/sh/guard-script.ts";
import { fleetScript } from "../../src/node/sh/fleet-script.ts";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { cuda, gpuImage, image, lockOf, requirement } from "../resolve/support/locks.ts";
import { needs } from "../support/needs.ts";
import { samples, whyNoSamples } from "../support/reported-hosts.ts";
import { h200, makeMachine, type MachineState, whyNoMachine } from "./support/gpu-machine.ts";

const driver = { mode: "host", minimum: "580.65.06" } as const;
const anyCpu = { march: "any", features: [] };
const side = cuda("13.0.2", ["sm_90"], { driver });
const lock = lockOf({
  gpu: gpuImage(side, { requires: { ...requirement(side), cpu: anyCpu } }),
  cpu: image({ requires: { cpu: anyCpu, cuda: null } }),
});

const foreign = { cpu: anyCpu, cuda: cuda("12.8.1", ["sm_100"]) };
const guarded = {
  axes: { cuda: "12.8.1", compute: "10.0" },
  platform: "linux/amd64",
  repository: "registry.example.com/team/cv",
};

const commands = {
  cuda: "/data/asks",
  resolve: "$IMGMATCH resolve --lock lock.json",
  script: "sh fleet.sh",
  guard: "sh guard.sh echo started",
  foreign: "IMGMATCH_GUARD=json sh foreign.sh echo started",
} as const;
const ask = "$IMGMATCH resolve --lock lock.json --ask-driver";
const unchecked = "sh fleet.sh --unchecked";
const doctor = "$IMGMATCH doctor --json";
const check = "$IMGMATCH check --json program.so";

interface Row extends MachineState {
  /** Of cuInit. */
  readonly cuda: string;
  /** The image that program and script take; null for none: exit code 4. */
  readonly cell: "gpu" | "cpu" | null;
  /** What both say on standard error; of a host in order they say nothing. */
  readonly said?: RegExp;
  /** What the script says where it has less to go by, and takes no image. */
  readonly script?: RegExp;
  /** Further commands, each with what it must print. The engine of the machine that runs this decides the status of `doctor` too. */
  readonly also?: readonly (readonly [command: string, status: number | null, out: RegExp])[];
}

const bus = "sys/bus/pci/devices";
const user = { user: "another user" } as const;
const weak = { user: "root without CAP_MKNOD" } as const;
const asRoot = { user: "root" } as const;
const shut = /HOST_NO_PERMISSION: no permission for /;
const noLibrary = { ...asRoot, cuda: "cannot be loaded", cell: null, said: /HOST_NO_LIBCUDA/ } as const;
const lib = "run/opengl-driver/lib";
const runs = [check, 0, /"fits": true/] as const;
const hidden = (value: string, said = /HOST_GPUS_HIDDEN: CUDA_VISIBLE_DEVICES/): Row => ({
  ...{ ...asRoot, env: { CUDA_VISIBLE_DEVICES: value }, cuda: "100", cell: "cpu", said },
});

/** Three more cards: NVLink joins 0 to 2 and 1 to 3, and 0 is alone on its NUMA node. */
const four = `
for n in 1 2 3; do
  mknod -m 666 dev/nvidia$n c 1 3
  cp -r ${bus}/0000:00:06.0 ${bus}/0000:00:0$((6 + n)).0
  echo 1 >${bus}/0000:00:0$((6 + n)).0/numa_node
done
echo 0 >${bus}/0000:00:06.0/numa_node`;
const pair = "$IMGMATCH launch apptainer --lock lock.json --gpus 2 2>&1";
const places = `$IMGMATCH probe --json | tr -d ' \n'`;
const linked = (links: number, numa: number | null) => `"numa":${numa},"links":\\[${links}\\]`;
const joined = [
  [pair, 0, /^GPUs 1, 3: joined by NVLink, on NUMA node 1\n.*=GPU-[\w-]*2,GPU-[\w-]*4 /],
  [places, 0, new RegExp([linked(2, 0), linked(3, 1), linked(0, 1), linked(1, 1)].join(".*"))],
] as const;

const rows: Readonly<Record<string, Row>> = {
  "the machine as it is": { ...user, cuda: "0", cell: "gpu", also: [runs] },
  "four cards": { ...user, change: four, cuda: "0", cell: "gpu", also: joined },
  "four cards, of which nvidia-smi tells": {
    ...{ ...user, cuda: "0", cell: "gpu", also: joined },
    // The program finds no koffi.
    change: `${four}\nmount -t tmpfs none program/node_modules/koffi`,
  },
  "1: root, all nodes removed": { ...asRoot, change: "rm dev/nvidia*", cuda: "0", cell: "gpu" },
  "2: no /dev/nvidia-uvm": {
    ...user,
    change: "rm dev/nvidia-uvm",
    cuda: "999",
    cell: null,
    said: /HOST_NO_UVM/,
  },
  "3: no /dev/nvidia-uvm": {
    ...weak,
    change: "rm dev/nvidia-uvm",
    cuda: "999",
    cell: null,
    said: /HOST_NO_UVM/,
  },
  "4: /dev/nvidia-uvm 0600": {
    ...{ ...user, change: "chmod 600 dev/nvidia-uvm", cuda: "999", cell: "gpu", said: shut },
    also: [
      [check, 4, /HOST_NO_PERMISSION/],
      [doctor, null, /"HOST_NO_PERMISSION"/],
    ],
  },
  "5: /dev/nvidiactl 0600": {
    ...user,
    change: "chmod 600 dev/nvidiactl",
    cuda: "100",
    cell: "gpu",
    said: shut,
  },
  "6: /dev/nvidia0 0600": {
    ...{ ...user, change: "chmod 600 dev/nvidia0", cuda: "100", cell: "gpu", said: shut },
    also: [[check, 4, /HOST_NO_PERMISSION/]],
  },
  "7: no /dev/nvidia0, without CAP_MKNOD": {
    ...{ ...weak, change: "rm dev/nvidia0", cuda: "100", cell: "cpu" },
    said: /1 GPU in the machine, none given to this container/,
  },
  "7: no /dev/nvidia0, another user": {
    ...{ ...user, change: "rm dev/nvidia0", cuda: "100", cell: "cpu" },
    said: /1 GPU in the machine, none given to this container/,
  },
  "8: no /dev/nvidiactl": {
    ...{ ...user, change: "rm dev/nvidiactl", cuda: "100", cell: "cpu" },
    said: /HOST_CONTAINER_WITHOUT_DEVICES/,
  },
  "9: libcuda.so.1 is empty": {
    ...{ ...noLibrary, change: `rm ${lib}/libcuda.so.1; : >${lib}/libcuda.so.1` },
    also: [
      [doctor, null, /"HOST_NO_LIBCUDA"/],
      [check, 4, /"fits": false/],
    ],
  },
  "9: libcuda is gone": { ...noLibrary, change: `rm ${lib}/libcuda.so*` },
  "9: libcuda has its version alone": { ...noLibrary, ...user, change: `rm ${lib}/libcuda.so.1` },
  "9: libcuda is gone, with the capability utility alone": {
    ...{
      ...weak,
      change: `rm ${lib}/libcuda.so* dev/nvidia-uvm`,
      env: { NVIDIA_DRIVER_CAPABILITIES: "utility" },
    },
    ...{ cuda: "cannot be loaded", cell: "gpu" },
  },
  "10: the toolkit's stub is the first libcuda": {
    ...{ ...user, env: { LD_LIBRARY_PATH: "/run/stubs" }, cuda: "34", cell: "gpu" },
    also: [
      [doctor, null, /\/run\/stubs\/libcuda.so.1 is the toolkit's stub/],
      [check, 4, /\/run\/stubs\/libcuda.so.1 is the toolkit's stub/],
      [ask, 0, /:gpu@/],
    ],
  },
  "11: no libnvidia-ml": {
    ...{ ...asRoot, change: `rm ${lib}/libnvidia-ml.so*`, cuda: "0", cell: null, said: /HOST_SMI_FAILED/ },
    also: [
      [`${ask} 2>&1`, 0, /container engines need NVML[\s\S]*:gpu@/],
      [doctor, null, /container engines need NVML/],
      runs,
    ],
  },
  "12: nvidia-smi cannot be started": {
    ...{ ...user, change: "echo '#!/nonexistent' >run/bin/nvidia-smi", cuda: "0", cell: "gpu" },
    script: /FACT_UNKNOWN: nvidia-smi cannot be started/,
    also: [[unchecked, 0, /:gpu@/]],
  },
  "13: /sys/bus/pci is empty": {
    ...user,
    change: "umount sys/bus/pci; mount -t tmpfs none sys/bus/pci",
    cuda: "0",
    cell: "gpu",
  },
  "14: /proc/driver/nvidia is empty": { ...user, change: "rm -r proc/driver/nvidia", cuda: "0", cell: "gpu" },
  "15: CUDA_VISIBLE_DEVICES=-1": hidden("-1"),
  "15: CUDA_VISIBLE_DEVICES is empty": hidden(""),
  "15: CUDA_VISIBLE_DEVICES=1": hidden("1", /HOST_VISIBLE_DEVICES_UNCLEAR/),
  "15: CUDA_VISIBLE_DEVICES of an unknown UUID": hidden("GPU-ffffffff", /HOST_VISIBLE_DEVICES_UNCLEAR/),
  "15: CUDA_VISIBLE_DEVICES=NoDevFiles": hidden("NoDevFiles"),
  "16: NVIDIA_VISIBLE_DEVICES=void outside of a container": {
    ...{ ...user, change: "rm .dockerenv", env: { NVIDIA_VISIBLE_DEVICES: "void" }, cuda: "0", cell: "gpu" },
  },
  "17: the capability utility alone": {
    ...{ ...weak, change: "rm dev/nvidia-uvm", env: { NVIDIA_DRIVER_CAPABILITIES: "utility" } },
    ...{ cuda: "999", cell: "gpu" },
    also: [[`${ask} 2>&1`, 0, /this container was not given compute[\s\S]*:gpu@/]],
  },
  "18: the capabilities compute and utility": {
    ...{ ...user, env: { NVIDIA_DRIVER_CAPABILITIES: "compute,utility" }, cuda: "0", cell: "gpu" },
    also: [[ask, 0, /:gpu@/]],
  },
};

describe("an H200 in a namespace of mounts", needs(whyNoMachine), async () => {
  const program = [
    makeEntry({ kind: 2, arch: 90, version: [1, 8] }),
    makeEntry({ kind: 1, arch: 90, version: [8, 0] }),
  ];
  const run =
    whyNoMachine === null
      ? makeMachine({
          "lock.json": formatLock(lock),
          "fleet.sh": (await fleetScript(lock, { version: "1.0.0" })).text,
          "guard.sh": await guardScript({ ...guarded, requires: lock.images.gpu?.requires ?? foreign }),
          "foreign.sh": await guardScript({ ...guarded, requires: foreign }),
          "program.so": makeContainer(program),
        })
      : null;

  it.each(Object.entries(rows))("%s", (name, { cell, said, script, also = [], cuda: code, ...state }) => {
    const more = Object.fromEntries(also.map(([command], index) => [`also${index}`, command]));
    const answer = run?.(state, { ...commands, ...more });
    if (answer === undefined) throw new Error("no machine");
    expect(answer("cuda").out).toBe(code);
    for (const side of ["resolve", "script"] as const) {
      const { status, out, err } = answer(side);
      const taken = side === "script" && script !== undefined ? null : cell;
      expect([status, out.replace(/^.*:(\w+)@.*$/, "$1")], `${side}: ${err}`).toEqual(
        taken === null ? [4, ""] : [0, taken],
      );
      const words = (side === "script" && script) || said;
      if (words === undefined) expect(err, side).toBe("");
      else expect(err, side).toMatch(words);
    }
    // Of the GPU image: inside, a guard refuses what it knows for certain.
    const { status: asked, out: started, err: line } = answer("guard");
    expect([asked, started, line === ""]).toEqual(
      cell === "cpu" && /^7:/.test(name) ? [78, "", false] : [0, "started", true],
    );
    const { status: ended, err: why } = answer("foreign");
    if (name === "the machine as it is")
      expect([ended, JSON.parse(why)]).toMatchObject([
        78,
        { code: "NO_GPU_CODE", axes: { compute: "9.0", cuda: "12.8.1" } },
      ]);
    for (const [index, [command, status, words]] of also.entries()) {
      const { out, err, status: ended } = answer(`also${index}`);
      expect([ended, out], `${command}: ${err}`).toEqual([status ?? ended, expect.stringMatching(words)]);
    }
  });
});

it("answers with what that machine printed", needs(whyNoSamples), () => {
  const printed = readFileSync(join(samples, "h200-vm/smi-csv.txt"), "utf8");
  const { pci, memoryMiB, ...texts } = h200;
  for (const text of [...Object.values(texts), `0x${pci.toString(16).toUpperCase()}`, `${memoryMiB} MiB`])
    expect(printed).toContain(text);
});
