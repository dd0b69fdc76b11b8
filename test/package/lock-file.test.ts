/** `npm ci` installs exactly what was reviewed: the lock file has the digest of every package's archive. */

import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface Entry {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
}

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const entries = Object.entries(lock.packages).filter(([path]) => path !== "");
const bare = entries.filter(([, { integrity }]) => integrity === undefined);

it("every package that is installed here has its digest in package-lock.json", () => {
  const installed = entries.filter(([path]) => existsSync(path));
  expect(installed.length).toBeGreaterThan(100);
  expect(
    installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? "")).map(([path]) => path),
  ).toEqual([]);
});

// npm leaves the digest out of what the registry it was asked did not have: binaries of other systems.
it("only optional binaries for other machines, of tools for development, have none", () => {
  const tools = /^node_modules\/(?:vite\/node_modules\/)?@(?:biomejs\/cli|rolldown\/binding)-/;
  expect(
    bare.filter(([path, { optional, cpu }]) => !tools.test(path) || !optional || cpu === undefined),
  ).toEqual([]);
});

it("no entry names the host that it came from", () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});

// koffi brings its binary, and the others are for development: the release is built with --ignore-scripts.
it("no package runs a script when it is installed but these, and none has to", () => {
  const scripts = entries.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect(scripts.map(([path]) => path)).toEqual([
    "node_modules/@pulumi/docker-build",
    "node_modules/esbuild",
    "node_modules/koffi",
    "node_modules/protobufjs",
  ]);
  const release = readFileSync(".github/workflows/release.yml", "utf8");
  expect(release.match(/npm (?:ci|install).*/g)).toEqual(["npm ci --ignore-scripts && npm run build"]);
});
