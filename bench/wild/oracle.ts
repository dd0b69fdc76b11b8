/** Uses a package on each CPU model: under qemu's user emulation, or on this machine's own CPU. */

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CpuModel, Outcome, Recorded, WildPackage } from "./corpus.ts";
import { foreignPython, modelsOf } from "./fetch.ts";

const limitMs = 300_000;

/** The real program, where a version manager's script stands in front of it. */
const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], {
  encoding: "utf8",
}).trim();

export function askOracle(each: WildPackage, root: string): Pick<Recorded, "models" | "words"> {
  makeExecutable(root);
  const ends = modelsOf(each).map((model) =>
    model.name === "machine" && !hasAll(model)
      ? { model, status: null, words: "another machine" }
      : { model, ...use(each, root, model) },
  );
  const hasRun = each.onH200 === "ran" || ends.some(({ status }) => status === 0);
  const outcome = (status: number | null): Outcome =>
    status === 0 ? "ran" : hasRun && status !== null ? "died" : "none";
  return {
    models: Object.fromEntries(ends.map(({ model, status }) => [model.name, outcome(status)])),
    words: Object.fromEntries(
      ends.flatMap(({ model, status, words }) => (status === 0 ? [] : [[model.name, words]])),
    ),
  };
}

/** True on a machine that has the features which were recorded of `machine`: no emulator stands for another. */
function hasAll({ features }: CpuModel): boolean {
  const flags = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1]?.split(" ") ?? [];
  return features.every((feature) => flags.includes(feature));
}

/** Wheels and packages of npm are unpacked without modes. */
function makeExecutable(root: string): void {
  for (const path of readdirSync(root, { recursive: true, encoding: "utf8" }))
    if (/(^package|\.data\/scripts)\//.test(path)) chmodSync(join(root, path), 0o755);
}

/** A status of null is the end of our patience. */
function use({ run, platform, from }: WildPackage, root: string, model: CpuModel) {
  const isArm = platform === "linux/arm64";
  const emulator = isArm ? `qemu-aarch64 -cpu ${model.name}` : `qemu-x86_64 -cpu ${model.name}`;
  const foreign = isArm ? foreignPython() : null;
  const rootOption = foreign ?? (from === "debian" ? root : null);
  // What `update-alternatives` would link, no package holds.
  const libraries = ["", "blas", "lapack"].map((folder) => `/usr/lib/x86_64-linux-gnu/${folder}`);
  // A root of Debian's own has its loader; the machine's CPU takes that loader by name.
  const paths = [...libraries, "/lib/x86_64-linux-gnu"].map((folder) => join(root, folder)).join(":");
  const own = from === "debian" ? `${join(root, "lib64/ld-linux-x86-64.so.2")} --library-path ${paths}` : "";
  const rootWords = rootOption === null ? "" : `-L ${rootOption} -E LD_LIBRARY_PATH=${libraries.join(":")}`;
  const emulate = model.name === "machine" ? own : `${emulator} ${rootWords}`;
  const env = {
    ...process.env,
    PYTHONPATH: root,
    PYTHONDONTWRITEBYTECODE: "1",
    // Threads spin under emulation.
    OMP_NUM_THREADS: "1",
    OPENBLAS_NUM_THREADS: "1",
    RAYON_NUM_THREADS: "1",
    emulate,
    python: `${emulate} ${foreign === null ? python : join(foreign, "usr/bin/python3")}`,
    node: `${emulate} ${process.execPath}`,
  };
  const script = run.replace(
    /\$(emulate|python|node)/g,
    (_, word: "emulate" | "python" | "node") => env[word],
  );
  const { status, signal, stderr } = spawnSync("bash", ["-c", script], {
    ...{ cwd: root, env, encoding: "utf8", timeout: limitMs, killSignal: "SIGKILL" },
    maxBuffer: 2 ** 26,
  });
  const lines = stderr
    .trim()
    .split("\n")
    .map((line) => line.trim());
  const words = lines.find((line) => line.includes("target signal")) ?? lines.at(-1) ?? "";
  // bash becomes the program where the script is one command.
  const isIllegal = signal === "SIGILL" || status === 132;
  return {
    status: signal === "SIGKILL" ? null : isIllegal ? 132 : (status ?? 1),
    words: isIllegal ? "SIGILL" : signal === "SIGKILL" ? "no end" : words.slice(0, 160),
  };
}
