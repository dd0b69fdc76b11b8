/** The demo's own course: what a user would type, in order, on what the machine can offer. */

import { join, relative } from "node:path";
import { provideCpuBases, readMatrixBases } from "./bases.ts";
import { checkGpuCode } from "./check-gpu-code.ts";
import { buildEnv } from "./client.ts";
import type { DemoContext } from "./context.ts";
import { findOrStartEngine } from "./engine.ts";
import { provideGpuBases } from "./gpu-rows.ts";
import type { Workshop } from "./image.ts";
import { capture, type RunOptions, show } from "./process.ts";
import { findOrStartRegistry } from "./registry.ts";

export interface DemoOptions {
  /** The checkout: matrix.yaml and dist/cli.cjs are there. */
  readonly root: string;
  readonly cpuOnly: boolean;
}

/** The weakest CPU row of each architecture: what one image for all machines would have to be. */
const baselines: Readonly<Record<string, string>> = { "linux/amd64": "x86-64-v2", "linux/arm64": "armv8-a" };

export async function runDemo({ root, cpuOnly }: DemoOptions, context: DemoContext): Promise<void> {
  const { say } = context;
  const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;

  say.step("A container engine");
  const engine = await findOrStartEngine(context);
  say.line(`${engine.version} at ${engine.host}${engine.own ? ", started for the demo" : ""}`);
  const env = { ...(await buildEnv(context)), DOCKER_HOST: engine.host };

  say.step("A registry on loopback");
  const registry = await findOrStartRegistry(engine, context);
  say.line(`${registry.address}: ${registry.how}`);

  context.left.add(`${context.keepDir} (the demo's lock, Dockerfiles and logs)`);
  if (!engine.own) {
    context.left.add(
      `images ${registry.address}/… in your engine (docker image prune --all removes unused ones)`,
    );
  }

  say.step("Base images");
  const workshop: Workshop = { engine, registry, context };
  const wanted = await readMatrixBases(join(root, "matrix.yaml"));
  const cpu = await provideCpuBases(wanted.cpu, workshop);
  say.line(`CPU rows: ${cpu.how}`);
  const gpu = cpuOnly
    ? { toolkits: new Map(), replacements: [] }
    : await provideGpuBases(wanted, cpu, workshop);

  const replaceBases = [...cpu.replacements, ...gpu.replacements].flatMap(({ from, to }) => [
    "--replace-base",
    `${from}=${to}`,
  ]);
  const only = ["none", ...gpu.toolkits.keys()].flatMap((cuda) => [
    "--only",
    `cuda=${cuda},platform=${platform}`,
  ]);
  const keep = relative(root, context.keepDir);
  const lock = ["--lock", join(keep, "imgmatch.lock.json")];
  const where = ["--registry", registry.address];
  const imgmatch = imgmatchIn(root, env, context);

  say.step("Plan: what would be built, what cannot be, and why");
  await imgmatch.show("plan", "--push", ...only, ...where, ...lock, ...replaceBases);

  say.step("Render: one Dockerfile per image");
  await imgmatch.show("render", "--out", keep, ...only, ...where);

  say.step("Build, push and write the lock");
  await imgmatch.show("build", "--push", "--concurrency", "2", ...only, ...where, ...lock, ...replaceBases);

  if (gpu.toolkits.size > 0) {
    say.step("Look into the GPU images: does each hold exactly the code that its name says?");
    await checkGpuCode(join(context.keepDir, "imgmatch.lock.json"), gpu, workshop);
  }

  say.step("Probe: what this machine is");
  await imgmatch.show("probe");

  say.step("Resolve: the one image of the fleet that was built for it, and why not the others");
  const reference = await imgmatch.explained("resolve", "--explain", ...lock);

  say.step("Run it, and the image that would have to do without imgmatch");
  const best = readSpeed(await imgmatch.answer("run", ...lock, "--", "--seconds", "2"));
  const march = baselines[platform] ?? "";
  const baseline = await imgmatch.answer("resolve", "--pin", "cuda=none", "--pin", `march=${march}`, ...lock);
  if (baseline === reference) {
    say.line(`this machine is the baseline: ${march} is what it gets, at ${best} GFLOP/s`);
    return;
  }
  const docker = ["docker", "run", "--rm", baseline, "--seconds", "2"] as const;
  say.command(docker);
  const plain = readSpeed(await answer(docker, { ...imgmatch.options, quiet: true }));
  const rows = [
    ["matched image", `${best.toFixed(1)} GFLOP/s`],
    [`baseline (${march})`, `${plain.toFixed(1)} GFLOP/s`],
    ["ratio", (best / plain).toFixed(2)],
  ] as const;
  say.line("");
  for (const [name, value] of rows) say.line(`${name.padEnd(24)}${value}`);
}

function imgmatchIn(root: string, env: NodeJS.ProcessEnv, { say, signal }: DemoContext) {
  const options = { env, cwd: root, signal };
  const argv = (args: readonly string[]) => {
    say.command(["node", "dist/cli.cjs", ...args]);
    return [process.execPath, join(root, "dist", "cli.cjs"), ...args] as const;
  };
  return {
    options,
    /** Runs a command with its output on this terminal. */
    async show(...args: string[]): Promise<void> {
      const status = await show(argv(args), options);
      signal.throwIfAborted();
      if (status !== 0) throw new Error(`imgmatch ${args[0]} ended with status ${status}`);
    },
    /** Runs a command, prints its standard output and answers it. What it says besides is printed when it fails. */
    answer: (...args: string[]) => answer(argv(args), { ...options, quiet: true }),
    /** The same, and prints what it says besides. */
    explained: (...args: string[]) => answer(argv(args), { ...options, quiet: false }),
  };
}

async function answer(
  argv: readonly [string, ...string[]],
  { quiet, ...options }: RunOptions & { readonly quiet: boolean },
): Promise<string> {
  const { status, stdout, stderr } = await capture(argv, options);
  options.signal?.throwIfAborted();
  if (!quiet || status !== 0) process.stderr.write(stderr);
  process.stdout.write(stdout);
  if (status !== 0)
    throw new Error(`${argv[0] === process.execPath ? "imgmatch" : argv[0]} ended with status ${status}`);
  return stdout.trim();
}

/** Reads the line `speed      113.7 GFLOP/s` of the program's output. */
export function readSpeed(output: string): number {
  const speed = Number(/^speed\s+([\d.]+) GFLOP\/s$/m.exec(output)?.[1]);
  if (!(speed > 0)) throw new Error("the program printed no speed");
  return speed;
}
