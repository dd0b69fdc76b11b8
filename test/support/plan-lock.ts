/** A lock as `imgmatch build --push` writes it, from what `plan` says in this process: no engine is needed. */

import { join } from "node:path";
import { writeIn } from "./folders.ts";
import { runInProcess } from "./run-cli.ts";

const digest = `sha256:${"d".repeat(64)}`;

interface Input {
  readonly input: string;
  readonly name: string | null;
  readonly is: string;
}

/** Of the matrix in this folder, planned with these flags. Every cell has the same image. */
export async function lockPlan(folder: string, ...flags: readonly string[]): Promise<void> {
  const plan = async (...more: readonly string[]) => {
    const args = ["plan", "--json", "--matrix", join(folder, "matrix.yaml"), ...flags, ...more];
    return JSON.parse((await runInProcess(args, { env: { HOME: folder }, cwd: folder })).out);
  };
  const { name, version, repository, cells } = await plan();
  const images: Record<string, unknown> = {};
  for (const { cell, axes, platform, tag, inputDigest, requires, bases } of cells) {
    const { inputs } = (await plan("--explain", cell)) as { inputs: Input[] };
    const of = (input: string) => inputs.find((each) => each.input === input)?.is ?? null;
    const args = inputs.filter(({ input }) => input === "args").map(({ name, is }) => [name, is]);
    const rebuild = of("rebuild");
    images[cell] = {
      ...{ axes, platform, tag, inputDigest, requires, digest, builder: "docker", size: null },
      bases: bases.map(({ used, digest: is }: { used: string; digest: string }) => ({
        ref: used,
        digest: is,
      })),
      inputs: {
        args: Object.fromEntries(args),
        builder: of("builder"),
        context: of("context"),
        dockerfile: of("dockerfile"),
        target: of("target"),
        ...(rebuild === null ? {} : { rebuild }),
      },
      created: "2026-01-01T00:00:00Z",
    };
  }
  const head = { schemaVersion: 2, name, version, repository };
  writeIn(folder, "images/imgmatch.lock.json", JSON.stringify({ ...head, images }));
}
