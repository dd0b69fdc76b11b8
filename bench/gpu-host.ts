/** Compares `imgmatch resolve` on a host with an NVIDIA GPU with an empty script and the same questions to the driver, asked by a program of C. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { benchLock } from "./lock.ts";
import { cli } from "./measure.ts";
import { line, median } from "./report.ts";

const rounds = 60;
const source = fileURLToPath(new URL("stub-nvml.c", import.meta.url));

/** A mount namespace in which the machine has a driver, its device nodes and a library of NVML that answers at once. */
const machine = `
mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia
echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build" >/proc/driver/nvidia/version
mount -t tmpfs none "$1/dev" && cp -a /dev/null /dev/urandom "$1/dev"
touch "$1/dev/nvidiactl" "$1/dev/nvidia0" "$1/dev/nvidia-uvm" && mount --bind "$1/dev" /dev
export LD_LIBRARY_PATH="$1"
shift
exec "$@"`;

/** Needs root, for the namespace, and a C compiler. */
export function resolveOnGpuHost(folder: string): void {
  const name = "imgmatch resolve with a GPU";
  mkdirSync(join(folder, "dev"), { recursive: true });
  const [library, ask, empty, lock] = ["libnvidia-ml.so.1", "ask", "empty.mjs", "lock.json"].map((file) =>
    join(folder, file),
  ) as [string, string, string, string];
  writeFileSync(empty, "");
  writeFileSync(lock, benchLock(58));
  const inside = (...argv: string[]) =>
    spawnSync("unshare", ["-m", "sh", "-c", machine, "sh", folder, ...argv], { encoding: "utf8" });
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-w", "-o", library, source]);
    execFileSync("cc", ["-DCALLER", "-w", "-o", ask, source, "-ldl"]);
  } catch {
    line(name, "not here: apt-get install gcc libc6-dev");
    return;
  }
  const contenders = {
    "empty Node script there": [process.execPath, empty],
    "the driver's answers, by C": [ask, library],
    [name]: [process.execPath, cli, "resolve", "--lock", lock],
  };
  const facts = inside(process.execPath, cli, "probe", "--json");
  if (!facts.stdout.includes('"NVIDIA H200"')) {
    line(name, `not here: ${facts.stderr.trim()} (run as root)`);
    return;
  }
  // The namespace is made once for all rounds: making one takes longer than C takes to ask.
  const loop = `
    const { spawnSync } = require("node:child_process");
    const contenders = ${JSON.stringify(Object.values(contenders))};
    const times = contenders.map(() => []);
    for (let round = 0; round < ${rounds}; round++)
      contenders.forEach(([program, ...args], at) => {
        const started = performance.now();
        if (spawnSync(program, args).status !== 0) throw new Error(program);
        times[at].push(performance.now() - started);
      });
    console.log(JSON.stringify(times));`;
  const { stdout, stderr, status } = inside(process.execPath, "-e", loop);
  if (status !== 0) throw new Error(stderr);
  const medians = (JSON.parse(stdout) as number[][]).map(median);
  for (const [at, each] of Object.keys(contenders).entries()) line(each, `${medians[at]?.toFixed(1)} ms`);
  const [none = 0, asked = 0, ours = 0] = medians;
  line("ratio to the sum", `${(ours / (none + asked)).toFixed(2)}  (${rounds} rounds, aim: at most 1.25)`);
}
