/**
 * The package as a user gets it: packed, installed into an empty folder with a space in its path, and used there. Slow, and
 * skipped with a visible reason where the package registry cannot be reached.
 */

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { gpuFile, gzipped, makeImage, makeTar } from "../inspect/support/make-image.ts";
import { makeLayout } from "../inspect/support/make-layout.ts";
import { needs } from "../support/needs.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = mkdtempSync(join(tmpdir(), "imgmatch package "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(cwd: string, file: string, ...args: string[]): Ran {
  const env = { ...process.env, npm_config_offline: undefined, NODE_ENV: undefined };
  return spawnSync(file, args, { cwd, env, encoding: "utf8", timeout: 120_000 });
}

function must(cwd: string, file: string, ...args: string[]): string {
  const { status, stdout, stderr } = run(cwd, file, ...args);
  expect(status, `${file} ${args.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

function sizeOf(folder: string): number {
  return filesOf(folder).reduce((all, { size }) => all + size, 0);
}

/** Hooks do not run for a file that fails to load. */
function orRemoved<Value>(make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => statSync(join(parentPath, name)));

/** `npm test` has just built dist/. */
function isBuilt(): boolean {
  const times = (name: string) => filesOf(join(root, name)).map(({ mtimeMs }) => mtimeMs);
  return (
    existsSync(join(root, "dist/matrix.schema.json")) &&
    Math.max(...times("src"), ...times("scripts")) < Math.min(...times("dist"))
  );
}

/** From a copy: other tests may be using the repository's own dist/. */
function pack(): { readonly tarball: string; readonly files: readonly string[] } {
  const copy = join(folder, "sources");
  mkdirSync(copy);
  const built = isBuilt();
  for (const name of [
    ...(built ? ["dist"] : []),
    "src",
    "scripts",
    "package.json",
    "tsconfig.json",
    "tsconfig.build.json",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "bench/README.md",
    ".gitignore",
  ]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  if (!built) must(copy, "npm", "run", "build");
  const [packed] = JSON.parse(
    must(copy, "npm", "pack", "--ignore-scripts", "--json", "--pack-destination", folder),
  );
  const files = packed.files.map(({ path }: { path: string }) => path);
  return { tarball: join(folder, packed.filename), files };
}

const { tarball, files } = orRemoved(pack);

/** Installs into a new project; null when that works, else why it cannot be tried here. */
function install(
  name: string,
  ...flags: string[]
): { readonly project: string; readonly unreachable: string | null } {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(
    join(project, "package.json"),
    '{ "name": "consumer", "version": "1.0.0", "private": true }\n',
  );
  // No second try: where the registry is out of reach, npm would wait for minutes.
  const quick = ["--prefer-offline", "--fetch-retries", "0", "--fetch-timeout", "30000"];
  const ran = run(project, "npm", "install", "--no-audit", "--no-fund", ...quick, ...flags, tarball);
  const offline =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED)\b/.exec(
      ran.stderr,
    );
  if (ran.status !== 0 && offline !== null) {
    const unreachable = `the package registry cannot be reached (${offline[1]})`;
    return { project, unreachable };
  }
  expect(ran.status, ran.stderr).toBe(0);
  return { project, unreachable: null };
}

describe("the tarball", () => {
  test("holds what is published, and neither sources nor tests", () => {
    const allowed =
      /^(dist\/.*\.(c?js|d\.ts|json)|dist\/THIRD-PARTY-LICENSES|package\.json|docs\/.*|bench\/README\.md|LICENSE|[A-Z]+\.md)$/;
    expect(files.filter((path) => !allowed.test(path))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([
        "dist/index.js",
        "dist/types/index.d.ts",
        "dist/matrix.schema.json",
        "dist/THIRD-PARTY-LICENSES",
        "LICENSE",
      ]),
    );
  });
});

describe("installed", () => {
  // The declarations name types of Node, as those of most libraries for it do.
  const { project, unreachable } = install("a project", "@types/node@20");
  const imgmatch = (...args: string[]) => must(project, "npx", "--no-install", "imgmatch", ...args);

  test("says its version", needs(unreachable), () => {
    expect(imgmatch("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("writes, plans and renders a matrix", needs(unreachable), () => {
    imgmatch("init");
    expect(imgmatch("plan", "--offline")).toContain("4 to build");
    expect(imgmatch("render")).toContain("4 Dockerfiles: 4 written");
    expect(readdirSync(join(project, "images"))).toHaveLength(4);
    expect(imgmatch("render", "--check")).toContain("up to date");
  });

  test("opens an image in the thread that it brings", needs(unreachable), () => {
    const program = readFileSync("/bin/true");
    const layout = makeLayout(
      makeImage([
        gzipped(
          makeTar([
            { path: "usr/bin/true", content: program },
            { path: "90", content: gpuFile(90) },
          ]),
        ),
      ]),
    );
    const inspect = ["inspect", layout, "--json", "--no-cache"];
    const [{ files: found, gpu }] = JSON.parse(imgmatch(...inspect)).subjects;
    expect(found.map(({ path }: { path: string }) => path)).toEqual(["/90", "/usr/bin/true"]);
    expect(gpu.targets.map(({ target }: { target: string }) => target)).toEqual(["sm_90"]);
    expect(found[1]).toMatchObject({ size: program.length, unopened: [] });
    // On one processor no thread is started.
    if (availableParallelism() === 1) return;
    const worker = join(project, "node_modules/imgmatch/dist/inspect-worker.cjs");
    renameSync(worker, `${worker}.away`);
    const without = run(project, "npx", "--no-install", "imgmatch", ...inspect);
    renameSync(`${worker}.away`, worker);
    expect(without.status).not.toBe(0);
    expect(without.stdout + without.stderr).toContain("inspect-worker.cjs");
  });

  test("prints the schema that the package exports", needs(unreachable), () => {
    const schema = JSON.parse(imgmatch("schema"));
    expect(schema.title).toBe("imgmatch matrix");
    const load = 'console.log(JSON.stringify(require("imgmatch/matrix.schema.json")))';
    expect(JSON.parse(must(project, process.execPath, "-e", load))).toEqual(schema);
  });

  test("can be imported from ES modules and from CommonJS", needs(unreachable), () => {
    const use = "console.log(typeof plan, resolveImage.length)";
    writeFileSync(
      join(project, "esm.mjs"),
      `import { plan } from "imgmatch";\nimport { resolveImage } from "imgmatch/resolve";\n${use};\n`,
    );
    writeFileSync(
      join(project, "cjs.cjs"),
      `Promise.all([import("imgmatch"), import("imgmatch/resolve")]).then(([{ plan }, { resolveImage }]) => ${use});\n`,
    );
    const expected = /^function 2\n$/;
    expect(must(project, process.execPath, "esm.mjs")).toMatch(expected);
    expect(must(project, process.execPath, "cjs.cjs")).toMatch(expected);
  });

  test("an error that a program does not catch shows the program's own lines", needs(unreachable), () => {
    const text = 'import { plan } from "imgmatch";\nawait plan({ matrix: "none.yaml" });\n';
    writeFileSync(join(project, "uncaught.mjs"), text);
    const { status, stderr } = run(project, process.execPath, "uncaught.mjs");
    expect(status).toBe(1);
    expect(stderr).toContain("MATRIX_NOT_FOUND");
    expect(stderr).toMatch(/uncaught\.mjs:2:7/);
    expect(Math.max(...stderr.split("\n").map((line) => line.length))).toBeLessThan(300);
  });

  test("is installed for all users without a warning of its own", needs(unreachable), () => {
    const flags = ["--prefix", join(folder, "global"), "--no-audit", "--no-fund", "--prefer-offline"];
    const { status, stderr } = run(folder, "npm", "install", "--global", ...flags, tarball);
    expect(status, stderr).toBe(0);
    const warnings = stderr.split("\n").filter((line) => /warn|deprecated/i.test(line));
    expect(warnings.filter((line) => /imgmatch@|imgmatch \(|EBADENGINE/.test(line))).toEqual([]);
  });

  const timeout = 240_000;
  test("has types that a strict compiler takes, and that refuse what is wrong", {
    ...needs(unreachable),
    timeout,
  }, () => {
    const right = [
      'import { ImgmatchError } from "imgmatch";',
      'import { type HostFacts, type Lock, resolveImage } from "imgmatch/resolve";',
      "export function pick(lock: Lock, host: HostFacts): string | null {",
      "  try {",
      "    return resolveImage(lock, host, { cpuOnly: true }).match?.reference ?? null;",
      "  } catch (error) {",
      "    if (error instanceof ImgmatchError) return error.problems[0].code;",
      "    throw error;",
      "  }",
      "}",
      "",
    ].join("\n");
    writeFileSync(join(project, "right.mts"), right);
    writeFileSync(join(project, "wrong.mts"), right.replace("cpuOnly: true", "cpuOnly: 1"));
    const mistakes = (compiler: string, ...more: readonly string[]) => {
      const flags = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--types", "node"];
      const { status, stdout } = run(project, compiler, ...flags, ...more, "right.mts", "wrong.mts");
      expect(status).not.toBe(0);
      return stdout.match(/^\S.*$/gm);
    };
    const onlyMistake = [
      expect.stringMatching(/^wrong\.mts\(5,.*TS2322: Type 'number' is not assignable to type/),
    ];
    expect(mistakes(join(root, "node_modules/typescript/bin/tsc"))).toEqual(onlyMistake);

    // The oldest that docs/library.md names.
    const old = join(folder, "old compiler");
    mkdirSync(old);
    must(old, "npm", "install", "--no-audit", "--no-fund", "--prefix", old, "typescript@5.0.4");
    expect(mistakes(join(old, "node_modules/.bin/tsc"), "--skipLibCheck")).toEqual(onlyMistake);
  });

  test("brings what a node needs and nothing else: docs/node.md says how much", needs(unreachable), () => {
    const packages = readdirSync(join(project, "node_modules"), { withFileTypes: true })
      .filter(({ name }) => !name.startsWith(".") && name !== "@types" && name !== "undici-types")
      .flatMap(({ name }) =>
        name.startsWith("@") ? readdirSync(join(project, "node_modules", name)) : [name],
      );
    expect(packages.filter((name) => !name.startsWith("koffi-"))).toEqual([
      "iced-x86",
      "imgmatch",
      "koffi",
      "systeminformation",
    ]);
    const bytes = [...packages.filter((name) => !name.startsWith("koffi-")), "@koromix"].map((name) =>
      sizeOf(join(project, "node_modules", name)),
    );
    // 0.8 MB of it are line ends and spaces of the library: Node prints the line of an error that nobody catches.
    expect(bytes.reduce((all, each) => all + each, 0)).toBeLessThan(18_200_000);
  });

  test("says how to install Pulumi to who asks for it", needs(unreachable), () => {
    const command = "npm install @pulumi/pulumi@3 @pulumi/docker@5";
    const load = 'import("imgmatch/pulumi").catch((error) => console.log(error.code, error.problems[0].fix))';
    expect(must(project, process.execPath, "-e", load)).toContain(`ENGINE_NOT_FOUND ${command}`);
  });
});

describe("installed beside Pulumi", () => {
  const { project, unreachable } = install(
    "a stack",
    ...["@types/node@20", "@pulumi/pulumi@3", "@pulumi/docker@5"],
  );

  test("has the component", needs(unreachable), () => {
    const use = "console.log(typeof ImageFleet)";
    writeFileSync(join(project, "esm.mjs"), `import { ImageFleet } from "imgmatch/pulumi";\n${use};\n`);
    expect(must(project, process.execPath, "esm.mjs")).toBe("function\n");
  });

  // The settings that `pulumi new typescript` wrote for years know no `exports`.
  test.each(["nodenext", "node10"])(
    "has types for a Pulumi program where modules are resolved by %s",
    needs(unreachable),
    (resolution) => {
      writeFileSync(
        join(project, "program.ts"),
        'import { ImageFleet } from "imgmatch/pulumi";\nexport const { lock } = new ImageFleet("a", { matrix: "matrix.yaml" });\n',
      );
      const module = resolution === "nodenext" ? "nodenext" : "commonjs";
      const flags = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--types", "node"];
      const how = ["--module", module, "--moduleResolution", resolution, "--ignoreDeprecations", "6.0"];
      const { status, stdout } = run(
        project,
        join(root, "node_modules/typescript/bin/tsc"),
        ...[...flags, ...how, "program.ts"],
      );
      expect(status, stdout).toBe(0);
    },
  );

  test("has types for the example, whose package.json names all that it imports", needs(unreachable), () => {
    const example = join(project, "example");
    cpSync(join(root, "docs/examples/pulumi"), example, { recursive: true });
    // The two clouds' packages have 100 MB: as much of their types as the example uses.
    for (const cloud of ["aws", "kubernetes"]) {
      const place = join(project, "node_modules/@pulumi", cloud);
      mkdirSync(place);
      cpSync(join(root, `test/docs/support/clouds/${cloud}.ts`), join(place, "index.ts"));
      const manifest = { name: `@pulumi/${cloud}`, version: "1.0.0", types: "index.ts", main: "index.ts" };
      writeFileSync(join(place, "package.json"), JSON.stringify(manifest));
    }
    const { status, stdout } = run(
      example,
      join(root, "node_modules/typescript/bin/tsc"),
      "--noEmit",
      "-p",
      ".",
    );
    expect(status, stdout).toBe(0);
    const texts = readdirSync(example).filter((name) => name.endsWith(".ts"));
    const imported = texts.flatMap((name) =>
      [...readFileSync(join(example, name), "utf8").matchAll(/ from "((?:@[\w-]+\/)?[\w-]+)/g)].map(
        ([, from = ""]) => from,
      ),
    );
    const { dependencies } = JSON.parse(readFileSync(join(example, "package.json"), "utf8"));
    expect([...new Set(imported)].filter((name) => name !== "node").sort()).toEqual(
      Object.keys(dependencies).sort(),
    );
  });
});

describe("installed without optional packages", () => {
  const { project, unreachable } = install("bare", "--omit=optional");

  test("resolves without NVML's binding", needs(unreachable), () => {
    expect(existsSync(join(project, "node_modules/koffi"))).toBe(false);
    cpSync(join(root, "docs/examples/vision"), project, { recursive: true });
    const line = must(project, "npx", "--no-install", "imgmatch", "resolve", "--host", "hosts/h100.json");
    expect(line).toMatch(/^registry\.example\.com\/team\/vision:\S+@sha256:[0-9a-f]{64}\n$/);
    const facts = JSON.parse(must(project, "npx", "--no-install", "imgmatch", "probe", "--json"));
    expect(facts.schemaVersion).toBe(1);
  });
});
