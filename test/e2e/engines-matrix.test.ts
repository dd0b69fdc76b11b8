/** One fleet with each engine that people have: the same files in the image, and the same commands after the build. */

import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { withDigest, parseImageReference } from "../../src/oci/reference.ts";
import { noCredentials } from "../../src/oci/registry/credentials.ts";
import { isDigest } from "../../src/oci/digest.ts";
import { bundledInParts } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { whyNoBusybox } from "./support/busybox.ts";
import { startBuilder, whyNoBuildkitd, whyNoBuildx, whyNoClient } from "./support/buildkitd.ts";
import { isolateStore, type StoreProgram, whyNoProgram } from "./support/containers-store.ts";
import { startEngine } from "./support/engine.ts";
import { programVersion, whyNoDaemon } from "./support/program-version.ts";
import { cli, imgmatch } from "./support/program.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const registry = stack.available ? stack.registry : "";
const engineEnv = stack.available ? stack.engineEnv : {};
const dockerd29 = process.env.IMGMATCH_DOCKERD29_PROGRAM;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";

interface Row {
  readonly name: string;
  readonly flags: readonly string[];
  /** Where the image is kept that is not pushed. */
  readonly keeps: "docker" | "podman" | null;
  /** It starts containers too. */
  readonly runs: boolean;
  readonly missing: string | null;
  start(): Promise<{
    readonly env: NodeJS.ProcessEnv;
    readonly flags?: readonly string[];
    end(): Promise<void>;
  }>;
}

function storeRow(program: StoreProgram): Row {
  return {
    name: `${program} alone`,
    flags: ["--engine", "podman"],
    keeps: "podman",
    runs: program === "podman",
    missing: whyNoProgram(program),
    async start() {
      const { env, remove } = await isolateStore(program, process.env);
      return { env, end: remove };
    },
  };
}

const rows: readonly Row[] = [
  {
    name: "docker of this machine",
    flags: [],
    keeps: "docker",
    runs: true,
    missing: whyNoClient(engineEnv),
    start: async () => ({ env: engineEnv, end: async () => {} }),
  },
  {
    name: "docker 29 with containerd's store",
    flags: [],
    keeps: "docker",
    // Docker 29 asks for a time namespace, which runc knows from 1.2 on.
    runs: Number.parseFloat(programVersion("runc") ?? "0") >= 1.2,
    missing: dockerd29 ? whyNoDaemon("dockerd", dockerd29) : "no dockerd 29: set IMGMATCH_DOCKERD29_PROGRAM",
    async start() {
      const engine = await startEngine([], dockerd29);
      return { env: engine.env, end: engine.stop };
    },
  },
  {
    name: "buildx with a builder of its own",
    flags: ["--engine", "buildx"],
    keeps: null,
    runs: false,
    missing: whyNoBuildx(engineEnv) ?? whyNoBuildkitd(),
    async start() {
      const builder = await startBuilder(engineEnv);
      return { env: engineEnv, flags: ["--builder", builder.name], end: builder.stop };
    },
  },
  storeRow("podman"),
  storeRow("buildah"),
];

/** Path → what an image has to have of it, whatever the engine. */
const wanted = {
  "a b": "file 644",
  "back\\slash": "file 644",
  dangling: "link nowhere",
  empty: "folder 755",
  hard: "file 644",
  key: "file 644",
  link: "link plain",
  "new\nline": "file 644",
  plain: "file 644",
  "run.sh": "file 755",
  sticky: "folder 755",
  su: "file 755",
  "ü/in": "file 644",
  ü: "folder 755",
} as const;

const februaryOf1980 = Date.UTC(1980, 1, 1);

function writeTree(folder: string): void {
  const at = (path: string) => join(folder, path);
  for (const path of ["empty", "sticky", "ü"]) mkdirSync(at(path), { recursive: true });
  for (const path of ["a b", "back\\slash", "key", "new\nline", "plain", "run.sh", "su", "ü/in"])
    writeFileSync(at(path), `content of ${path}\n`);
  linkSync(at("plain"), at("hard"));
  symlinkSync("plain", at("link"));
  symlinkSync("nowhere", at("dangling"));
  chmodSync(at("key"), 0o600);
  chmodSync(at("run.sh"), 0o755);
  chmodSync(at("su"), 0o4750);
  chmodSync(at("sticky"), 0o1777);
}

/** The entries of the one layer of an image in the registry: path → kind, mode or target, then owner, time and bytes. */
async function entriesOf(name: string, digest: string | null | undefined): Promise<Record<string, string>> {
  const client = createRegistryClient({ plainHttp: () => true, credentials: noCredentials });
  const reference = parseImageReference(name);
  const pinned = isDigest(digest) ? withDigest(reference, digest) : reference;
  const manifest = await client.readManifest(pinned);
  const { layers } = JSON.parse(Buffer.from(manifest?.bytes ?? []).toString()) as {
    readonly layers: readonly { readonly digest: string }[];
  };
  expect(layers).toHaveLength(1);
  const [layer = { digest: "" }] = layers;
  if (!isDigest(layer.digest)) throw new Error(layer.digest);
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-layer-"));
  try {
    const input = await client.readBlob(pinned, layer.digest);
    execFileSync("tar", ["-xzp", "--numeric-owner", "-C", folder], { input });
    return treeOf(join(folder, "tree"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function treeOf(root: string): Record<string, string> {
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(
    paths.map((path) => {
      const full = join(root, path);
      const stats = lstatSync(full);
      const mode = (stats.mode & 0o7777).toString(8);
      const what = stats.isSymbolicLink()
        ? `link ${readlinkSync(full)}`
        : `${stats.isDirectory() ? "folder" : "file"} ${mode}`;
      const bytes = stats.isFile() ? readFileSync(full, "utf8") : "";
      return [path, `${what}, ${stats.uid}:${stats.gid}, ${stats.mtime.toISOString()}, ${bytes}`];
    }),
  );
}

/** BuildKit in Docker 20.10 gives a folder the time at which it has filled the folder, `docker build` too. */
function withoutFilled(entries: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { ...entries, ü: (entries.ü ?? "").replace(/\d{4}-.*Z/, "some time") };
}

function wantedEntries(time: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(wanted).map(([path, what]) => {
      const from = path === "hard" ? "plain" : path;
      const bytes = what.startsWith("file") ? `content of ${from}\n` : "";
      return [path, `${what}, 0:0, ${new Date(time).toISOString()}, ${bytes}`];
    }),
  );
}

function treeProject(name: string, env: NodeJS.ProcessEnv): Project {
  const project = createProject({ registry: `${registry}/matrix`, name, env, inProcess: true });
  project.matrix(`base: scratch\naxes:\n  march: [${march}]`);
  project.write(
    "templates/app.Dockerfile.hbs",
    "FROM {{base}}\nCOPY tree /tree/\nENV MARCH={{march.name}}\n",
  );
  writeTree(join(project.folder, "templates/tree"));
  return project;
}

describe.each(rows)("With $name", (row) => {
  describe("a fleet", needs(stack.available ? row.missing : stack.reason), () => {
    let project: Project;
    let flags: readonly string[] = row.flags;
    let end = async () => {};

    beforeAll(async () => {
      const started = await row.start();
      end = started.end;
      flags = [...row.flags, ...(started.flags ?? [])];
      project = treeProject(`row-${rows.indexOf(row)}`, { ...process.env, ...started.env });
    }, 120_000);
    afterAll(async () => {
      project?.remove();
      await end();
    });

    it("is planned with what its images lose", async () => {
      const { stderr } = await project.run("plan");
      expect(stderr).toMatch(
        /without special bits: tree\/sticky \(0755, here 01777\), tree\/su \(0755, here 04750\);/,
      );
      expect(stderr).toMatch(/may read what is closed here: tree\/key \(0644, here 0600\); mount a secret/);
    });

    it(
      "has its image here, which inspect and check find",
      needs(row.keeps === null ? "the builder keeps no image" : null),
      async () => {
        const built = await project.run("build", ...flags);
        expect(built, built.stderr).toMatchObject({ status: 0 });
        expect(built.stderr.match(/what is closed here/g)).toHaveLength(1);
        const local = project.lock().images[march]?.local;
        expect(local).toEqual({ engine: row.keeps, id: expect.stringMatching(/^sha256:/) });
        const engine = ["--engine", row.keeps ?? ""];
        const inspected = await project.run("inspect", local?.id ?? "", ...engine, "--json");
        expect(inspected, inspected.stderr).toMatchObject({ status: 0 });
        expect(JSON.parse(inspected.stdout).subjects).toMatchObject([{ source: "engine" }]);
        const checked = await project.run("check", local?.id ?? "", ...engine);
        expect(checked, checked.stderr).toMatchObject({ status: 0 });
        expect((await project.run("build", ...flags)).stderr).toMatch(/nothing to build/);
      },
    );

    it("has the files of the context, with modes, owners, times and bytes as everywhere", async () => {
      const built = await project.run("build", "--push", ...flags);
      expect(built, built.stderr).toMatchObject({ status: 0 });
      const { repository, images } = project.lock();
      const seen = row === rows[0] ? withoutFilled : (all: Readonly<Record<string, string>>) => all;
      const entries = await entriesOf(repository, images[march]?.digest);
      expect(seen(entries)).toEqual(seen(wantedEntries(februaryOf1980)));
    });
  });
});

const [least = "", best = ""] = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];

describe.each(rows)("With $name", (row) => {
  it(
    "from the build to the pull, each command of the first day",
    needs(stack.available ? (row.missing ?? whyNoBusybox) : stack.reason),
    async () => {
      const { env, flags: own = [], end } = await row.start();
      const flags = [...row.flags, ...own];
      const engine = ["--engine", row.keeps ?? ""];
      const project = createProject({
        registry: `${registry}/matrix`,
        name: `day-${rows.indexOf(row)}`,
        env: { ...process.env, ...env },
      });
      const ok = async (...args: string[]) => {
        const ran = await project.run(...args);
        expect(ran, `${args.join(" ")}: ${ran.stderr}`).toMatchObject({ status: 0 });
        return ran;
      };
      try {
        project.write(
          "templates/app.Dockerfile.hbs",
          'FROM {{base}}\nCOPY busybox /bin/busybox\nCOPY text /text\nENV MARCH={{march.name}}\nRUN ["/bin/busybox", "touch", "/made"]\nENTRYPOINT ["/bin/busybox"]\n',
        );
        project.write("templates/text", "first\n");
        copyFileSync("/bin/busybox", join(project.folder, "templates/busybox"));
        project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${least}, ${best}]`);
        expect((await ok("plan")).stdout).toContain("2 cells: 2 to build");
        if (row.keeps !== null) {
          expect((await ok("build", ...flags)).stderr).toContain("2 built");
          expect((await ok("build", ...flags)).stderr).toContain("nothing to build");
          expect((await ok("resolve", "--local")).stdout).toBe(`${project.lock().images[best]?.local?.id}\n`);
          if (row.runs) {
            const ran = await ok(
              "run",
              ...engine,
              "--network",
              "none",
              "-e",
              "A=b",
              "--",
              "sh",
              "-c",
              "echo $MARCH $A $(cat /text)",
            );
            expect(ran.stdout).toBe(`${best} b first\n`);
          }
        }
        project.write("templates/text", "second\n");
        if (row.keeps !== null) expect((await ok("plan")).stdout).toMatch(/context \(text\)/);
        expect((await ok("build", "--push", ...flags)).stderr).toContain("2 built");
        await ok("publish");
        const pinned = (await ok("resolve")).stdout;
        expect(pinned).toContain(project.lock().images[best]?.digest);
        expect((await ok("resolve", `${project.repository}:1.0.0`)).stdout).toBe(pinned);
        await ok("verify");
        if (row.runs) {
          await ok("pull", ...engine);
          const ran = await ok("run", ...engine, "--network", "none", "--", "cat", "/text");
          expect(ran.stdout).toBe("second\n");
        }
      } finally {
        project.remove();
        await end();
      }
    },
  );
});

describe.each(rows)("With $name", (row) => {
  it("Ctrl-C in the middle of a step ends the build with 130, and there is no lock", {
    ...needs(stack.available ? (row.missing ?? whyNoBusybox) : stack.reason),
    timeout: 60_000,
  }, async () => {
    const started = await row.start();
    const env = { ...process.env, ...started.env };
    const project = createProject({ registry: `${registry}/matrix`, name: `c-${rows.indexOf(row)}`, env });
    try {
      const step = '["/bin/busybox", "sh", "-c", "echo begun-$((40+2)); sleep 1000"]';
      project.write(
        "templates/app.Dockerfile.hbs",
        `FROM {{base}}\nCOPY busybox /bin/busybox\nENV MARCH={{march.name}}\nRUN ${step}\n`,
      );
      copyFileSync("/bin/busybox", join(project.folder, "templates/busybox"));
      project.matrix(`base: scratch\naxes:\n  march: [${march}]`);
      const flags = [...row.flags, ...(started.flags ?? []), "--push", "--progress", "plain"];
      const child = spawn(process.execPath, [cli, "build", ...flags], {
        ...{ cwd: project.folder, env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      let told = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        const isFirst = !told.includes("begun-42");
        told += text;
        if (isFirst && told.includes("begun-42")) child.kill("SIGINT");
      });
      const status = await new Promise((ended) => child.once("close", ended));
      expect(status, told).toBe(130);
      expect(existsSync(join(project.folder, "images/imgmatch.lock.json"))).toBe(false);
    } finally {
      project.remove();
      await started.end();
    }
  });
});

describe.each(rows)("With $name", (row) => {
  it(
    "a here-document is read, or the engine is told that reads none, with the user's line",
    needs(stack.available ? row.missing : stack.reason),
    async () => {
      const { env, flags = [], end } = await row.start();
      const project = createProject({
        registry: `${registry}/matrix`,
        name: `h-${rows.indexOf(row)}`,
        env: { ...process.env, ...env },
      });
      try {
        project.write(
          "templates/app.Dockerfile.hbs",
          "FROM {{base}}\nENV MARCH={{march.name}}\nCOPY <<END /tree/text\nthe first line\nEND\n",
        );
        project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${march}]`);
        const { status, stderr } = await project.run("build", "--push", ...row.flags, ...flags);
        if (status === 0) {
          const { repository, images } = project.lock();
          const entries = await entriesOf(repository, images[march]?.digest);
          expect(entries.text).toMatch(/, the first line\n$/);
        } else {
          expect(stderr).toMatch(
            /BUILD_FAILED: (?:.*\n)+ {2}fix: this engine reads no here-documents, as in: COPY <<END \/tree\/text; begin the Dockerfile with # syntax=/,
          );
        }
      } finally {
        project.remove();
        await end();
      }
    },
  );
});

describe.each(rows.filter(({ keeps }) => keeps === "podman"))("With $name, in an empty store", (row) => {
  it(
    "a base of a registry of plain http on this machine is pulled as images are pushed",
    needs(stack.available ? row.missing : stack.reason),
    async () => {
      const stores = [await row.start(), await row.start()];
      const projects: Project[] = [];
      try {
        let base = "scratch";
        for (const [index, { env }] of stores.entries()) {
          const project = treeProject(`on-${rows.indexOf(row)}-${index}`, env);
          projects.push(project);
          project.matrix(`base: ${base}\naxes:\n  march: [${march}]`);
          const built = await project.run("build", "--push", ...row.flags);
          expect(built, built.stderr).toMatchObject({ status: 0 });
          const { repository, images } = project.lock();
          base = `${repository}:${images[march]?.tag}`;
        }
      } finally {
        for (const project of projects) project.remove();
        for (const { end } of stores) await end();
      }
    },
  );
});

describe.each(rows.filter(({ keeps }) => keeps === "podman"))("With $name, without a network", (row) => {
  it(
    "a front end, which it ignores, needs a digest for a push alone",
    needs(stack.available ? row.missing : stack.reason),
    async () => {
      const { env, end } = await row.start();
      const project = treeProject(`syntax-${rows.indexOf(row)}`, env);
      try {
        const text = project.read("templates/app.Dockerfile.hbs");
        project.write("templates/app.Dockerfile.hbs", `# syntax=127.0.0.1:9/docker/dockerfile:1\n${text}`);
        const pushed = await project.run("build", "--push", ...row.flags);
        expect(pushed.status).toBe(5);
        expect(pushed.stderr).toMatch(/BASE_UNRESOLVED: .*the digest of the base image 127\.0\.0\.1:9/);
        const built = await project.run("build", ...row.flags);
        expect(built, built.stderr).toMatchObject({ status: 0 });
        expect(built.stderr).toContain(
          "# syntax=127.0.0.1:9/docker/dockerfile:1: podman ignores it, and its digest is not known",
        );
        expect(project.lock().images[march]).toMatchObject({ bases: [], local: { engine: "podman" } });
        expect((await project.run("build", ...row.flags)).stderr).toMatch(/nothing to build/);

        // A digest that the lock has counts.
        const digest = `sha256:${"a".repeat(64)}`;
        const lock = project.read("images/imgmatch.lock.json");
        const pinned = `"bases":[{"ref":"127.0.0.1:9/docker/dockerfile:1","digest":"${digest}"}]`;
        project.write("images/imgmatch.lock.json", lock.replace(/"bases":\s*\[\]/, pinned));
        const again = await project.run("build", ...row.flags);
        expect(again, again.stderr).toMatchObject({ status: 0 });
        expect(again.stderr).not.toContain("ignores it");
        expect(project.lock().images[march]?.bases).toEqual([
          { ref: "127.0.0.1:9/docker/dockerfile:1", digest },
        ]);
      } finally {
        project.remove();
        await end();
      }
    },
  );
});

describe("With docker buildx bake", needs(stack.available ? whyNoBuildx(engineEnv) : stack.reason), () => {
  const env = { ...process.env, ...engineEnv };
  let project: Project;
  beforeAll(() => {
    project = treeProject("baked", env);
  });
  afterAll(() => project?.remove());

  async function bake(...more: string[]) {
    const exported = await project.run("export", "bake", ...more);
    expect(exported, exported.stderr).toMatchObject({ status: 0 });
    project.write("docker-bake.json", exported.stdout);
    const ran = await capture(["docker", "buildx", "bake", "--builder", "default", "--push"], {
      env,
      cwd: project.folder,
    });
    expect(ran.status, ran.stderr).toBe(0);
    const { target } = JSON.parse(exported.stdout) as { target: Record<string, { tags: string[] }> };
    const [tag = ""] = Object.values(target)[0]?.tags ?? [];
    return { ...exported, entries: await entriesOf(tag, null) };
  }

  it("the image has the same files by the contexts that export writes", async () => {
    const { entries, stderr } = await bake("--contexts", ".imgmatch/bake");
    expect(withoutFilled(entries)).toEqual(withoutFilled(wantedEntries(februaryOf1980)));
    expect(stderr).not.toContain("bake sends");
  });

  it("without them it is told what differs, and nothing else does", async () => {
    const { entries, stderr } = await bake();
    expect(stderr).toMatch(
      /bake sends the files of the context with their own times, and 3 files with another mode: tree\/key, tree\/sticky, tree\/su; with --contexts/,
    );
    const wantedNow = wantedEntries(februaryOf1980);
    const others = Object.keys(wantedNow).filter((path) => {
      const alike = (text = "") => text.replace(/, \d{4}-.*?Z,/, "");
      return alike(entries[path]) !== alike(wantedNow[path]);
    });
    expect(others).toEqual(["key", "sticky", "su"]);
  });
});

describe(
  "Where Podman is the only engine",
  needs(stack.available ? whyNoProgram("podman") : stack.reason),
  () => {
    const elsewhere = existsSync("/var/run/docker.sock") ? "this machine has Docker's socket" : null;
    let project: Project;
    let env: NodeJS.ProcessEnv;
    let end = async () => {};
    beforeAll(async () => {
      const store = await isolateStore("podman", process.env);
      const { DOCKER_HOST: _host, DOCKER_CONTEXT: _context, XDG_RUNTIME_DIR: _runtime, ...alone } = store.env;
      env = alone;
      end = store.remove;
      project = treeProject("alone", alone);
    });
    afterAll(async () => {
      project?.remove();
      await end();
    });

    it("it is named, and taken where images are looked up", needs(elsewhere), async () => {
      const refused = await project.run("build");
      expect(refused).toMatchObject({ status: 5 });
      expect(refused.stderr).toContain("fix: add --engine podman: Podman or Buildah is here");
      const doctor = await project.run("doctor", "--json");
      expect(JSON.parse(doctor.stdout).checks).toContainEqual(
        expect.objectContaining({
          check: "engine",
          state: "ok",
          message: expect.stringMatching(/^podman \d/),
        }),
      );
      const built = await project.run("build", "--engine", "podman");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      const { stderr, status } = await project.run("inspect", project.lock().images[march]?.local?.id ?? "");
      expect({ stderr, status }).toMatchObject({ status: 0 });
      expect(stderr).toMatch(/there is no Docker here: podman \S+ is asked \(--engine podman\)/);
      const ran = await project.run("run", "--dry-run");
      expect(ran, ran.stderr).toMatchObject({ status: 0, stdout: expect.stringMatching(/^podman run /) });
      expect(ran.stderr).toContain("there is no Docker here: Podman runs it (--engine podman)");
    });

    it(
      "its docker command and its socket with Docker's API are told from Docker",
      needs(elsewhere),
      async () => {
        const bin = env.PATH ?? "";
        writeFileSync(join(bin, "docker"), '#!/bin/sh\nexec podman "$@"\n', { mode: 0o755 });
        const refused = await project.run("build", "--no-cache");
        expect(refused.stderr).toContain("fix: add --engine podman: Podman or Buildah is here");

        const socket = join(bin, "podman.sock");
        const DOCKER_HOST = `unix://${socket}`;
        const service = spawn("podman", ["system", "service", "--time", "0", DOCKER_HOST], {
          env,
          stdio: "ignore",
        });
        try {
          await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
          const asked = (...words: string[]) =>
            imgmatch(words, { cwd: project.folder, env: { ...env, DOCKER_HOST } });
          const doctor = JSON.parse((await asked("doctor", "--json")).stdout);
          const engine = doctor.checks.find(({ check }: { check: string }) => check === "engine");
          expect(engine.message).toMatch(/^podman \S+ at unix:.*: add --engine podman to build/);
          const built = await asked("build", "--no-cache");
          expect(built.status).toBe(5);
          expect(built.stderr).toContain("fix: build with --engine podman");
          const id = project.lock().images[march]?.local?.id ?? "";
          const inspected = await asked("inspect", id, "--from", "engine");
          expect(inspected, inspected.stderr).toMatchObject({ status: 0 });
        } finally {
          service.kill();
        }
      },
    );
  },
);

/** As root: another user may not open the engine's socket, and may not read a checkout of root. */
const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env"] as const;
const whyNoOther = process.getuid?.() === 0 ? null : "not root, who alone may be another user";
const whyNoNamespace = () =>
  whyNot("setpriv", [...nobody.slice(1), "unshare", "--user", "--map-root-user", "true"], {
    install: "a kernel that gives every user namespaces",
  });

/** A folder that everybody may read, with the program, and how nobody runs it in a project. */
async function asNobody(name: string) {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-nobody-"));
  chmodSync(folder, 0o755);
  const program = dirname(await bundledInParts(resolve("src/cli/bin.ts"), "engines-matrix-cli"));
  cpSync(program, folder, { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const project = createProject({ registry: `${registry}/matrix`, name, env: process.env });
  project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${march}]`);
  chmodSync(project.folder, 0o755);
  return {
    folder,
    project,
    run: (words: readonly string[], env: NodeJS.ProcessEnv) => {
      const own = Object.entries({ HOME: "/nonexistent", ...env }).map(([key, value]) => `${key}=${value}`);
      return capture(
        [nobody[0], ...nobody.slice(1), ...own, process.execPath, join(folder, "main.mjs"), ...words],
        {
          env: process.env,
          cwd: project.folder,
        },
      );
    },
    remove() {
      project.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

it("an engine whose socket the user may not open is told by whatever asks it", {
  ...needs(stack.available ? whyNoOther : stack.reason),
  timeout: 60_000,
}, async () => {
  const { run, remove } = await asNobody("nobody");
  try {
    const id = `sha256:${"a".repeat(64)}`;
    for (const words of [["build"], ["inspect", id], ["check", id], ["doctor"]]) {
      const { stdout, stderr, status } = await run(words, engineEnv);
      expect(stdout + stderr, words.join(" ")).toMatch(
        /ENGINE_UNREACHABLE: no answer from a container engine at unix:.*: permission denied\s+fix: join its group/,
      );
      expect(status).toBe(5);
    }
  } finally {
    remove();
  }
});

it("Podman without root builds, finds and checks its image", {
  ...needs(stack.available ? (whyNoOther ?? whyNoProgram("podman") ?? whyNoNamespace()) : stack.reason),
  timeout: 120_000,
}, async () => {
  const { folder, project, run, remove } = await asNobody("rootless");
  try {
    const own = join(folder, "own");
    mkdirSync(own);
    // Nobody has no subordinate ids: files of other owners become its own.
    writeFileSync(
      join(own, "storage.conf"),
      `[storage]\ndriver = "vfs"\ngraphroot = "${own}/graph"\nrunroot = "${own}/run"\n[storage.options.vfs]\nignore_chown_errors = "true"\n`,
    );
    writeFileSync(
      join(own, "containers.conf"),
      '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\nnetns = "host"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
    );
    execFileSync("chown", ["-R", "65534:65534", own, project.folder]);
    const env = {
      HOME: own,
      XDG_RUNTIME_DIR: own,
      TMPDIR: own,
      CONTAINERS_STORAGE_CONF: join(own, "storage.conf"),
      CONTAINERS_CONF: join(own, "containers.conf"),
      BUILDAH_ISOLATION: "chroot",
    };
    const engine = ["--engine", "podman"];
    const built = await run(["build", ...engine, "--network", "host"], env);
    expect(built, built.stderr).toMatchObject({ status: 0 });
    expect((await run(["build", ...engine], env)).stderr).toContain("nothing to build");
    const id = project.lock().images[march]?.local?.id ?? "";
    expect((await run(["resolve", "--local"], env)).stdout).toBe(`${id}\n`);
    const inspected = await run(["inspect", id, ...engine], env);
    expect(inspected, inspected.stderr).toMatchObject({ status: 0 });
  } finally {
    remove();
  }
});
