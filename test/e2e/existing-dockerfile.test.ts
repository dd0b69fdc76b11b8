/**
 * Two open-source projects with Dockerfiles of their own become fleets: `init --from`, the lines that it names, nothing else; then built
 * for several marches and run. Their sources are fetched, checked by their digest, and never kept in the repository.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { pushRootfs, pushWithFolder, type Workshop } from "../../demo/image.ts";
import { capture } from "../../demo/process.ts";
import { toolsRootfs } from "../../demo/bases.ts";
import { makeRootfs } from "../../demo/rootfs.ts";
import { createUndo } from "../../demo/undo.ts";
import { applyEdits } from "../../src/fleet/init/draft.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { isShown, runSteps, stepsOf } from "../docs/support/console.ts";
import { blocksOf } from "../docs/support/markdown.ts";
import { whyNoBuildxPlugin } from "../support/buildx.ts";
import { needs } from "../support/needs.ts";
import { isLong } from "../support/long.ts";
import { cli, imgmatch, root } from "./support/program.ts";
import { workshopOf } from "./support/workshop.ts";

const stack = inject("stack");
const kept = join(root, ".imgmatch/e2e/sources");
const marches = ["x86-64-v2", "x86-64-v3", "haswell"];

interface Source {
  readonly name: string;
  /** Name and digest of the archive. */
  readonly archive: string;
  readonly digest: string;
  readonly fetch: (to: string) => void;
  readonly run: readonly string[];
  readonly says: RegExp;
}

/** A C++ program by the distribution's archive, and a Python package with compiled parts by pip: each has a Dockerfile of its authors. */
const sources: readonly Source[] = [
  {
    name: "jsonnet",
    archive: "jsonnet_0.18.0+ds.orig.tar.xz",
    digest: "sha256:ca10be5187483dc467282488097b46de4d352776df6b780a14624054f0527ba3",
    // apt's own downloader knows the machine's proxies and certificates.
    fetch: (to) => {
      const path = "pool/main/j/jsonnet/jsonnet_0.18.0+ds.orig.tar.xz";
      const args = ["download-file", `${distributionArchive()}${path}`, to];
      execFileSync("/usr/lib/apt/apt-helper", args, { stdio: "pipe", timeout: 60_000 });
    },
    run: ["-e", "{ answer: std.length('imgmatch') * 5 + 2 }"],
    says: /"answer": 42/,
  },
  {
    name: "pocketsphinx",
    archive: "pocketsphinx-5.0.4.tar.gz",
    digest: "sha256:17d2971e998490def9554b6ba41886708422af5b4ae888723b1b077aab0fe8d4",
    fetch: () => pip(["--no-deps", "--no-binary", "pocketsphinx", "pocketsphinx==5.0.4"], kept),
    run: ["python3", "-c", "import pocketsphinx; print(pocketsphinx.Decoder().get_logmath())"],
    says: /LogMath/,
  },
];

/** The place that this machine gets its packages from. */
function distributionArchive(): string {
  const text = execFileSync("apt-get", ["indextargets", "--format", "$(REPO_URI)"], { encoding: "utf8" });
  return text.split("\n").find((line) => /\/debian\/$/.test(line)) ?? "";
}

/** The packages that pip would fetch inside the image, for the Python of either release: builds of the tests have no network. */
const buildWheels = [
  "scikit-build-core==0.9.10",
  "Cython==3.0.12",
  "packaging==24.2",
  "pathspec==0.12.1",
  "pycparser==2.22",
  "sounddevice==0.5.1",
];

function pip(args: readonly string[], to: string): void {
  mkdirSync(kept, { recursive: true });
  // Newer ones refuse the package's own settings.
  const constraint = join(kept, "constraint.txt");
  writeFileSync(constraint, "scikit-build-core<0.10\n");
  execFileSync("python3", ["-m", "pip", "download", "--quiet", "--dest", to, ...args], {
    stdio: "pipe",
    timeout: 120_000,
    env: { ...process.env, PIP_CONSTRAINT: constraint },
  });
}

/** null where it lies here, else why it does not. */
function whyNot({ archive, digest, fetch }: Source): string | null {
  const path = join(kept, archive);
  try {
    mkdirSync(kept, { recursive: true });
    if (!existsSync(path)) fetch(path);
    const found = digestOf(readFileSync(path));
    return found === digest ? null : `${archive} is another than expected: ${found}`;
  } catch {
    return `${archive} cannot be fetched (make the distribution's archive and the Python package index reachable)`;
  }
}

const unavailable = !stack.available
  ? stack.reason
  : process.arch === "x64"
    ? null
    : "these marches are of x86-64 (run on such a machine)";

describe("A project's own Dockerfile becomes a fleet", needs(unavailable), () => {
  const undo = createUndo();
  const registry = stack.available ? stack.registry : "";
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  let base: string;
  let folder: string;

  beforeAll(async () => {
    if (unavailable !== null || !stack.available) return;
    folder = await mkdtemp(join(tmpdir(), "imgmatch-existing-"));
    base = await makeBase(workshopOf(stack, undo), folder);
  }, 900_000);

  afterAll(async () => {
    expect(await undo.all()).toEqual([]);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  it("in the README's first five minutes, command by command, without a registry and with one", {
    ...needs(unavailable ?? whyNoBuildxPlugin),
    timeout: 240_000,
  }, () => {
    const project = join(folder, "hello");
    const bin = join(folder, "bin");
    cpSync(join(root, "docs/examples/hello"), project, { recursive: true });
    mkdirSync(bin);
    // The bases are of a registry that is not in reach.
    const bases = ["gcc:12-bookworm", "debian:bookworm-slim"].map((name) => `--replace-base ${name}=${base}`);
    const given = [...bases, `--registry ${registry}`].join(" ");
    const script = `#!/bin/sh\ncase $1 in build) set -- "$@" ${given};; esac\nexec node ${cli} "$@"\n`;
    writeFileSync(join(bin, "imgmatch"), script, { mode: 0o755 });
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const [, section = ""] = /^## Five minutes\n([\s\S]*?)^## /m.exec(readme) ?? [];
    const steps = blocksOf({ path: "README.md", text: section }).flatMap((block) =>
      stepsOf(block?.text ?? ""),
    );
    expect(steps.map(({ command }) => command)).toEqual(
      expect.arrayContaining([
        "imgmatch run",
        "imgmatch build --push",
        'docker run --rm "$(imgmatch resolve)"',
      ]),
    );
    const printed = runSteps(steps, project, { ...env, PATH: `${bin}:${process.env.PATH}` }, 200_000);
    for (const [index, { command, shown }] of steps.entries()) {
      // Docker's own, where this machine forwards no packets.
      const lines = (printed[index] ?? []).filter((line) => !line.startsWith("WARNING: IPv4 forwarding"));
      if (process.env.UPDATE_DOCS) console.log([`$ ${command}`, ...lines].join("\n"));
      // How many images, and which, is this machine's CPU to say.
      const anywhere = shown.map((line) =>
        line
          .replace(
            /^\[.*|\b\d+ (?=cells?|images?|to build|built)|(?<=compiled for ).*|(?<=^sha256:).*|^localhost:5000.*/g,
            "…",
          )
          .replaceAll("……", "…"),
      );
      expect(isShown(anywhere, lines), [`$ ${command}`, ...lines].join("\n")).toBe(true);
    }
  });

  describe.each(sources)("$name", (source) => {
    const tooLong = !isLong ? "builds of minutes (IMGMATCH_LONG=1)" : null;
    const why = unavailable ?? tooLong ?? whyNot(source);

    it("by its argument lines alone, built for several marches and run", {
      ...needs(why),
      timeout: 1_200_000,
    }, async () => {
      const project = join(folder, source.name);
      await mkdir(project);
      const unpack = [
        "tar",
        "-xf",
        join(kept, source.archive),
        "-C",
        project,
        "--strip-components=1",
      ] as const;
      expect((await capture(unpack, {})).status).toBe(0);
      const run = (...args: readonly string[]) => imgmatch(args, { cwd: project, env });

      const init = await run(
        "init",
        "--from",
        "Dockerfile",
        "--name",
        source.name,
        "--registry",
        registry,
        "--json",
      );
      expect(init, init.stderr).toMatchObject({ status: 0 });
      const { edits } = JSON.parse(init.stdout);
      expect(edits.length).toBeLessThanOrEqual(2);
      const dockerfile = join(project, "Dockerfile");
      writeFileSync(dockerfile, applyEdits(readFileSync(dockerfile, "utf8"), edits));
      const matrix = join(project, "matrix.yaml");
      const edited = readFileSync(matrix, "utf8").replace(/march: \[.*\]/, `march: [${marches.join(", ")}]`);
      writeFileSync(matrix, edited);

      const replaced = ["--replace-base", `alpine:latest=${base}`];
      const built = await run("build", "--push", "--concurrency", "2", ...replaced);
      expect(built, built.stderr).toMatchObject({ status: 0 });
      const lock = parseLock(readFileSync(join(project, "images/imgmatch.lock.json"), "utf8"), "lock");
      expect(Object.keys(lock.images).sort()).toEqual([...marches].sort());
      expect(new Set(Object.values(lock.images).map(({ digest }) => digest)).size).toBe(marches.length);

      // The march has reached the compiler: the code of the newer ones uses what the older one does not have.
      const unused = (cell: string) => lock.images[cell]?.measured?.cpu.unused ?? [];
      expect(lock.images["x86-64-v3"]?.measured).toBeDefined();
      expect(unused("x86-64-v3")).not.toContain("avx");
      expect(unused("haswell")).not.toContain("avx");
      for (const cell of marches) {
        const reference = `${lock.repository}@${lock.images[cell]?.digest}`;
        const ran = await capture(["docker", "run", "--rm", "--network", "none", reference, ...source.run], {
          env,
        });
        expect(ran.stdout, `${cell}: ${ran.stderr}`).toMatch(source.says);
      }
      const again = await run("plan", "--offline", ...replaced);
      expect(again.stdout).toContain(`${marches.length} cells: 0 to build, ${marches.length} unchanged`);
    });
  });
});

/** In place of Alpine: the distribution's own packages, with an `apk` that finds them there. */
async function makeBase(workshop: Workshop, folder: string): Promise<string> {
  const packages = ["cmake", "ninja-build", "pkg-config", "python3-dev", "python3-pip"];
  const python = { name: "tools-python", packages: [...toolsRootfs.packages, ...packages] };
  const [tools] = await makeRootfs([isLong ? python : toolsRootfs], workshop.context);
  if (tools === undefined) throw new Error("no base image: debootstrap needs Debian or Ubuntu as root");
  const plain = await pushRootfs("tools", tools.path, workshop);
  const more = join(folder, "more");
  await mkdir(join(more, "usr/local/bin"), { recursive: true });
  await writeFile(join(more, "usr/local/bin/apk"), "#!/bin/sh\necho 'these packages are in the base'\n");
  await chmod(join(more, "usr/local/bin/apk"), 0o755);
  // The C++ project is of before gcc 13, whose headers name fixed-width integers no more by themselves.
  await writeFile(join(more, "usr/local/bin/g++"), '#!/bin/sh\nexec /usr/bin/g++ -include cstdint "$@"\n');
  await chmod(join(more, "usr/local/bin/g++"), 0o755);
  if (isLong) await fetchWheels(join(more, "wheels"));
  const reference = `${workshop.registry.address}/base/tools-apk:1`;
  // Alpine looks for libraries there by itself.
  const environment = ["PIP_NO_INDEX=1", "PIP_FIND_LINKS=/wheels", "LD_LIBRARY_PATH=/usr/local/lib"];
  await pushWithFolder(reference, { base: plain, folder: more, target: "/", environment }, workshop);
  return reference;
}

async function fetchWheels(to: string): Promise<void> {
  const wheels = ["--no-deps", "--only-binary=:all:", "--python-version"];
  try {
    pip(
      [...wheels, "3.11", "--implementation", "py", "--abi", "none", "--platform", "any", ...buildWheels],
      to,
    );
    for (const version of ["3.11", "3.13"])
      pip([...wheels, version, "--platform", "manylinux2014_x86_64", "cffi==1.17.1"], to);
  } catch {
    // Then the Python package cannot be fetched either, and says so.
    await mkdir(to, { recursive: true });
  }
}
