/** One fleet with each engine that people have: the same files in the image, and the same commands after the build. */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
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
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { withDigest, parseImageReference } from "../../src/oci/reference.ts";
import { noCredentials } from "../../src/oci/registry/credentials.ts";
import { isDigest } from "../../src/oci/digest.ts";
import { needs } from "../support/needs.ts";
import { startBuilder, whyNoBuildkitd, whyNoBuildx, whyNoClient } from "./support/buildkitd.ts";
import { isolateStore, type StoreProgram, whyNoProgram } from "./support/containers-store.ts";
import { startEngine } from "./support/engine.ts";
import { whyNoDaemon } from "./support/program-version.ts";
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
    missing: whyNoClient(engineEnv),
    start: async () => ({ env: engineEnv, end: async () => {} }),
  },
  {
    name: "docker 29 with containerd's store",
    flags: [],
    keeps: "docker",
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
    let end = async () => {};
    beforeAll(async () => {
      const { env, remove } = await isolateStore("podman", process.env);
      const { DOCKER_HOST: _host, DOCKER_CONTEXT: _context, XDG_RUNTIME_DIR: _runtime, ...alone } = env;
      end = remove;
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
    });
  },
);
