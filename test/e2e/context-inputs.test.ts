/** imgmatch sends every file that BuildKit copies: random Dockerfiles are built with the whole context, and with the files that imgmatch sends. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createStaging } from "../../src/fleet/engines/staged-context.ts";
import { cellContexts } from "../../src/fleet/context/cell-context.ts";
import { listContext } from "../../src/fleet/context/context.ts";
import { readContextUse } from "../../src/fleet/context/context-use.ts";
import { parseDockerfile } from "../../src/fleet/dockerfile/instructions.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { createProject } from "./support/project.ts";
import { type RunningBuilder, startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";

const stack = inject("stack");
const reason = stack.available ? (whyNoBuildx(stack.engineEnv) ?? whyNoBuildkitd()) : stack.reason;
const run = promisify(execFile);

/** A BuildKit from 0.27 on reads `--parents` and `--exclude` without another front end. */
const hasFlags = process.env.IMGMATCH_CONTEXT_FLAGS === "1";

const cases = Number(process.env.IMGMATCH_CONTEXT_CASES ?? rounds(26, 40));

/** The same numbers on every machine (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const names = ["a", "b.c", "ab", "B.C", "in", "x[1]", "a+b", "c.o"];
const wild = ["*", "a*", "*.c", "?", "[ab]*", "[^a]", "**", "lnk*", "B*", "a?b", "x[[]*"];
const parts = [...names, "..", ".", ...wild, ...wild];
const ignored = ["a/b.c", "*.o", "**/ab", "!a/ab", "B.C", "a+b", "in", "*/in", "!in/a", "x[1]"];

/** One that takes this name, among others. */
function pattern(name: string, kind: number): string {
  if (kind === 0) return `${name.slice(0, 1)}*`;
  if (kind === 1) return `?${name.slice(1).replaceAll("[", "[[]")}`;
  return kind === 2 ? `*${name.slice(-1)}` : "*";
}

function made(seed: number) {
  const below = numbers(seed);
  const one = (list: readonly string[]) => list[below(list.length)] ?? "";
  const path = (list: readonly string[]) => Array.from({ length: 1 + below(3) }, () => one(list)).join("/");
  const files = [...new Set(Array.from({ length: 14 }, () => path(names)))];
  const links = Array.from(
    { length: 3 },
    (_, index) =>
      [
        `${below(2) === 0 ? "" : `${one(names)}/`}lnk${index}`,
        `${["", "/", "../", "./"][below(4)]}${path(names)}`,
      ] as const,
  );
  // A missing source fails the build and shows nothing, so most sources exist, named in one of the possible ways.
  const source = () => {
    const there = one(files).split("/");
    switch (below(8)) {
      case 0:
        return `${one(links.map(([link]) => link))}${below(2) === 0 ? "" : `/${one(wild)}`}`;
      case 1:
        return path(parts);
      case 2:
        return there.slice(0, 1 + below(there.length)).join("/");
      case 3:
        return there.join("/");
      default: {
        const varied = below(there.length);
        return there.map((name, index) => (index === varied ? pattern(name, below(4)) : name)).join("/");
      }
    }
  };
  const instruction = (index: number) => {
    const keyword = below(4) === 0 ? "ADD" : "COPY";
    const isParents = hasFlags && keyword === "COPY" && below(4) === 0;
    const flags = !hasFlags
      ? []
      : [
          ...(isParents ? ["--parents"] : []),
          ...(below(3) === 0 ? [`--exclude=${path(parts)}`] : []),
          ...(below(8) === 0 ? [`--exclude=!${path(parts)}`] : []),
        ];
    const sources = Array.from({ length: below(3) === 0 ? 2 : 1 }, () =>
      isParents && below(2) === 0 ? `${source()}/./${source()}` : source(),
    );
    return `${[keyword, ...flags, ...sources].join(" ")} /${index}/`;
  };
  const ignore = Array.from({ length: below(4) }, () => one(ignored)).join("\n");
  const instructions = Array.from({ length: 1 + below(2) }, (_, index) => instruction(index));
  return { files, links, ignore, text: ["FROM scratch", ...instructions, ""].join("\n") };
}

describe("What BuildKit copies", needs(reason), () => {
  let builder: RunningBuilder;
  let root: string;
  const stage = createStaging(0);

  beforeAll(async () => {
    if (!stack.available) return;
    root = mkdtempSync(join(tmpdir(), "imgmatch-inputs-"));
    builder = await startBuilder(stack.engineEnv);
  });
  afterAll(async () => {
    await builder?.stop();
    rmSync(root, { recursive: true, force: true });
  });

  /** Every file, folder and link of an image; null where it cannot be built. */
  async function image(context: string, dockerfile: string): Promise<string | null> {
    const out = mkdtempSync(join(root, "out-"));
    const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
    const flags = ["--builder", builder.name, "--file", dockerfile, "--output", `type=local,dest=${out}`];
    try {
      await run("docker", ["buildx", "build", ...flags, context], { env });
    } catch {
      return null;
    }
    const list =
      "find . -printf '%P %y %m %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum";
    return (await run("sh", ["-c", list], { cwd: out })).stdout;
  }

  it("is among what is sent", { timeout: 20_000 + cases * 5_000 }, async () => {
    const told = { built: 0, less: 0 };
    for (let seed = 1; seed <= cases; seed++) {
      const { files, links, ignore, text } = made(seed);
      const [folder, beside] = [mkdtempSync(join(root, "context-")), mkdtempSync(join(root, "file-"))];
      for (const path of files) attempt(folder, path, (full) => writeFileSync(full, path, { flag: "wx" }));
      for (const [path, to] of links) attempt(folder, path, (full) => symlinkSync(to, full));
      // As the context of somebody who builds without imgmatch.
      writeFileSync(join(folder, ".dockerignore"), ignore);
      const dockerfile = join(beside, "Dockerfile");
      writeFileSync(dockerfile, text);
      const listing = await listContext(folder, { file: "matrix.yaml" });
      const use = readContextUse(parseDockerfile(text), null);
      const { entries, digest } = await cellContexts(listing)(use);
      if (entries.length < listing.entries.length) told.less++;
      const whole = await image(folder, dockerfile);
      writeFileSync(`${dockerfile}.dockerignore`, "# nothing more\n");
      const staged = await stage({ contextDir: folder, contextFiles: entries, contextDigest: digest });
      const sent = await image(staged, dockerfile);
      if (whole !== null) told.built++;
      expect(sent, `seed ${seed}\n${text}${files.join(" ")}\n${links.join(" ")}\n${ignore}`).toBe(whole);
    }
    // The cases are of both kinds, or this shows nothing.
    expect(told.built).toBeGreaterThan(cases / 3);
    expect(told.less).toBeGreaterThan(cases / 10);
    if (process.env.IMGMATCH_CONTEXT_CASES) console.log(told);
  });
});

describe("A change in the context", needs(stack.available ? null : stack.reason), () => {
  it("builds the cells again that take it, and no other", { timeout: 120_000 }, async () => {
    if (!stack.available) return;
    const registry = `${stack.registry}/inputs`;
    const project = createProject({ registry, name: "inputs", env: { ...process.env, ...stack.engineEnv } });
    try {
      project.write(
        "matrix.yaml",
        `name: inputs\nversion: "1"\nregistry: ${registry}\ntemplate: Dockerfile\nargs: { F: "{{axes.flavor}}" }\naxes:\n  march: [${process.arch === "arm64" ? "armv8-a" : "x86-64"}]\n  flavor: [one, two]\n`,
      );
      project.write("Dockerfile", "FROM scratch\nARG F\nCOPY src/$F /src\n");
      project.write("src/one", "1\n");
      project.write("src/two", "2\n");
      const built = async () => {
        const { status, stdout, stderr } = await project.run("build", "--push", "--json");
        // As `imgmatch build > build.log` does it.
        project.write("build.log", stdout);
        expect(status, stderr).toBe(0);
        return stdout.split("\n").flatMap((line) => /"type":"summary".*"built":(\d+)/.exec(line)?.[1] ?? []);
      };
      expect(await built()).toEqual(["2"]);
      project.write("README.md", "more\n");
      expect(await built()).toEqual(["0"]);
      project.write("src/two", "3\n");
      expect(await built()).toEqual(["1"]);
    } finally {
      project.remove();
    }
  });
});

/** A file may stand where a folder is wanted: that path is left out. */
function attempt(folder: string, path: string, write: (full: string) => void): void {
  try {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    write(join(folder, path));
  } catch {
    // The others are enough.
  }
}
