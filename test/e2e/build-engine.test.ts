/** The Docker engine, publishing and the scheduler against a real engine and a real registry. */

import { setMaxListeners } from "node:events";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { BuildRequest, Engine } from "../../src/fleet/engines/engine.ts";
import { createDockerEngine } from "../../src/fleet/engines/docker/docker-engine.ts";
import type { BuildEvent } from "../../src/fleet/engines/built-cell.ts";
import type { BuildJob } from "../../src/fleet/engines/jobs.ts";
import { buildJobs } from "../../src/fleet/run/build-cells.ts";
import { connectDocker } from "../../src/oci/engine/api.ts";
import type { ContextEntry } from "../../src/fleet/context/context.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { type ImageReference, parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { publishImage } from "../../src/fleet/publish/publish-image.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { storedCredentials } from "../../src/oci/registry/credentials.ts";
import { readImageConfig } from "../../src/oci/registry/platform-image.ts";
import { contextEntries } from "../support/context-entries.ts";
import { startRegistry } from "./support/registry.ts";
import { startTokenServer } from "./support/token-server.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const busybox = "/bin/busybox";
const hasBusybox = await readFile(busybox).then(
  () => true,
  () => false,
);
const reason = stack.available
  ? hasBusybox
    ? null
    : "no busybox (apt-get install busybox-static)"
  : stack.reason;

describe("Docker engine", needs(reason), () => {
  const registry = createRegistryClient();
  const silent = { signal: new AbortController().signal, onLog: () => {} };
  setMaxListeners(0, silent.signal);
  let engine: Engine;
  let platform: string;
  let folder: string;

  beforeAll(async () => {
    if (!stack.available) return;
    engine = await createDockerEngine({ env: { ...process.env, ...stack.engineEnv } });
    platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
    folder = await mkdtemp(join(tmpdir(), "imgmatch-build-"));
    await mkdir(join(folder, "bin"));
    await copyFile(busybox, join(folder, "bin/busybox"));
    await symlink("busybox", join(folder, "bin/sh"));
    await writeFile(join(folder, "unsent"), "never");
  });
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const inputsOf = (text: string): Digest => digestOf(Buffer.from(text));
  const referenceTo = (text: string): ImageReference =>
    parseImageReference(`${stack.available ? stack.registry : ""}/${text}`);

  function requestFor(cell: string, script: string, inputs = inputsOf(script)): BuildRequest {
    return {
      cell,
      dockerfile: `FROM scratch\nARG WHO\nCOPY bin /bin\nRUN ${script}\nENV WHO=$WHO\n`,
      contextDir: folder,
      contextFiles: contextEntries(folder, ["bin/busybox", "bin/sh"]),
      platform,
      target: null,
      args: { WHO: 'imgmatch\'s $own "argument"' },
      labels: { "dev.imgmatch.inputs": inputs, "dev.imgmatch.cell": `${cell}: "quoted" $HOME` },
      tags: [`imgmatch-test/${cell}:local`],
    };
  }

  it("builds, pushes and answers the digest that the registry serves", async () => {
    const lines: string[] = [];
    const request = requestFor("plain", "busybox echo hello from the step && busybox ls -l /bin");
    const image = await engine.build(request, { ...silent, onLog: (line) => lines.push(line) });
    expect(image.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(image.size).toBeGreaterThan(100_000);
    expect(lines.filter((line) => /^#\d+ \d+\.\d+ hello from the step$/.test(line))).toHaveLength(1);
    expect(lines.some((line) => line.endsWith("sh -> busybox"))).toBe(true);

    const to = referenceTo("e2e/plain:pushed");
    const digest = await engine.push(image, to, silent);
    expect(await registry.findManifest(to)).toMatchObject({ digest });
    const served = await readImageConfig(registry, withDigest(to, digest), platform);
    expect(served?.config.labels).toMatchObject(request.labels);
    expect(served?.config.env).toContain(`WHO=${request.args.WHO}`);
  });

  it("gives the failing step, its output and its exit status", async () => {
    const building = engine.build(requestFor("failing", "busybox echo last words >&2; exit 7"), silent);
    await expect(building).rejects.toMatchObject({ code: "BUILD_FAILED" });
    await expect(building).rejects.toThrow(/RUN busybox echo last words.*exit code: 7\n\s+last words/s);
  });

  it("says which base cannot be had", async () => {
    const request = requestFor("baseless", "true");
    const ref = `${stack.available ? stack.registry : ""}/e2e/absent@${inputsOf("absent")}`;
    const building = engine.build({ ...request, dockerfile: `FROM ${ref}\n` }, silent);
    await expect(building).rejects.toMatchObject({ code: "BASE_UNRESOLVED" });
    await expect(building).rejects.toThrow(ref);
  });

  it("builds on a base in a registry that wants a login", async () => {
    // htpasswd -nbBC 5 builder open-sesame
    const htpasswd = "builder:$2b$05$KHl6yQErIvdYKXbhAvK.nOrySt45thXFEimscpX3CKQBTadQY1nru\n";
    const auth = Buffer.from("builder:open-sesame").toString("base64");
    const closed = await startRegistry({ htpasswd });
    try {
      const config = await mkdtemp(join(folder, "login-"));
      await cp(stack.available ? (stack.engineEnv.DOCKER_CONFIG ?? "") : "", config, { recursive: true });
      await writeFile(join(config, "config.json"), JSON.stringify({ auths: { [closed.host]: { auth } } }));
      const env = {
        ...process.env,
        ...(stack.available ? stack.engineEnv : {}),
        DOCKER_CONFIG: config,
      };
      const withLogin = await createDockerEngine({ env, credentials: storedCredentials(env) });
      const image = await withLogin.build(
        requestFor("private-base", "busybox echo private > /from-base"),
        silent,
      );
      const to = parseImageReference(`${closed.host}/secret/base:1`);
      await expect(engine.push(image, to, silent)).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
      const digest = await withLogin.push(image, to, silent);

      // Another base under the same engine, so that what is built on must really come from the registry.
      await removeImage(env, image.id);
      const dockerfile = `FROM ${closed.host}/secret/base:1@${digest}\nRUN ["/bin/busybox", "ls", "/from-base"]\n`;
      const request = { ...requestFor("on-private", "true"), dockerfile };
      await expect(engine.build(request, silent)).rejects.toMatchObject({ code: "BASE_UNRESOLVED" });
      await expect(withLogin.build(request, silent)).resolves.toHaveProperty("id");
    } finally {
      await closed.stop();
    }
  });

  it("builds on a base that everybody may pull with a token", async () => {
    const tokens = await startTokenServer("builder:open-sesame");
    const behind = await startRegistry({ token: tokens });
    tokens.standBefore(behind.host);
    try {
      const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
      const credential = { kind: "password", username: "builder", password: "open-sesame" } as const;
      const builder = await createDockerEngine({ env, credentials: { find: async () => credential } });
      const image = await builder.build(requestFor("public-base", "busybox echo public > /b"), silent);
      const to = parseImageReference(`${tokens.host}/team/base:1`);
      const digest = await builder.push(image, to, silent);
      await removeImage(env, image.id);
      const dockerfile = `FROM ${tokens.host}/team/base:1@${digest}\nRUN ["/bin/busybox", "cat", "/b"]\n`;
      const request = { ...requestFor("on-public", "true"), dockerfile };
      const anonymous = await createDockerEngine({ env });
      await expect(anonymous.build(request, silent)).resolves.toHaveProperty("id");
    } finally {
      await behind.stop();
      await tokens.stop();
    }
  });

  it("reports a context file that is gone or another one, and an engine that is not there", async () => {
    const request = requestFor("gone", "true");
    const gone: ContextEntry = { path: "bin/gone.c", kind: "file", mode: 0o644, content: "", size: 1 };
    for (const change of [gone, { ...gone, path: "unsent", size: 5, content: "00".repeat(32) }]) {
      // Copied, so that the engine asks for it.
      const dockerfile = `${request.dockerfile}COPY ${change.path} /changed\n`;
      const contextFiles = [...request.contextFiles, change];
      const building = engine.build({ ...request, dockerfile, contextFiles }, silent);
      await expect(building).rejects.toMatchObject({
        problems: [{ code: "CONTEXT_CHANGED", at: { file: change.path } }],
      });
    }
    const absent = createDockerEngine({ env: { DOCKER_HOST: `unix://${folder}/none.sock` } });
    await expect(absent).rejects.toMatchObject({ code: "ENGINE_NOT_FOUND" });
  });

  it("ends the step when the build is aborted", async () => {
    const abort = new AbortController();
    const onLog = (line: string) => {
      if (line.endsWith("started")) abort.abort();
    };
    const building = engine.build(requestFor("slow", "busybox echo started; busybox sleep 1000"), {
      signal: abort.signal,
      onLog,
    });
    await expect(building).rejects.toMatchObject({ name: "AbortError" });
  });

  it("builds a fleet in which one cell fails, then adopts everything that was pushed", async () => {
    const script = { one: "busybox echo one", two: "exit 3", three: "busybox echo three" };
    const jobs: BuildJob[] = Object.entries(script).map(([cell, text]) => ({
      cell,
      request: requestFor(cell, text),
      reference: referenceTo(`e2e/fleet:${cell}`),
      inputDigest: inputsOf(text),
    }));
    const recorded: string[] = [];
    const events: BuildEvent[] = [];
    const run = () =>
      buildJobs(jobs, {
        engine,
        examine: null,
        publishing: { registry, attest: null, signing: null },
        concurrency: 2,
        logFolder: join(folder, "logs"),
        onEvent: (event) => events.push(event),
        onBuilt: async (finished) =>
          void recorded.push(...finished.map(({ job, built }) => `${job.cell} ${built.digest}`)),
      });

    const cells = await run();
    expect(cells.map(({ cell, status }) => `${cell} ${status}`)).toEqual([
      "one built",
      "two failed",
      "three built",
    ]);
    for (const built of cells) {
      if (built.status !== "built") continue;
      expect(built.how).toBe("pushed");
      const served = await registry.findManifest(referenceTo(`e2e/fleet:${built.cell}`));
      expect(built.digest).toBe(served?.digest);
      expect(recorded).toContain(`${built.cell} ${served?.digest}`);
      expect(await readFile(built.log ?? "", "utf8")).toMatch(
        new RegExp(`^#\\d+ \\d+\\.\\d+ ${built.cell}$`, "m"),
      );
    }
    expect(await readFile(join(folder, "logs/two.log"), "utf8")).toContain("exit code: 3");

    events.length = 0;
    const again = await run();
    expect(again.map((cell) => (cell.status === "built" ? cell.how : cell.status))).toEqual([
      "adopted",
      "failed",
      "adopted",
    ]);
    expect(again.map((cell) => cell.status === "built" && cell.digest)).toEqual(
      cells.map((cell) => cell.status === "built" && cell.digest),
    );
    expect(events.filter(({ type }) => type === "push")).toEqual([]);
  });

  it("never gives a tag another content", async () => {
    const reference = referenceTo("e2e/conflict:taken");
    const theirs = await engine.build(requestFor("theirs", "busybox echo theirs"), silent);
    const foreign = await engine.push(theirs, reference, silent);
    const script = "busybox echo ours";
    const image = await engine.build(requestFor("ours", script), silent);
    const inputDigest = inputsOf(script);
    const publishing = publishImage({
      engine,
      registry,
      image,
      reference,
      platform,
      inputDigest,
      watch: silent,
    });
    await expect(publishing).rejects.toMatchObject({ code: "TAG_CONFLICT" });
    await expect(publishing).rejects.toThrow(foreign);
    expect((await registry.findManifest(reference))?.digest).toBe(foreign);
  });

  it("gives eight publishers of one tag the same digest, though each built other bytes", async () => {
    const reference = referenceTo("e2e/race:tag");
    const inputDigest = inputsOf("the same inputs");
    const images = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        engine.build(requestFor(`race-${index}`, `busybox echo ${index} > /number`, inputDigest), silent),
      ),
    );
    expect(new Set(images.map(({ id }) => id)).size).toBe(8);
    const published = await Promise.all(
      images.map((image) =>
        publishImage({ engine, registry, image, reference, platform, inputDigest, watch: silent }),
      ),
    );
    const served = await registry.findManifest(reference);
    expect(new Set(published.map(({ digest }) => digest))).toEqual(new Set([served?.digest]));
    expect(published.filter(({ how }) => how === "pushed")).toHaveLength(1);
    // A tag that this registry does not remove names an empty index: nobody waits for it later, and whoever removes
    // it by its digest removes no image.
    for await (const tag of registry.listTags(reference)) {
      if (!tag.startsWith("imgmatch-")) continue;
      const left = await registry.readManifest({ ...reference, tag });
      expect(JSON.parse(Buffer.from(left?.bytes ?? []).toString()).manifests).toEqual([]);
      expect(left?.digest).not.toBe(served?.digest);
    }
  });
});

async function removeImage(env: NodeJS.ProcessEnv, id: string): Promise<void> {
  const api = await connectDocker(env);
  await api.json("DELETE", `/images/${id}`, { query: { force: "1" } });
}
