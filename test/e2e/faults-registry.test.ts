/** A registry that fails in every way that one can, between imgmatch, a real engine and a real registry. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { createDockerEngine } from "../../src/fleet/engines/docker/docker-engine.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { contextEntries } from "../support/context-entries.ts";
import { type Fault, type FaultProxy, type ProxiedRequest, startFaultProxy } from "./support/fault-proxy.ts";
import { createProject, type Project } from "./support/project.ts";
import { expectCompletion, expectTruth } from "./support/truth.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNoOpenssl } from "../support/programs.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;

describe("Registry faults", needs(stack.available ? null : stack.reason), () => {
  const registry = stack.available ? stack.registry : "";
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  let proxy: FaultProxy;
  let project: Project;
  let count = 0;

  beforeAll(async () => {
    if (stack.available) proxy = await startFaultProxy(registry);
  });
  afterAll(async () => proxy?.stop());
  beforeEach(({ onTestFinished }) => {
    proxy.fault = null;
    project = createProject({
      registry: `${proxy.host}/faults`,
      name: `app${process.pid}-${++count}`,
      env,
      inProcess: true,
    });
    project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain, spicy]`);
    onTestFinished(() => project.remove());
  });

  const isManifest = ({ path }: ProxiedRequest) => path.includes("/manifests/");
  const always =
    (fault: Fault, applies: (request: ProxiedRequest) => boolean = isManifest): FaultProxy["fault"] =>
    (request) =>
      applies(request) ? fault : null;
  const first = (times: number, fault: Fault, applies = isManifest): FaultProxy["fault"] => {
    let left = times;
    return (request) => (applies(request) && left-- > 0 ? fault : null);
  };

  // Before anything is built: imgmatch looks first, and only 404 is "absent".
  it.each<[string, Fault, string]>([
    ["401", { kind: "status", status: 401, headers: { "www-authenticate": "Basic" } }, "REGISTRY_AUTH"],
    ["403", { kind: "status", status: 403 }, "REGISTRY_AUTH"],
    ["500 for good", { kind: "status", status: 500 }, "REGISTRY_FAILED"],
    ["connections reset", { kind: "reset" }, "REGISTRY_UNREACHABLE"],
  ])("%s: nothing is built, nothing is taken for absent", { timeout: 120_000 }, async (_, fault, code) => {
    proxy.fault = always(fault);
    const failed = await project.run("build", "--push", "--json");
    const events = failed.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(events.filter(({ type }) => type === "log")).toEqual([]);
    expect(events.filter(({ type }) => type === "failed")).toHaveLength(2);
    expect(failed.stdout).toContain(`"${code}"`);
    expect(failed.status).toBe(5);
    expect(await expectTruth(project, registry)).toBeNull();
    proxy.fault = null;
    await expectCompletion(project, registry, 2);
  });

  it("a body cut in half, then one with a wrong digest: never believed, asked for again or refused", async () => {
    proxy.fault = null;
    expect((await project.run("build", "--push")).status).toBe(0);
    const isRead = (request: ProxiedRequest) => isManifest(request) && request.method === "GET";
    rmSync(join(project.folder, "images"), { recursive: true });
    proxy.fault = first(2, { kind: "truncate" }, isRead);
    const adopted = await project.run("build", "--push");
    expect(adopted.stderr).toContain("2 adopted");
    expect(proxy.met.filter(isRead).length).toBeGreaterThanOrEqual(2);

    rmSync(join(project.folder, "images"), { recursive: true });
    proxy.fault = always({ kind: "corrupt" }, isRead);
    const refused = await project.run("build", "--push");
    expect(refused.stderr).toContain("REGISTRY_DIGEST_MISMATCH");
    expect(refused.status).toBe(5);
    proxy.fault = null;
    await expectCompletion(project, registry, 2);
  });

  it("500 twice, at every kind of request in turn: the same run completes", async () => {
    const seen = new Map<string, number>();
    proxy.fault = (request) => {
      if (request.path === "/v2/") return null;
      // The engine pushes blobs with retries of its own; what imgmatch sends is about manifests and tags.
      if (!isManifest(request) && !request.path.includes("/tags/list")) return null;
      const kind = `${request.method} ${request.path.replace(/[^/]*$/, "")}`;
      const times = seen.get(kind) ?? 0;
      seen.set(kind, times + 1);
      return times < 2 ? { kind: "status", status: 500 } : null;
    };
    await expectCompletion(project, registry, 2);
    expect([...seen.keys()].map((kind) => kind.split(" ")[0])).toEqual(
      expect.arrayContaining(["HEAD", "PUT"]),
    );
  });

  it("429: waits as long as Retry-After says, and completes", async () => {
    let refusedAt = 0;
    let nextAt = 0;
    proxy.fault = (request) => {
      if (!isManifest(request)) return null;
      if (refusedAt === 0) {
        refusedAt = performance.now();
        return { kind: "status", status: 429, headers: { "retry-after": "2" } };
      }
      nextAt ||= performance.now();
      return null;
    };
    const built = await project.run("build", "--push", "--concurrency", "1");
    expect(built.status, built.stderr).toBe(0);
    expect(nextAt - refusedAt).toBeGreaterThanOrEqual(1990);
    await expectTruth(project, registry);
  });

  it.each<[string, Fault]>([
    ["resets", { kind: "reset" }],
    ["403", { kind: "status", status: 403 }],
    ...(isLong ? [["500", { kind: "status", status: 500 }] as [string, Fault]] : []),
  ])(
    "%s while the tag is written: the image has no tag or the right one",
    { timeout: 120_000 },
    async (_, fault) => {
      proxy.fault = always(fault, (request) => isManifest(request) && request.method === "PUT");
      const failed = await project.run("build", "--push");
      expect(failed.status).toBe(5);
      expect((await expectTruth(project, registry))?.images ?? {}).toEqual({});
      proxy.fault = null;
      await expectCompletion(project, registry, 2);
    },
  );

  it("slow-loris: gives up after the time-out and not after the last byte", async () => {
    expect((await project.run("build", "--push")).status).toBe(0);
    const [image] = Object.values(project.lock().images);
    proxy.fault = always({ kind: "drip", everyMs: 1000 });
    // At this pace the whole of it takes longer than the test may.
    const client = createRegistryClient({ timeoutMs: 1000, retries: 1 });
    const reading = client.readManifest(parseImageReference(`${project.repository}:${image?.tag}`));
    await expect(reading).rejects.toMatchObject({ code: "REGISTRY_UNREACHABLE" });
    proxy.fault = null;
    await expectCompletion(project, registry, 2);
  });

  it("TLS that nobody vouches for: refused by name, and accepted with --ca", async ({ skip }) => {
    const missing = whyNoOpenssl();
    if (missing !== null) return skip(missing);
    const address = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
    if (address === undefined) return skip("this machine has the loopback interface only");
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const subject = ["-subj", "/CN=imgmatch", "-addext", `subjectAltName=IP:${address}`];
    execFileSync("openssl", ["req", "-x509", ...curve, ...subject, "-keyout", key, "-out", cert], {
      stdio: "ignore",
    });
    const tls = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8"), address };
    const secure = await startFaultProxy(registry, { tls });
    try {
      project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain]`);
      const where = ["--registry", `${secure.host}/faults`];
      const failed = await project.run("build", "--push", ...where);
      expect(failed.stderr).toMatch(/REGISTRY_UNREACHABLE: .*(self-signed|certificate)/);
      expect(failed.status).toBe(5);
      expect(await expectTruth(project, registry)).toBeNull();
      // The same look with the certificate finds that there is no such image; the engine has no word in that.
      const trusting = createRegistryClient({ ca: tls.cert, retries: 0 });
      expect(await trusting.findManifest(parseImageReference(`${secure.host}/faults/none:1`))).toBeNull();
    } finally {
      await secure.stop();
      rmSync(folder, { recursive: true });
    }
    await expectCompletion(project, registry, 1);
  });

  it("an upload that is taken and never answered: the push ends, by name", { timeout: 60_000 }, async () => {
    const engine = await createDockerEngine({ env, stallMs: 3000 });
    const watch = { signal: new AbortController().signal, onLog: () => {} };
    project.write("templates/content", `never stored ${project.repository}\n`);
    const contextDir = join(project.folder, "templates");
    const image = await engine.build(
      {
        ...{ cell: "plain", dockerfile: "FROM scratch\nCOPY content /content\n", platform, target: null },
        ...{
          contextDir,
          contextFiles: contextEntries(contextDir, ["content"]),
          args: {},
          labels: {},
          tags: [],
        },
      },
      watch,
    );
    proxy.fault = always(
      { kind: "silent" },
      ({ method, path }) => /^P(UT|ATCH)$/.test(method) && path.includes("/blobs/"),
    );
    await expect(
      engine.push(image, parseImageReference(`${proxy.host}/faults/silent:1`), watch),
    ).rejects.toThrow(/REGISTRY_FAILED.*: the registry took no byte and gave no answer for 3 s/);
    expect(proxy.met.length).toBeGreaterThan(0);
  });

  it("the same inputs and another digest: adopted, and called not reproducible", async () => {
    project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain]`);
    expect((await project.run("build", "--push")).status).toBe(0);
    const [cell = "", image] = Object.entries(project.lock().images)[0] ?? [];
    if (image === undefined) throw new Error("nothing in the lock");
    rmSync(join(project.folder, "images"), { recursive: true });

    // Somebody else's image of the same inputs, which has other bytes.
    const engine = await createDockerEngine({ env });
    const watch = { signal: new AbortController().signal, onLog: () => {} };
    const theirs = await engine.build(
      {
        cell,
        dockerfile: "FROM scratch\nCOPY content /elsewhere\n",
        contextDir: join(project.folder, "templates"),
        contextFiles: contextEntries(join(project.folder, "templates"), ["content"]),
        platform: image.platform,
        target: null,
        args: {},
        labels: { "dev.imgmatch.inputs": image.inputDigest, "dev.imgmatch.cell": cell },
        tags: [],
      },
      watch,
    );
    const reference = parseImageReference(
      `${registry}/${project.repository.split("/").slice(1).join("/")}:${image.tag}`,
    );
    const digest = await engine.push(theirs, reference, watch);
    expect(digest).not.toBe(image.digest);

    // It comes while this build is running: the first look finds nothing.
    const looks = ({ method, path }: ProxiedRequest) => method === "HEAD" && path.endsWith(image.tag);
    proxy.fault = first(1, { kind: "status", status: 404 }, looks);
    const adopted = await project.run("build", "--push");
    expect(adopted.status, adopted.stderr).toBe(0);
    expect(adopted.stderr).toMatch(/adopted \(not reproducible/);
    expect(project.lock().images[cell]?.digest).toBe(digest);
    await expectTruth(project, registry);
    await expectCompletion(project, registry, 1);
  });

  it("other inputs under the tag: a conflict with both digests, an exit code of its own, and nothing overwritten", async () => {
    const tag = { tag: "{{version}}-{{cell}}" };
    const rest = `base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain]`;
    project.matrix(rest, tag);
    expect((await project.run("build", "--push")).status).toBe(0);
    const [before] = Object.values(project.lock().images);
    project.write("templates/content", "other\n");
    const conflict = await project.run("build", "--push");
    expect(conflict.stderr).toContain("TAG_CONFLICT");
    expect(conflict.stderr).toContain(before?.digest);
    expect(conflict.stderr.match(/sha256:[0-9a-f]{64}/g)?.length).toBeGreaterThanOrEqual(3);
    expect(conflict.status).toBe(6);
    expect(Object.values(project.lock().images)).toEqual([before]);
    const reference = parseImageReference(`${project.repository}:${before?.tag}`);
    expect((await createRegistryClient().findManifest(reference))?.digest).toBe(before?.digest);
    project.matrix(rest);
    await project.run("build", "--push");
    expect(Object.values(project.lock().images)[0]?.platform).toBe(platform);
  });
});
