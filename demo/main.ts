/** `npm run demo`: the main job, from matrix.yaml to a running container, on whatever this machine offers. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DemoContext } from "./context.ts";
import { createSay } from "./say.ts";
import { runDemo } from "./steps.ts";
import { createUndo } from "./undo.ts";

const usage = `usage: npm run demo [-- --cpu-only]

Builds the CPU rows of matrix.yaml for this machine, and the GPU rows whose base images can be had,
into a registry on loopback; then finds the image for this machine and runs it.

  --cpu-only  leave the GPU rows out

  DOCKER_HOST              the engine to use
  IMGMATCH_DEMO_REGISTRY   the registry to use, host:port on loopback
`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    process.stdout.write(usage);
    return 0;
  }
  if (args.some((arg) => arg !== "--cpu-only")) {
    process.stderr.write(usage);
    return 2;
  }
  if (!existsSync(join(root, "dist", "cli.cjs"))) {
    process.stderr.write("dist/cli.cjs is missing: run npm run build\n");
    return 1;
  }

  const started = performance.now();
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (!interrupt.signal.aborted) process.stderr.write("\nstopping what was started …\n");
      interrupt.abort(new Error("interrupted"));
    });
  }
  const context: DemoContext = {
    say: createSay((text) => process.stdout.write(text)),
    undo: createUndo(),
    signal: interrupt.signal,
    env: process.env,
    keepDir: join(root, ".imgmatch", "demo"),
    left: new Set(),
  };

  let status = 0;
  try {
    await runDemo({ root, cpuOnly: args.includes("--cpu-only") }, context);
  } catch (error) {
    status = interrupt.signal.aborted ? 130 : 1;
    if (status === 1)
      process.stderr.write(`\ndemo: ${error instanceof Error ? error.message : String(error)}\n`);
  }
  for (const failure of await context.undo.all())
    process.stderr.write(`could not be taken back: ${failure}\n`);
  lastWords(context, status, (performance.now() - started) / 1000);
  return status;
}

function lastWords({ say, left }: DemoContext, status: number, seconds: number): void {
  say.step(status === 0 ? "Done" : "Stopped");
  say.line(`${seconds.toFixed(0)} s. What was started is stopped again. What stays:`);
  for (const thing of left.size === 0 ? ["nothing"] : [...left].sort()) say.line(`  ${thing}`);
  if (status !== 0) return;
  say.line("What to try next:");
  say.line("  npm run demo                          again: nothing is built twice");
  say.line(
    "  edit templates/sgemm/cpu.hpp, then npm run demo: every CPU image has new inputs, and is built anew",
  );
  say.line("  node dist/cli.cjs plan                 the whole fleet, with every reason");
  say.line("  node dist/cli.cjs resolve --lock .imgmatch/demo/imgmatch.lock.json --explain");
  say.line("  node dist/cli.cjs init                 in an empty folder: a matrix of your own");
}
