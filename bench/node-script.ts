/** Compares the script of `imgmatch export sh` and the guard of an image with an empty script, and with two tools that name a node's CPU: `archspec cpu` and EESSI's archdetect. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { delimiter, join } from "node:path";
import { exportGuard } from "../src/index.ts";
import { parseLock } from "../src/lock/parse-lock.ts";
import { fleetScript } from "../src/node/sh/fleet-script.ts";
import { benchLock } from "./lock.ts";
import { line, median } from "./report.ts";

const rounds = 40;
/** The bench fetches EESSI's scripts. IMGMATCH_EESSI names a copy. */
const eessi = process.env.IMGMATCH_EESSI ?? "https://github.com/EESSI/software-layer-scripts.git";

interface Contender {
  readonly name: string;
  /** A string says why the program is missing. */
  readonly argv: readonly string[] | string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs all in turn, so that they meet the same machine, and compares medians. */
export async function nodeScript(folder: string): Promise<void> {
  mkdirSync(folder);
  const script = join(folder, "fleet.sh");
  writeFileSync(script, (await fleetScript(parseLock(benchLock(40), "bench"), { version: "bench" })).text);
  const guard = join(folder, "guard.sh");
  const matrix = "docs/examples/vision/matrix.yaml";
  writeFileSync(guard, (await exportGuard({ cell: "12.8.1_9.0a_sapphirerapids_3.12", matrix })).script);
  // A host without a GPU asks as much, and the program starts all the same.
  const warning = { ...process.env, IMGMATCH_GUARD: "warn" };
  const all: readonly Contender[] = [
    { name: "dash, which does nothing", argv: ["dash", "-c", ":"] },
    ...["mawk", "gawk"].map((awk) => withAwk(folder, awk, script)),
    { name: "guard of a cell with GPU code, dash", argv: ["dash", guard, "true"], env: warning },
    archspec(join(folder, "venv")),
    archdetect(join(folder, "eessi")),
  ];
  const times = new Map<Contender, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const each of all)
      if (typeof each.argv !== "string")
        times.set(each, [...(times.get(each) ?? []), timeOf(each.argv, each.env)]);
  }
  const ours = median(times.get(all[1] as Contender) ?? []);
  line(
    "load of this machine",
    loadavg()
      .map((load) => load.toFixed(1))
      .join(" "),
  );
  for (const each of all) {
    const taken = times.get(each);
    if (taken === undefined) line(each.name, `not here: ${each.argv}`);
    else
      line(
        each.name,
        `${median(taken).toFixed(1)} ms (at least ${Math.min(...taken).toFixed(1)}), ${(median(taken) / ours).toFixed(2)} of the script with mawk`,
      );
  }
}

function withAwk(folder: string, awk: string, script: string): Contender {
  const name = `script of 40 images, dash and ${awk}`;
  const path = which(awk);
  if (path === null) return { name, argv: `apt-get install ${awk}` };
  mkdirSync(join(folder, awk));
  symlinkSync(path, join(folder, awk, "awk"));
  const env = { ...process.env, PATH: [join(folder, awk), process.env.PATH].join(delimiter) };
  return { name, argv: ["dash", script], env };
}

function archspec(venv: string): Contender {
  const name = "archspec cpu";
  const program = join(venv, "bin/archspec");
  return tried(name, [program, "cpu"], () => {
    execFileSync("python3", ["-m", "venv", venv], { stdio: "pipe" });
    execFileSync(join(venv, "bin/pip"), ["install", "--quiet", "archspec"], { stdio: "pipe" });
  });
}

function archdetect(folder: string): Contender {
  const argv = ["bash", join(folder, "init/eessi_archdetect.sh"), "cpupath"];
  return tried("EESSI archdetect cpupath", argv, () => {
    execFileSync("git", ["clone", "--quiet", "--depth", "1", eessi, folder], { stdio: "pipe" });
  });
}

function tried(name: string, argv: readonly string[], install: () => void): Contender {
  try {
    install();
    timeOf(argv);
    return { name, argv };
  } catch (error) {
    return { name, argv: String(error).split("\n")[0] ?? "" };
  }
}

function which(program: string): string | null {
  const { status, stdout } = spawnSync("sh", ["-c", 'command -v "$1"', "sh", program], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

function timeOf([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const started = performance.now();
  const { status, stderr, error } = spawnSync(program, args, {
    env,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  return performance.now() - started;
}
