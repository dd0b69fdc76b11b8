/** Bundles of before are written again only when all that they were made of is as it was. */

import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-bundle-cache-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const entry = "node_modules/.cache/imgmatch-bundle";

function node(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return stdout;
}

describe("a small package", () => {
  const small = join(folder, "small");
  const library = "node_modules/library/index.js";
  const files = {
    "src/main.ts": "main",
    "src/hall/part.ts": "part",
    "scripts/bundle.mjs": "bundle",
    "package.json": "{}",
    "tsconfig.json": "{}",
    "node_modules/.package-lock.json": "{}",
    [library]: "library",
    "node_modules/other/index.js": "other",
  };

  /** Bundles as scripts/bundle.mjs does, and answers whether the bundles are those of before. */
  function bundle(meanwhile = "", content = "bundled"): boolean {
    const program = `
      import { mkdirSync, writeFileSync } from "node:fs";
      import { bundledBefore, keepBundles, modulesNoted } from ${JSON.stringify(resolve("scripts/bundle-cache.mjs"))};
      const before = bundledBefore("./dist/");
      if (!before) {
        ${meanwhile}
        modulesNoted.buildEnd.call({ getModuleIds: () => ["\\0made", ${JSON.stringify(join(small, library))}] });
        mkdirSync("dist/chunks", { recursive: true });
        writeFileSync("dist/chunks/a.js", ${JSON.stringify(content)});
        keepBundles("./dist/");
      }
      console.log(before);`;
    return node(small, "--input-type=module", "--eval", program) === "true\n";
  }

  beforeEach(() => {
    rmSync(small, { recursive: true, force: true });
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(small, name)), { recursive: true });
      writeFileSync(join(small, name), text);
    }
    expect(bundle("", "é\0ü")).toBe(false);
  });

  it("gets its bundles again, and nothing else", () => {
    rmSync(join(small, "dist/chunks"), { recursive: true });
    writeFileSync(join(small, "dist/left.js"), "of an older build");
    expect(bundle()).toBe(true);
    expect(readdirSync(join(small, "dist"), { recursive: true }).sort()).toEqual(["chunks", "chunks/a.js"]);
    expect(readFileSync(join(small, "dist/chunks/a.js"), "utf8")).toBe("é\0ü");
  });

  it("gets them again when a package changed of which they have nothing", () => {
    appendFileSync(join(small, "node_modules/other/index.js"), " ");
    expect(bundle()).toBe(true);
  });

  it.each(Object.keys(files).filter((name) => !name.includes("/other/")))("sees that %s changed", (name) => {
    // As long as before.
    const changed = `X${readFileSync(join(small, name), "utf8").slice(1)}`;
    writeFileSync(join(small, name), changed);
    expect(bundle()).toBe(false);
    expect(bundle()).toBe(true);
  });

  it.each(["src/main.ts", library])("sees that %s went", (name) => {
    rmSync(join(small, name));
    expect(bundle("process.exit(console.log(before) ?? 0);")).toBe(false);
  });

  it("sees a new source, and text that went from one source into the next", () => {
    writeFileSync(join(small, "src/main.js"), "");
    expect(bundle()).toBe(false);
    writeFileSync(join(small, "src/main.js"), "m");
    writeFileSync(join(small, "src/main.ts"), "ain");
    expect(bundle()).toBe(false);
  });

  it("keeps nothing where a source changed meanwhile, even if the source is again as it was", () => {
    writeFileSync(join(small, "src/main.ts"), "next");
    const text = JSON.stringify("next");
    expect(bundle(`writeFileSync("src/main.ts", "last"); writeFileSync("src/main.ts", ${text});`)).toBe(
      false,
    );
    expect(bundle()).toBe(false);
    expect(bundle()).toBe(true);
  });

  it("makes a damaged entry anew", () => {
    const whole = readFileSync(join(small, entry));
    const flipped = (at: number) => {
      const copy = Buffer.from(whole);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    };
    const middle = whole.indexOf("é");
    for (const damaged of [
      flipped(0),
      flipped(64),
      flipped(middle),
      whole.subarray(0, -1),
      Buffer.alloc(0),
    ]) {
      writeFileSync(join(small, entry), damaged);
      expect(bundle("", "é\0ü")).toBe(false);
      expect(readFileSync(join(small, entry))).toEqual(whole);
    }
  });
});

it("a changed source and a changed package are in the next bundles", () => {
  const copy = join(folder, "copy");
  for (const name of ["src", "scripts", "package.json", "tsconfig.json"])
    cpSync(name, join(copy, name), { recursive: true });
  mkdirSync(join(copy, "node_modules"));
  for (const name of readdirSync("node_modules"))
    if (name === "commander")
      cpSync(`node_modules/${name}`, join(copy, "node_modules", name), { recursive: true });
    else if (name !== ".cache") symlinkSync(resolve("node_modules", name), join(copy, "node_modules", name));
  const bundled = () => {
    node(copy, "scripts/bundle.mjs");
    const names = readdirSync(join(copy, "dist"), { recursive: true, encoding: "utf8" }).sort();
    return names
      .filter((name) => statSync(join(copy, "dist", name)).isFile())
      .map((name) => `${name}\n${readFileSync(join(copy, "dist", name), "utf8")}`)
      .join("\n");
  };
  const kept = () => statSync(join(copy, entry)).ino;
  const first = bundled();
  const firstEntry = kept();
  expect(bundled() === first).toBe(true);
  expect(kept()).toBe(firstEntry);

  const changes = [
    ["src/cli/start.ts", 'console.log("a change of a source");'],
    ["node_modules/commander/lib/command.js", 'console.log("a change of a package");'],
  ] as const;
  for (const [file, line] of changes) {
    appendFileSync(join(copy, file), `\n${line}\n`);
    const text = /"(.+)"/.exec(line)?.[1] ?? "";
    expect(first).not.toContain(text);
    expect(bundled().includes(text)).toBe(true);
  }
}, 240_000);
