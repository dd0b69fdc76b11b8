/** ImageFleet in programs, on real parts: pulumi programs, both plug-ins, an engine, a builder and registries. */

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as docker from "@pulumi/docker";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { findProgram } from "../../src/io/run-program.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { ImageFleet, type ImageFleetArgs } from "../../src/pulumi/image-fleet.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { readImageConfig } from "../../src/oci/registry/platform-image.ts";
import { needs } from "../support/needs.ts";
import { whyNoGcc } from "../support/programs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { isLong } from "../support/long.ts";
import { createProject, type Project } from "./support/project.ts";
import { type RunningBuilder, startBuilder } from "./support/buildkitd.ts";
import {
  describePulumi,
  inlineStack,
  pathWith,
  pulumiPrograms,
  resourcesOf,
  whyNoDockerBuild,
  whyNoDockerPlugin,
} from "./support/pulumi.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";
import { servedBlobs } from "./support/served-blobs.ts";

const parts = inject("stack");
const whyNotLong = "two minutes more (IMGMATCH_LONG=1)";
const engineEnv = parts.available ? parts.engineEnv : {};
const reason = parts.available ? whyNoBusybox : parts.reason;
const marches = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64-v2", "x86-64-v3"];

const whyNoX86 = process.arch === "arm64" ? "no x86-64 CPU" : null;

/** A library for Haswell that never asks the CPU. */
function compileBeyond(folder: string): void {
  const source =
    "void fma3(float *a, const float *b, int n) { for (int i = 0; i < n; i++) a[i] += b[i] * b[i]; }";
  const to = join(folder, "templates/app/libapp.so");
  const options = ["-O3", "-march=haswell", "-mneeded", "-shared", "-fPIC", "-x", "c", "-", "-o", to];
  execFileSync("gcc", options, { input: source });
}

const providers = {
  docker: { imageType: "docker:index/image:Image", reason: reason ?? whyNoDockerPlugin },
  "docker-build": {
    imageType: "docker-build:index:Image",
    // Beside the other provider only where there is the time.
    reason: isLong || whyNoDockerPlugin !== null ? (reason ?? whyNoDockerBuild(engineEnv)) : whyNotLong,
  },
} as const;
/** Each pulumi with both providers. */
const machines = pulumiPrograms.flatMap((program) =>
  (["docker", "docker-build"] as const).map((provider) => ({ program, provider, ...providers[provider] })),
);

for (const { program, provider, imageType, reason: missing } of machines) {
  describe(`ImageFleet in a program, by ${provider} with ${program}`, needs(missing), () => {
    // An image of the same inputs that another provider or pulumi has pushed would be adopted.
    const registry = parts.available
      ? `${parts.registry}/${provider}-${pulumiPrograms.indexOf(program)}`
      : "";
    let builder: RunningBuilder | null = null;
    const path = process.env.PATH;
    const client = createRegistryClient();
    const projects: Project[] = [];
    const registries: RunningRegistry[] = [];

    const means = (): Pick<ImageFleetArgs, "provider" | "builder"> => ({
      provider,
      ...(builder === null ? {} : { builder: builder.name }),
    });
    function project(name: string, rest = `base: scratch\naxes:\n  march: [${marches.join(", ")}]`): Project {
      const made = createProject({ registry, name, env: process.env });
      projects.push(made);
      made.matrix(rest);
      made.write("state/.keep", "");
      return made;
    }
    /** A stack with one fleet, whose arguments may change from update to update. */
    const stackOf = (made: Project, args: () => Partial<ImageFleetArgs> = () => ({})) =>
      inlineStack(made.folder, "dev", async () => {
        const fleet = new ImageFleet("fleet", {
          ...means(),
          matrix: join(made.folder, "matrix.yaml"),
          ...args(),
        });
        return { references: fleet.references, lock: fleet.lock };
      });
    const lockIn = ({ lock }: { readonly [name: string]: { readonly value: unknown } }) =>
      parseLock(JSON.stringify(lock?.value), "lock");
    const dropFromRegistry = async (reference: string) => {
      const [name = "", digest] = reference.split("@");
      const { status } = await fetch(`http://${name.replace("/", "/v2/")}/manifests/${digest}`, {
        method: "DELETE",
      });
      expect(status).toBe(202);
    };

    beforeAll(async () => {
      Object.assign(process.env, engineEnv);
      process.env.PATH = pathWith(program);
      console.log(`${provider}: ${describePulumi(program)}`);
      if (provider === "docker-build") builder = await startBuilder(engineEnv);
      for (const name of Object.keys(process.env))
        if (/^PULUMI_(BACKEND|CONFIG|STACK|ACCESS)/.test(name)) delete process.env[name];
    });
    afterAll(async () => {
      for (const made of projects) made.remove();
      await Promise.all([...registries, ...(builder === null ? [] : [builder])].map(({ stop }) => stop()));
      process.env.PATH = path;
    });

    it("builds in a folder that the Automation API makes, is not seen by git, and has its outputs in the state", async () => {
      const made = project("program-default");
      execFileSync("git", ["init", "-q"], { cwd: made.folder });
      const stack = await stackOf(made);
      const first = await stack.up();
      expect(first.summary.resourceChanges).toEqual({ create: 4 });
      expect((await stack.up()).summary.resourceChanges).toEqual({ same: 4 });
      const seen = execFileSync("git", ["status", "--porcelain", "-uall"], {
        cwd: made.folder,
        encoding: "utf8",
      });
      expect(seen).not.toContain("contexts");
      const component = (await resourcesOf(stack)).find(({ type }) => type === "imgmatch:index:ImageFleet");
      expect(component?.outputs.references).toEqual(first.outputs.references?.value);
      expect(component?.outputs.lock).toEqual(first.outputs.lock?.value);
      // A StackReference gives another program a lock.
      expect(Object.keys(lockIn(first.outputs).images)).toEqual(marches);
    });

    it("locks what `imgmatch build` locks, but for what each build has anew, and labels its images as it does", async () => {
      const made = project("program-same-inputs");
      const lock = lockIn((await (await stackOf(made)).up()).outputs);
      const ran = await made.run("build", "--push", "--registry", `${registry}/built`);
      expect(ran.status, ran.stderr).toBe(0);
      const own = ({ images }: Lock) =>
        Object.entries(images).map(
          ([cell, { digest, manifest, builder, created, size, blobs, buildSeconds, ...rest }]) => [
            cell,
            { ...rest, blobs: Object.keys(blobs ?? {}).length },
          ],
        );
      expect(own(lock)).toEqual(own(made.lock()));
      for (const [cell, image] of Object.entries(lock.images)) {
        const reference = parseImageReference(`${lock.repository}@${image.digest}`);
        const labels = (await readImageConfig(client, reference, image.platform))?.config.labels;
        expect(labels?.["dev.imgmatch.inputs"], cell).toBe(image.inputDigest);
        expect(JSON.parse(labels?.["dev.imgmatch.requires"] ?? ""), cell).toEqual(image.requires);
        expect(image.blobs, cell).toEqual(await servedBlobs(lock.repository, image.digest ?? ""));
      }
    });

    it("gives every instruction the build context that `imgmatch build` gives", async () => {
      const made = project("program-context", `base: scratch\naxes:\n  march: [${marches[0]}]`);
      await addBusybox(join(made.folder, "templates"));
      made.write("templates/lib/deep/file", "file\n");
      made.write("templates/.hidden", "hidden\n");
      symlinkSync("lib/deep/file", join(made.folder, "templates/link"));
      chmodSync(join(made.folder, "templates/lib/deep/file"), 0o700);
      const find = "busybox find /all /any /list /mounted";
      made.write(
        "templates/app.Dockerfile.hbs",
        `FROM {{base}}\nCOPY bin /bin\nCOPY . /all/\nCOPY * /any/\nCOPY ["lib", "./", "/list/"]\n` +
          `RUN --mount=type=bind,target=/mounted (${find} -exec busybox stat -c '%n %F %a %u' {} + && ${find} ! -type d -exec busybox stat -c '%n %s %Y' {} +) > /seen\n`,
      );
      const seenIn = (reference: string) => {
        const command = ["run", "--rm", "--network", "none", reference, "/bin/busybox", "cat", "/seen"];
        return execFileSync("docker", command, { encoding: "utf8" }).trim().split("\n").sort();
      };
      process.env.SOURCE_DATE_EPOCH = "1700000000";
      try {
        const { outputs } = await (await stackOf(made)).up();
        const [reference = ""] = Object.values(outputs.references?.value as Record<string, string>);
        const seen = seenIn(reference);
        const ran = await made.run("build", "--registry", `${registry}/built`);
        expect(ran.status, ran.stderr).toBe(0);
        const [image] = Object.values(made.lock().images);
        expect(seen).toEqual(seenIn(`${made.lock().repository}:${image?.tag}`));
        for (const folder of ["all", "list", "mounted"]) {
          expect(seen).toContain(`/${folder}/lib/deep/file regular file 755 0`);
          expect(seen).toContain(`/${folder}/link symbolic link 777 0`);
        }
        expect(seen).toContain("/any/.hidden regular file 644 0");
        expect(seen).toContain("/all/content 6 1700000000");
        expect(seen.join("\n")).not.toMatch(/imgmatch|Dockerfile/);
      } finally {
        delete process.env.SOURCE_DATE_EPOCH;
      }
    });

    it("opens its images: the lock says what the files showed", needs(whyNoX86), async () => {
      const lock = lockIn((await (await stackOf(project("program-opened"))).up()).outputs);
      expect(lock.images[marches[1] ?? ""]?.measured?.cpu.unused).toContain("avx2");
    });

    it.each([
      ["before anybody sees it, where nothing is pushed", false],
      ["after its push, as the provider does both in one step", true],
    ])(
      "ends at an image that is not what it is declared to be: %s",
      needs(whyNoX86 ?? whyNoGcc()),
      async (_, push) => {
        const liar = project(`program-liar-${push}`, "base: scratch\naxes:\n  march: [x86-64-v2]");
        liar.write(
          "templates/app.Dockerfile.hbs",
          "FROM {{base}}\nCOPY app /app\nENV MARCH={{march.name}}\n",
        );
        liar.write("templates/app/.keep", "");
        compileBeyond(liar.folder);
        const stack = await stackOf(liar, () => ({ push }));
        await expect(stack.up()).rejects.toThrow(/AUDIT_CPU_BEYOND_MARCH: \/app\/libapp\.so needs .*avx/);
        expect((await stack.outputs()).lock).toBeUndefined();
        const tags: string[] = [];
        for await (const tag of client.listTags(parseImageReference(liar.repository))) tags.push(tag);
        expect(tags).toHaveLength(push ? 1 : 0);
      },
    );

    it("replaces what a template changes, and refuses a tag that holds something else", async () => {
      const made = project("program-conflict");
      const stack = await stackOf(made);
      await stack.up();
      const template = made.read("templates/app.Dockerfile.hbs");
      made.write(
        "templates/app.Dockerfile.hbs",
        `${template}{{#if (eq march.name "${marches[0]}")}}\nENV FIRST=1\n{{/if}}\n`,
      );
      expect((await stack.up()).summary.resourceChanges).toEqual({ replace: 1, same: 3 });
      const axes = `base: scratch\naxes:\n  march: [${marches.join(", ")}]`;
      made.matrix(axes, { tag: "{{version}}-{{cell}}" });
      expect((await stack.up()).summary.resourceChanges).toEqual({ replace: 2, same: 2 });
      made.write("templates/content", "other inputs\n");
      await expect(stack.up()).rejects.toThrow(/TAG_CONFLICT[\s\S]*TAG_CONFLICT/);
    });

    const whyNoVolume = provider === "docker" ? null : whyNoDockerPlugin;
    it(
      "publishes to a registry that another resource of the program makes, which a preview does not know yet",
      needs(whyNoVolume),
      async () => {
        const made = project("program-same");
        const stack = await inlineStack(made.folder, "dev", async () => {
          // Stands for whatever makes a registry: its address is known when it is there.
          const volume = new docker.Volume("registry-data");
          const publishTo = volume.mountpoint.apply(async () => {
            if (registries.length === 0) registries.push(await startRegistry());
            return `${registries[0]?.host}/team`;
          });
          const fleet = new ImageFleet(
            "fleet",
            { ...means(), matrix: join(made.folder, "matrix.yaml"), publishTo },
            { dependsOn: [volume] },
          );
          return { references: fleet.references };
        });
        const { changeSummary } = await stack.preview();
        expect(changeSummary).toEqual({ create: 5 });
        expect(registries).toEqual([]);
        const { outputs, summary } = await stack.up();
        expect(summary.resourceChanges).toEqual({ create: 5 });
        const references = Object.values(outputs.references?.value as Record<string, string>);
        expect(references).toHaveLength(2);
        for (const reference of references) {
          expect(reference).toContain(`${registries[0]?.host}/team/program-same@sha256:`);
          expect(await client.findManifest(parseImageReference(reference))).not.toBeNull();
        }
        expect((await stack.up()).summary.resourceChanges).toEqual({ same: 5 });
        expect((await stack.destroy()).summary.result).toBe("succeeded");
      },
    );

    it("builds all images again that the registry has lost, as the preview says", async () => {
      const made = project("program-lost");
      const stack = await stackOf(made);
      const first = (await stack.up()).outputs;
      for (const reference of Object.values(first.references?.value as Record<string, string>))
        await dropFromRegistry(reference);
      expect((await stack.preview()).changeSummary).toEqual({ replace: 2, same: 2 });
      const { outputs, summary, stdout } = await stack.up();
      expect(stdout).toContain("does not have 2 images any more that this stack has pushed");
      expect(summary.resourceChanges).toEqual({ replace: 2, same: 2 });
      for (const reference of Object.values(outputs.references?.value as Record<string, string>))
        expect(await client.findManifest(parseImageReference(reference))).not.toBeNull();
      expect((await stack.up()).summary.resourceChanges).toEqual({ same: 4 });
    });

    it("takes a new password into the state of unchanged images, and builds nothing", async () => {
      const made = project("program-password");
      let password = "the old one";
      const stack = await stackOf(made, () => ({ registry: { username: "ci", password } }));
      await stack.up();
      password = "the new one";
      expect((await stack.up()).summary.resourceChanges).toEqual({ same: 4 });
      // An export of the Automation API shows secrets.
      const images = (await resourcesOf(stack)).filter(({ type }) => type === imageType);
      expect(images).toHaveLength(2);
      for (const { inputs } of images) expect(JSON.stringify(inputs)).toContain("the new one");
      expect(made.read("state/.pulumi/stacks/platform/dev.json")).not.toMatch(/the (old|new) one/);
    });

    it("has references and lock of the others where one image fails and the update goes on", async () => {
      const made = project("program-failing");
      await addBusybox(join(made.folder, "templates"));
      made.write(
        "templates/app.Dockerfile.hbs",
        `FROM {{base}}\nCOPY bin /bin\nENV MARCH={{march.name}}\n{{#if (eq march.name "${marches[1]}")}}\nRUN busybox false\n{{/if}}\n`,
      );
      const stack = await stackOf(made);
      await expect(stack.up({ continueOnError: true })).rejects.toThrow(/busybox false/);
      const outputs = await stack.outputs();
      expect(Object.keys(outputs.references?.value ?? {})).toEqual([marches[0]]);
      const images = (outputs.lock?.value as Lock | undefined)?.images;
      expect(images?.[marches[0] ?? ""]?.digest).toMatch(/^sha256:/);
      expect(images?.[marches[1] ?? ""]?.digest ?? null).toBeNull();
    });

    it("has no outputs where one image fails and the update ends, and builds nothing twice that was pushed", async () => {
      const made = project("program-ended");
      await addBusybox(join(made.folder, "templates"));
      const template = (step: string) =>
        made.write(
          "templates/app.Dockerfile.hbs",
          `FROM {{base}}\nCOPY bin /bin\nENV MARCH={{march.name}}\n{{#if (eq march.name "${marches[1]}")}}\n${step}\n{{/if}}\n`,
        );
      template("RUN busybox sleep 3 && busybox false");
      const stack = await stackOf(made);
      await expect(stack.up()).rejects.toThrow(/busybox false/);
      // Pulumi ends the program before it gives any: see docs/pulumi.md.
      expect(await stack.outputs()).toEqual({});
      template("RUN busybox true");
      const { outputs, summary } = await stack.up();
      expect(summary.resourceChanges).toEqual({ create: 1, same: 3 });
      expect(Object.keys(outputs.references?.value ?? {})).toEqual(marches);
    });

    it("pushes to a registry with a login, from a base that only this login may read", async () => {
      // htpasswd -nbBC 5 builder open-sesame
      const htpasswd = "builder:$2b$05$KHl6yQErIvdYKXbhAvK.nOrySt45thXFEimscpX3CKQBTadQY1nru\n";
      const closed = await startRegistry({ htpasswd });
      registries.push(closed);
      const login = { username: "builder", password: "open-sesame" };
      const base = project("program-base", `base: scratch\naxes:\n  march: [${marches[0]}]`);
      const bases = await stackOf(base, () => ({ publishTo: closed.host, registry: login }));
      const [reference = ""] = Object.values(
        (await bases.up()).outputs.references?.value as Record<string, string>,
      );
      const made = project(
        "program-login",
        `base: ${reference.split("@")[0]}:base\naxes:\n  march: [${marches.join(", ")}]`,
      );
      await tagAs(closed.host, reference, "base", login);
      const stack = await stackOf(made, () => ({ publishTo: closed.host, registry: login }));
      const { outputs, summary } = await stack.up();
      expect(summary.resourceChanges).toEqual({ create: 4 });
      expect(Object.values(outputs.references?.value as object)).toHaveLength(2);
    });

    /** Another tag for what a registry holds. */
    async function tagAs(
      host: string,
      reference: string,
      tag: string,
      login: { username: string; password: string },
    ) {
      const authorization = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
      const [name = "", digest = ""] = reference.slice(host.length + 1).split("@");
      const url = (end: string) => `http://${host}/v2/${name}/manifests/${end}`;
      const accept =
        "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json";
      const found = await fetch(url(digest), { headers: { authorization, accept } });
      const type = found.headers.get("content-type") ?? "";
      const put = {
        method: "PUT",
        headers: { authorization, "content-type": type },
        body: await found.arrayBuffer(),
      };
      expect((await fetch(url(tag), put)).status).toBe(201);
    }

    describe("that `pulumi up` runs in a project of its own", needs(whyNoLanguageHost()), () => {
      let folder: string;
      let made: Project;
      const root = join(import.meta.dirname, "../..");

      beforeAll(() => {
        made = project("program-outside");
        folder = mkdtempSync(join(tmpdir(), "imgmatch-outside-"));
        mkdirSync(join(folder, "node_modules"));
        mkdirSync(join(folder, "state"));
        symlinkSync(root, join(folder, "node_modules/imgmatch"));
        symlinkSync(join(root, "node_modules/@pulumi"), join(folder, "node_modules/@pulumi"));
        writeFileSync(
          join(folder, "package.json"),
          '{ "name": "outside", "type": "module", "main": "index.js" }\n',
        );
        writeFileSync(
          join(folder, "Pulumi.yaml"),
          `name: outside\nruntime: { name: nodejs, options: { typescript: false } }\nbackend: { url: "file://${folder}/state" }\n`,
        );
        writeFileSync(
          join(folder, "index.js"),
          `import { ImageFleet } from "imgmatch/pulumi";\nconst fleet = new ImageFleet("fleet", { matrix: ${JSON.stringify(join(made.folder, "matrix.yaml"))}, ...${JSON.stringify(means())} });\nexport const { references, lock } = fleet;\n`,
        );
      });
      afterAll(() => rmSync(folder, { recursive: true, force: true }));

      const run = (...args: string[]) => {
        const { status, stdout, stderr } = spawnSync("pulumi", [...args, "--non-interactive"], {
          cwd: folder,
          env: { ...process.env, PULUMI_CONFIG_PASSPHRASE: "test", PULUMI_SKIP_UPDATE_CHECK: "true" },
          encoding: "utf8",
        });
        return { status, text: stdout + stderr };
      };

      it("makes its images with paths that any checkout has, keeps them, and destroys them", () => {
        expect(run("stack", "init", "dev").status).toBe(0);
        const first = run("up", "--yes", "--json");
        expect(first.status, first.text).toBe(0);
        const references = JSON.parse(run("stack", "output", "references", "--json").text);
        expect(Object.keys(references)).toEqual(marches);
        const state = JSON.parse(run("stack", "export").text).deployment.resources;
        for (const { inputs } of state.filter(({ type }: { type: string }) => type === imageType))
          expect((inputs.build?.dockerfile ?? inputs.dockerfile.location) as string).toMatch(/^\.\.\//);
        expect(run("up", "--yes").text).toMatch(/4 unchanged/);
      });

      it("says what is wrong", () => {
        const good = made.read("matrix.yaml");
        made.matrix("base: scratch\naxes:\n  march: [no-such-cpu]");
        const { status, text } = run("preview");
        made.write("matrix.yaml", good);
        expect(status).not.toBe(0);
        expect(text).toContain("MATRIX_VALUE_UNKNOWN");
        expect(text).not.toContain("    at ");
      });

      it("destroys its stack", () => {
        expect(run("destroy", "--yes").status).toBe(0);
      });
    });
  });
}

function whyNoLanguageHost(): string | null {
  if (findProgram("pulumi-language-nodejs", process.env) !== null) return null;
  return "no pulumi-language-nodejs, which comes with pulumi (curl -fsSL https://get.pulumi.com | sh)";
}
