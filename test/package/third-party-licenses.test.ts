/** The licences that travel with the package are those of the code in it, read from the bundles' own source maps. */

import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packagesOf, thirdPartyLicenses } from "../../scripts/third-party-licenses.mjs";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "imgmatch-licences-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The packages whose code is in a bundle, by its source map, each with its version. */
function packagesIn(map: string): string[] {
  const { sources } = JSON.parse(readFileSync(map, "utf8")) as { readonly sources: readonly string[] };
  const folders = sources.flatMap(
    (source) => /.*?(node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? [],
  );
  return [...new Set(folders)].map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
    return `${name} ${version}`;
  });
}

describe("THIRD-PARTY-LICENSES", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/bundle.mjs", folder, "--maps"], {
    cwd: root,
    encoding: "utf8",
  });
  const text = existsSync(join(folder, "THIRD-PARTY-LICENSES"))
    ? readFileSync(join(folder, "THIRD-PARTY-LICENSES"), "utf8")
    : "";

  it("names every package whose code is in a bundle, and no other", () => {
    expect(status, stderr).toBe(0);
    const maps = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".map"),
    );
    expect(maps.length).toBeGreaterThan(2);
    const names = maps.flatMap((map) => packagesIn(join(folder, map)));
    expect(names.some((name) => name.startsWith("commander "))).toBe(true);
    const titles = [...text.matchAll(/^(\S+) (\S+) \(([^)]+)\)$/gm)];
    expect(titles.map(([, name, version]) => `${name} ${version}`)).toEqual([...new Set(names)].sort());
  });

  it("resolve loads no package but the argument parser", () => {
    const loaded = join(folder, "loaded.json");
    const hook = join(folder, "hook.cjs");
    writeFileSync(
      hook,
      `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(loaded)}, JSON.stringify(Object.keys(require.cache))));`,
    );
    const question = ["resolve", "--host", "hosts/h100.json"];
    const ran = spawnSync(process.execPath, ["--require", hook, join(folder, "cli.cjs"), ...question], {
      cwd: join(root, "docs/examples/vision"),
      encoding: "utf8",
    });
    expect(ran.status, ran.stderr).toBe(0);
    const files = (JSON.parse(readFileSync(loaded, "utf8")) as string[]).filter((file) => file !== hook);
    expect(files.slice(0, 2).map((file) => relative(realpathSync(folder), file))).toEqual([
      "cli.cjs",
      expect.stringMatching(/^cli-chunks\/cli-[\w-]+\.cjs$/),
    ]);
    expect([...new Set(files.flatMap((file) => packagesIn(`${file}.map`)))]).toEqual([
      expect.stringMatching(/^commander /),
    ]);
  });

  it("holds each licence as its package brings it", () => {
    for (const name of [
      "commander/LICENSE",
      "handlebars/LICENSE",
      "p-limit/license",
      "yaml/LICENSE",
      "zod/LICENSE",
    ])
      expect(text).toContain(readFileSync(join(root, "node_modules", name), "utf8").trim());
  });
});

it("takes the nearest package of a module, also one with a scope or below another", async () => {
  const packages = await packagesOf([
    join(root, "node_modules/commander/lib/command.js"),
    `\0${join(root, "node_modules/commander/index.js")}?commonjs-module`,
    join(root, "node_modules/@types/node/index.d.ts"),
    join(root, "src/cli/bin.ts"),
  ]);
  expect(packages.map(({ title }) => title.split(" ")[0])).toEqual(["@types/node", "commander"]);
});

it("refuses to bundle a package without a licence text", () => {
  const bare = [{ title: "bare 1.0.0", license: "MIT", texts: [] }];
  expect(() => thirdPartyLicenses(bare)).toThrow("bare 1.0.0 is bundled and brings no licence text");
});
