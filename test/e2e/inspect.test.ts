/** One image, built in a real engine, opened wherever it can lie and however it is packed: the answer is the same. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { InspectOptions } from "../../src/inspect/inspect-subjects.ts";
import { inspectOne } from "../inspect/support/inspect-one.ts";
import type { ImageInspection } from "../../src/inspect/inspection.ts";
import { gpuFile, gzipped, makeImage, makeTar } from "../inspect/support/make-image.ts";
import { makeLayout } from "../inspect/support/make-layout.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { cli, imgmatch } from "./support/program.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { whyNoGcc } from "../support/programs.ts";

const stack = inject("stack");
const engineEnv = stack.available ? stack.engineEnv : {};
const env = { ...process.env, ...engineEnv };
const options = { platform: "linux/amd64", cache: false } as const;
const tag = `${stack.available ? stack.registry : ""}/inspect/app:1`;
const whyNoX86 = process.arch === "x64" ? null : "no x86-64 CPU";

const dockerfile = `FROM scratch
COPY bin /bin
COPY app /app
RUN ln -s app /opt && rm /app/gone.fatbin && mv /app/moved.fatbin /opt/here.fatbin
COPY late /app
ENTRYPOINT ["/app/fma"]
`;
const program = `#include <stddef.h>
#include <stdio.h>
__attribute__((noinline)) void fma3(float *restrict a, const float *b, const float *c, size_t n) {
  for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
int main(int n, char **v) {
  float a[64] = {0}, b[64] = {1};
  fma3(a, b, b, 64);
  printf("%f\\n", a[n]);
}
`;

/** The part of an answer that must not depend on where the image is stored. */
function content({ cpu, gpu, driver, requires, unopened, files }: ImageInspection) {
  const anywhere = <Place extends { readonly layer: number }>({ layer: _, ...rest }: Place) => rest;
  return { cpu, gpu, driver, requires, unopened: unopened.map(anywhere), files: files.map(anywhere) };
}

describe(
  "an image is the same wherever it is",
  needs(stack.available ? whyNoBusybox : stack.reason, whyNoGcc(), whyNoX86),
  () => {
    let work = "";
    let podman: ContainersStore | null = null;
    let first: ImageInspection;
    const path = (name: string) => join(work, name);
    const run = (command: string, args: readonly string[], environment: NodeJS.ProcessEnv = env) =>
      execFileSync(command, args, { env: environment, cwd: work, stdio: "pipe", maxBuffer: 2 ** 28 });
    const expectSame = async (name: string, source: string, from?: "engine" | "registry") => {
      const found = await inspectOne(name, { ...options, ...(from && { from }) }, { env });
      expect(found.source).toBe(source);
      expect(content(found)).toEqual(content(first));
      return found;
    };
    const skopeo = (...args: readonly string[]) =>
      run("skopeo", [
        "--insecure-policy",
        "copy",
        "-q",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
        ...args,
      ]);

    beforeAll(async () => {
      work = mkdtempSync(join(tmpdir(), "imgmatch-inspect-"));
      const context = path("context");
      await addBusybox(context);
      mkdirSync(join(context, "app"));
      mkdirSync(join(context, "late"));
      writeFileSync(path("fma.c"), program);
      run("gcc", ["-O3", "-march=haswell", "fma.c", "-o", join(context, "app/fma")]);
      writeFileSync(join(context, "app/replaced.fatbin"), gpuFile(70));
      writeFileSync(join(context, "app/gone.fatbin"), gpuFile(75));
      writeFileSync(join(context, "app/moved.fatbin"), gpuFile(80));
      // Of another length: BuildKit takes a file of the same time and length for the one that was there.
      writeFileSync(join(context, "late/replaced.fatbin"), Buffer.concat([gpuFile(90), Buffer.alloc(8)]));
      writeFileSync(join(context, "late/more.tgz"), gzipped(makeTar([{ path: "x", content: gpuFile(120) }])));
      writeFileSync(path("Dockerfile"), dockerfile);
      run("docker", ["build", "-q", "-t", tag, "-f", "Dockerfile", "context"]);
      run("docker", ["push", "-q", tag]);
      run("docker", ["save", "-o", "saved.tar", tag]);
      first = await inspectOne(tag, { ...options, from: "engine" }, { env });
      if (whyNoProgram("podman") === null) podman = await isolateStore("podman", process.env);
    });
    afterAll(async () => {
      await podman?.remove();
      rmSync(work, { recursive: true, force: true, maxRetries: 5 });
    });

    it("and what was built is found, no more and no less", () => {
      const { files, cpu, gpu, layers, platform } = first;
      expect(files.map(({ path }) => path)).toEqual([
        "/app/fma",
        "/app/here.fatbin",
        "/app/more.tgz!/x",
        "/app/replaced.fatbin",
        "/bin/busybox",
      ]);
      expect(gpu?.targets.map(({ target }) => target)).toEqual(["sm_80", "sm_90", "sm_120"]);
      // Every path of its main uses AVX.
      expect(cpu.features).toMatchObject({ avx: "needed", fma: "compiledFor" });
      expect(layers).toHaveLength(4);
      expect(platform).toBe("linux/amd64");
    });

    it("in the registry, without the engine", async () => {
      const found = await expectSame(tag, "registry", "registry");
      expect(found.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    });

    it("in an archive of docker save", () => expectSame(path("saved.tar"), "archive"));

    it("by the program, with a thread for each processor and with none", async () => {
      for (const processors of [[], ["taskset", "-c", "0"]]) {
        const [command = "", ...args] = [...processors, process.execPath, cli];
        const out = run(command, [...args, "inspect", "saved.tar", "--json", "--no-cache"]);
        const { subjects } = JSON.parse(out.toString()) as { readonly subjects: readonly ImageInspection[] };
        expect(subjects.map(content)).toEqual([content(first)]);
      }
    });

    it.each(["registry", "engine"] as const)("held against what it promises, in the %s", async (from) => {
      const gate = (words: string) =>
        imgmatch(["inspect", tag, "--from", from, "--no-cache", "--expect", words], { cwd: work, env });
      expect(await gate("sm_80 sm_120 !sm_75 march<=haswell")).toMatchObject({
        status: 0,
        stdout: `as expected: ${tag}\n`,
      });
      const failed = await gate("sm_80 sm_75 !sm_90 march<=x86-64-v2");
      expect(failed.status).toBe(1);
      expect(failed.stdout).toMatch(/^not as expected: .*\n {2}EXPECTED /);
      for (const line of [
        /^ {2}sm_75 +sm_80 sm_90 sm_120$/m,
        /^ {2}!sm_90 +sm_90 +\/app\/replaced\.fatbin$/m,
        /^ {2}march<=x86-64-v2 .*\/app\/fma$/m,
      ])
        expect(failed.stdout).toMatch(line);
    });

    it("in a folder with the container's files", async () => {
      const id = run("docker", ["create", tag]).toString().trim();
      run("docker", ["export", "-o", "root.tar", id]);
      run("docker", ["rm", id]);
      mkdirSync(path("root"));
      run("tar", ["-x", "-C", "root", "-f", "root.tar"]);
      const found = await inspectOne(path("root"), options, { env });
      expect(content(found)).toEqual(content(first));
    });

    describe("by skopeo", needs(whyNoProgram("skopeo")), () => {
      it("in an OCI layout", async () => {
        skopeo("docker-archive:saved.tar", "oci:layout:1");
        await expectSame(path("layout"), "layout");
      });

      it("in an OCI archive", async () => {
        skopeo("docker-archive:saved.tar", "oci-archive:oci.tar:1");
        await expectSame(path("oci.tar"), "archive");
      });

      it("with layers of zstd, in a layout and in the registry", async () => {
        const zstd = ["--dest-compress-format", "zstd", "--format", "oci"] as const;
        skopeo(...zstd, "--dest-compress", "docker-archive:saved.tar", "oci:zstd:1");
        const manifest = run("skopeo", ["inspect", "--raw", "oci:zstd:1"]).toString();
        expect(manifest).toContain("tar+zstd");
        await expectSame(path("zstd"), "layout");
        const packed = tag.replace(/:1$/, ":zstd");
        skopeo(...zstd, "oci:zstd:1", `docker://${packed}`);
        await expectSame(packed, "registry", "registry");
      });
    });

    describe("by Podman", needs(whyNoProgram("podman")), () => {
      it.each(["docker-archive", "oci-archive", "oci-dir"])("as %s", { timeout: 240_000 }, async (format) => {
        const own = podman?.env ?? {};
        // Podman's helpers lie beside it.
        const environment = { ...own, PATH: process.env.PATH };
        run("podman", ["load", "-q", "-i", "saved.tar"], environment);
        const name = `podman-${format}`;
        run("podman", ["save", "-q", "--format", format, "-o", name, tag], environment);
        await expectSame(path(name), format === "oci-dir" ? "layout" : "archive");
      });
    });

    it(
      "by BuildKit, with layers of zstd",
      needs(stack.available ? whyNoBuildx(engineEnv) : null, whyNoBuildkitd()),
      async () => {
        const builder = await startBuilder(engineEnv);
        try {
          const output = "type=oci,compression=zstd,force-compression=true,dest=buildkit.tar";
          const flags = ["--builder", builder.name, "--output", output, "--provenance=false"];
          run("docker", ["buildx", "build", ...flags, "-f", "Dockerfile", "context"]);
          await expectSame(path("buildkit.tar"), "archive");
        } finally {
          await builder.stop();
        }
      },
    );

    it("and each of its layers is opened once", async () => {
      // A layer that is opened tells of its bytes piece by piece, one that was opened before of all at once.
      const pieces = async () => {
        const steps = new Set<string>();
        let [layers, bytes] = [0, 0];
        const onEvent: InspectOptions["onEvent"] = (event) => {
          if (event.type !== "open") return;
          steps.add(`${event.layer} ${event.bytes}`);
          [layers, bytes] = [event.layers ?? 0, event.bytes];
        };
        const found = await inspectOne(
          tag,
          { platform: "linux/amd64", from: "registry", onEvent },
          { env: { ...env, XDG_CACHE_HOME: path("cache") } },
        );
        expect(content(found)).toEqual(content(first));
        expect(bytes).toBeGreaterThan(1_000_000);
        return steps.size - (layers + 1);
      };
      expect(await pieces()).toBeGreaterThan(0);
      expect(await pieces()).toBe(0);
    });
  },
);

const whyNoProc = process.platform === "linux" ? null : "no /proc";

describe("a program that is interrupted while threads open files", needs(whyNoProc), () => {
  it("ends at once, with 130, and leaves no file behind", async () => {
    const spools = makeFolder({});
    const file = readFileSync(process.execPath);
    const image = makeImage([makeTar(["1", "2", "3", "4"].map((path) => ({ path, content: file })))]);
    const child = spawn(process.execPath, [cli, "inspect", makeLayout(image), "--no-cache"], {
      env: { ...process.env, TMPDIR: spools },
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    const opened = `/proc/${child.pid}/fd`;
    const holdsSpool = () =>
      readdirSync(opened).some((name) => {
        try {
          return readlinkSync(join(opened, name)).startsWith(spools);
        } catch {
          // Closed since.
          return false;
        }
      });
    while (!holdsSpool()) await setTimeout(10);
    child.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(spools)).toEqual([]);
  });
});
