/** Runs the steps of the release workflow as they are written; the test stands in for npm's registry and GitHub alone. */

import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
const folder = mkdtempSync(join(tmpdir(), "imgmatch-release-"));
const copy = join(folder, "sources");
const made = join(copy, "release");
const assets = [`imgmatch-${version}.cdx.json`, `imgmatch-${version}.tgz`, "imgmatch.cjs"];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly status: unknown;
  readonly output: string;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly steps?: readonly { readonly name?: string; readonly run?: string }[];
}

function workflow(): { readonly jobs: Readonly<Record<string, Job>> } {
  return parse(readFileSync(".github/workflows/release.yml", "utf8"));
}

/** A step of the workflow, in the copy, as GitHub's shell runs it. */
function step(job: string, name: string, more: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const script = workflow().jobs[job]?.steps?.find((each) => each.name === name)?.run;
  if (script === undefined) throw new Error(`no step ${name} of ${job}`);
  const github = {
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_SERVER_URL: "https://github.example",
    GITHUB_REPOSITORY: "team/imgmatch",
  };
  const env = { ...process.env, NPM_CONFIG_CACHE: join(folder, "cache"), ...github, ...more };
  return new Promise((done) =>
    execFile("bash", ["-e", "-o", "pipefail", "-c", script], { cwd: copy, env }, (error, stdout, stderr) =>
      done({ status: error === null ? 0 : error.code, output: stdout + stderr }),
    ),
  );
}

/** Digests of what a package holds, by path: a difference names its file. */
function filesOf(archive: string): ReadonlyMap<string, string> {
  const unpacked = mkdtempSync(join(folder, "unpacked-"));
  execFileSync("tar", ["-xzf", archive, "-C", unpacked]);
  const files = readdirSync(unpacked, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  return new Map(
    files.map((each) => {
      const path = join(each.parentPath, each.name);
      return [relative(unpacked, path), createHash("sha256").update(readFileSync(path)).digest("hex")];
    }),
  );
}

beforeAll(async () => {
  mkdirSync(copy);
  for (const name of [
    "src",
    "scripts",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
  ])
    cpSync(name, join(copy, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
  await new Promise<void>((done, fail) =>
    execFile(process.execPath, ["scripts/bundle.mjs"], { cwd: copy }, (error) =>
      error ? fail(error) : done(),
    ),
  );
});

test("begins where the whole check has passed, on what was packed, and ends with what npm has taken", () => {
  const { jobs } = workflow();
  expect(jobs.check?.uses).toBe("./.github/workflows/ci.yml");
  const order = Object.entries(jobs).map(([name, { needs }]) => [name, [needs ?? []].flat()]);
  expect(Object.fromEntries(order)).toEqual({
    check: [],
    pack: [],
    npm: ["check", "pack"],
    release: ["npm"],
  });
});

test("refuses a tag that is not package.json's version, and a version that the changelog does not have", async () => {
  const other = await step("pack", "pack", { GITHUB_REF_NAME: "v9.9.9" });
  expect(other).toMatchObject({
    status: 1,
    output: expect.stringContaining(`the tag v9.9.9 is not that of version ${version} in package.json`),
  });
  const changelog = join(copy, "CHANGELOG.md");
  const text = readFileSync(changelog, "utf8");
  writeFileSync(changelog, text.replaceAll(`## [${version}]`, "## [before]"));
  const silent = await step("pack", "pack");
  expect(silent).toMatchObject({ status: 1, output: expect.stringContaining("CHANGELOG.md has no section") });
  expect(existsSync(made)).toBe(false);
  writeFileSync(
    changelog,
    `${text.replace(`## [${version}]`, `## [${version}]\n\n- Notes.\n\n## [before]`)}`,
  );
});

describe("a release", () => {
  const read = (name: string) => readFileSync(join(made, name), "utf8");

  beforeAll(async () => {
    const { status, output } = await step("pack", "pack");
    expect(status, output).toBe(0);
  });

  test("has the package, the file for nodes, their bill of materials, and checksums of these", async () => {
    expect(readdirSync(made).sort()).toEqual(["SHA256SUMS", ...assets, "notes.md"].sort());
    expect(read("notes.md")).toBe("- Notes.\n");
    expect(await step("release", "check")).toMatchObject({ status: 0 });
    expect(read("SHA256SUMS").match(/^[0-9a-f]{64} {2}\S+$/gm)).toHaveLength(assets.length);
  });

  test("has the same bytes when it is built again, elsewhere and later", { timeout: 240_000 }, async () => {
    const again = join(folder, "again");
    cpSync(copy, again, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !/\/(dist|release)$/.test(path),
    });
    const ran = (file: string, ...args: string[]) =>
      new Promise<void>((done, fail) =>
        execFile(file, args, { cwd: again }, (error) => (error ? fail(error) : done())),
      );
    // Any word more, and no bundle that was kept is taken: the first may be one of the checkout, whose packages are no link.
    await ran(process.execPath, "scripts/bundle.mjs", "dist", "--anew");
    const words = ["release", `v${version}`, "https://github.example/team/imgmatch"];
    await ran(process.execPath, "scripts/release.mjs", ...words);
    // A bill of materials has a number and a time of its own.
    const packed = (from: string) => filesOf(join(from, `release/imgmatch-${version}.tgz`));
    const [first, second] = [packed(copy), packed(again)];
    expect([...second].filter(([name, digest]) => first.get(name) !== digest)).toEqual([]);
    const digests = (text: string) => text.split("\n").filter((line) => !line.endsWith(".cdx.json"));
    expect(digests(readFileSync(join(again, "release/SHA256SUMS"), "utf8"))).toEqual(
      digests(read("SHA256SUMS")),
    );
  });

  test("runs, installed and as one file, and names its repository", async () => {
    const unpacked = join(folder, "unpacked");
    mkdirSync(unpacked);
    const ran = (file: string, ...args: string[]) =>
      new Promise<string>((done, fail) =>
        execFile(file, args, { cwd: unpacked }, (error, stdout) => (error ? fail(error) : done(stdout))),
      );
    await ran("tar", "-xzf", join(made, `imgmatch-${version}.tgz`));
    expect(await ran(process.execPath, "package/dist/cli.cjs", "--version")).toBe(`${version}\n`);
    expect(await ran(process.execPath, join(made, "imgmatch.cjs"), "--version")).toBe(`${version}\n`);
    const { repository } = JSON.parse(readFileSync(join(unpacked, "package/package.json"), "utf8"));
    expect(repository).toEqual({ type: "git", url: "git+https://github.example/team/imgmatch.git" });
  });

  test("lists what users get: the packages of an installation and those whose code is in the programs", () => {
    const bill = JSON.parse(read(`imgmatch-${version}.cdx.json`));
    expect(bill).toMatchObject({
      bomFormat: "CycloneDX",
      metadata: { component: { name: "imgmatch", version } },
    });
    const names = bill.components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["iced-x86", "systeminformation", "koffi"]));
    const bundled = readFileSync(join(copy, "dist/THIRD-PARTY-LICENSES"), "utf8").matchAll(
      /^(\S+) (\S+) \([^)]+\)$/gm,
    );
    const components = new Set(
      bill.components.map((each: Record<string, string>) => `${each.name} ${each.version}`),
    );
    const lacking = [...bundled].filter(([, name, at]) => !components.has(`${name} ${at}`));
    expect(lacking).toEqual([]);
    // Tools of development are nobody's who installs it.
    expect(names).not.toContain("vitest");
    expect(names).not.toContain("typescript");
  });

  test("is given to npm as the bytes that were checked, and not at all where one of them is another", async () => {
    const taken: { readonly _attachments: Record<string, { readonly data: string }> }[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        if (request.method !== "PUT") return response.writeHead(404).end("{}");
        taken.push(JSON.parse(body));
        return response.writeHead(201).end("{}");
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const npmrc = join(folder, "npmrc");
    writeFileSync(npmrc, `registry=http://127.0.0.1:${port}/\n//127.0.0.1:${port}/:_authToken=of-the-test\n`);
    const env = {
      NPM_CONFIG_USERCONFIG: npmrc,
      NPM_CONFIG_REGISTRY: `http://127.0.0.1:${port}/`,
      NPM_CONFIG_FETCH_RETRIES: "0",
    };
    try {
      const file = join(made, "imgmatch.cjs");
      const before = readFileSync(file);
      appendFileSync(file, "\n");
      expect((await step("npm", "publish", env)).output).toContain("imgmatch.cjs: FAILED");
      expect(taken).toEqual([]);
      writeFileSync(file, before);
      const { status, output } = await step("npm", "publish", env);
      expect(status, output).toBe(0);
      const [given] = taken.flatMap(({ _attachments }) => Object.values(_attachments));
      const digest = createHash("sha256")
        .update(Buffer.from(given?.data ?? "", "base64"))
        .digest("hex");
      expect(read("SHA256SUMS")).toContain(`${digest}  imgmatch-${version}.tgz`);
    } finally {
      server.close();
    }
  });

  test("is created with these files alone, of a tag that is there", async () => {
    const programs = join(folder, "programs");
    mkdirSync(programs);
    writeFileSync(join(programs, "gh"), `#!/bin/sh\nprintf '%s\\n' "$@" > "${folder}/asked"\n`);
    chmodSync(join(programs, "gh"), 0o755);
    const { status } = await step("release", "release", { PATH: `${programs}:${process.env.PATH}` });
    expect(status).toBe(0);
    const asked = readFileSync(join(folder, "asked"), "utf8").trim().split("\n");
    expect(asked.slice(0, 6)).toEqual([
      "release",
      "create",
      `v${version}`,
      "--repo",
      "team/imgmatch",
      "--verify-tag",
    ]);
    const files = asked.slice(asked.indexOf("release/notes.md") + 1);
    expect(files.sort()).toEqual(["SHA256SUMS", ...assets].map((name) => `release/${name}`).sort());
  });
});
