import { request } from "node:http";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { parseHostFacts } from "../../../src/facts/parse-facts.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import type { Probed } from "../../../src/node/mirror/host-prober.ts";
import type { NodeApi } from "../../../src/node/mirror/node-api.ts";
import { type NodeMirrorOptions, nodeMirror } from "../../../src/node/mirror/node-mirror.ts";
import { type ServerOptions, startMirror } from "../../../src/node/mirror/server.ts";
import { acceptedTypes, manifestTypes } from "../../../src/oci/media-types.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { createMemoryRegistry, type MemoryRegistry } from "../../fleet/publish/support/memory-registry.ts";
import { type Answer, type FaultServer, startFaultServer } from "../../oci/registry/support/fault-server.ts";
import { cpuHost, levelV3 } from "../../resolve/support/hosts.ts";
import { image, lockOf, requirement } from "../../resolve/support/locks.ts";
import { makeFolder } from "../../support/folders.ts";

const levelV2 = ["cx16", "lahf_lm", "pni", "popcnt"];
const hostFacts = (features: readonly string[]): HostFacts =>
  cpuHost({ cpu: { vendor: "GenuineIntel", model: "Intel(R) Xeon(R)", features, level: null } });
const known = (facts: HostFacts): Probed => ({ ok: true, facts });
const mismatch = "docs/examples/vision/hosts/mismatch.json";
const mismatchedHost = () => parseHostFacts(readFileSync(mismatch, "utf8"), mismatch);

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

function ask(
  port: number,
  path: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", path, method, headers, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    sent.on("error", reject).end();
  });
}

const errorOf = ({ body }: Got) => JSON.parse(body).errors[0];

/** A registry over http with what a memory registry holds; `before` may answer in its place. */
async function serveRegistry(registry: MemoryRegistry) {
  const state: { before: Answer | null } = { before: null };
  const server: FaultServer = await startFaultServer(async (asked, response, incoming) => {
    if (state.before !== null) return state.before(asked, response, incoming);
    const [, name = ""] = /^\/v2\/team\/app\/manifests\/([^/?]+)$/.exec(asked.path) ?? [];
    const at = parseImageReference("registry.example.com/team/app");
    const found = await registry.readManifest(
      name.startsWith("sha256:") ? withDigest(at, name) : { ...at, tag: name },
    );
    if (found === null) return void response.writeHead(404).end("{}");
    response.writeHead(200, {
      "content-type": found.mediaType,
      "content-length": found.size,
      "docker-content-digest": found.digest,
    });
    response.end(asked.method === "HEAD" ? undefined : found.bytes);
  });
  return { server, state, reference: (tag: string) => `${server.host}/team/app:${tag}` };
}

async function publish(
  registry: MemoryRegistry,
  version: string,
  host = "registry.example.com",
  push: "pushImage" | "pushAttested" = "pushImage",
) {
  const cells = { v2: levelV2, v3: levelV3 } as const;
  const images = Object.entries(cells).map(([cell, features]) => {
    const { axes, platform, inputDigest } = image({ axes: { cuda: "none", march: cell } });
    const digest = registry[push](`${version}-${cell}`, {}, `${version} ${cell}`);
    return [
      cell,
      {
        axes,
        platform,
        inputDigest,
        tag: `${version}-${cell}`,
        digest,
        requires: requirement(null, features),
      },
    ] as const;
  });
  const reference = parseImageReference(`${host}/team/app:${version}`);
  await publishIndex({ registry, reference, name: "app", version, images: new Map(images) });
  return Object.fromEntries(images.map(([cell, { digest }]) => [cell, digest])) as Record<string, string>;
}

interface StartOptions extends Partial<NodeMirrorOptions> {
  readonly probe?: () => Promise<Probed>;
}

async function start(
  { probe = async () => known(hostFacts(levelV3)), ...options }: StartOptions,
  more: Partial<ServerOptions> = {},
) {
  const lines: Record<string, unknown>[] = [];
  const mirror = await nodeMirror({
    references: [],
    lock: null,
    cache: null,
    trust: null,
    policy: null,
    prober: { ask: probe, stuck: () => 0 },
    api: null,
    failClosed: false,
    blobs: "off",
    question: {},
    registry: {},
    log: (line) => lines.push(line),
    ...options,
  });
  const running = await startMirror({ host: "127.0.0.1", port: 0 }, { ...mirror, ...more });
  onTestFinished(running.stop);
  return { port: running.port, lines, stop: running.stop, keeper: mirror.keeper };
}

describe("The mirror of a published fleet", () => {
  it("labels its node with the image of the version that it is given, and of no repository whole", async () => {
    const registry = createMemoryRegistry();
    await publish(registry, "1.0.0");
    const { reference } = await serveRegistry(registry);
    const written: Record<string, string | null>[] = [];
    const api: NodeApi = {
      read: async () => ({ labels: {}, annotations: {} }),
      patch: async ({ labels }) => void written.push({ ...labels }),
      tell: async () => {},
    };
    const whole = reference("1.0.0").replace(/:1\.0\.0$/, "");
    const imagesOf = async (...references: string[]) => {
      const { keeper } = await start({ api, references });
      await keeper?.keep(new AbortController().signal);
      return Object.entries(written.at(-1) ?? {}).filter(([name]) => name.includes("/image."));
    };
    for (const none of [[], [whole]]) expect(await imagesOf(...none)).toEqual([]);
    expect(await imagesOf(whole, reference("1.0.0"))).toEqual([
      [expect.stringMatching(/^imgmatch\.dev\/image\.app-[0-9a-f]{8}$/), "1.0.0-v3"],
      ["imgmatch.dev/image.app", "1.0.0-v3"],
    ]);
    expect(written).toHaveLength(3);
  });

  it("answers with an attested image as the registry has it, and with all that lies in it", async () => {
    const registry = createMemoryRegistry();
    const digests = await publish(registry, "1.0.0", undefined, "pushAttested");
    const { reference } = await serveRegistry(registry);
    const { port } = await start({ references: [reference("1.0.0")] });
    const wanted = digests.v3 as `sha256:${string}`;
    const { bytes, size } = registry.manifests.get(wanted) ?? {};
    const whole = {
      status: 200,
      headers: {
        "docker-content-digest": wanted,
        "content-type": "application/vnd.oci.image.index.v1+json",
        "content-length": String(size),
      },
    };
    const path = (name: string) => `/v2/team/app/manifests/${name}`;
    expect(await ask(port, path("1.0.0"), { method: "HEAD" })).toMatchObject(whole);
    const body = Buffer.from(bytes ?? "").toString();
    for (const name of ["1.0.0", wanted])
      expect(await ask(port, path(name))).toMatchObject({ ...whole, body });
    const parts = registry.partsOf(wanted);
    expect(parts).toHaveLength(2);
    for (const digest of parts)
      expect(await ask(port, path(digest))).toMatchObject({
        status: 200,
        headers: { "docker-content-digest": digest },
      });
    const other = registry.pushImage("other", {}, "other");
    expect((await ask(port, path(other))).status).toBe(404);
  });

  it("answers HEAD and GET of the version with the manifest of the image that fits, and GET of its digest", async () => {
    const registry = createMemoryRegistry();
    const digests = await publish(registry, "1.0.0");
    const { server, reference } = await serveRegistry(registry);
    let facts: HostFacts = hostFacts(levelV3);
    const { port } = await start({ references: [reference("1.0.0")], probe: async () => known(facts) });

    const head = await ask(port, `/v2/team/app/manifests/1.0.0?ns=${server.host}`, {
      method: "HEAD",
      headers: { accept: acceptedTypes },
    });
    const { bytes, size } = registry.manifests.get(digests.v3 as `sha256:${string}`) ?? {};
    expect(head).toMatchObject({
      status: 200,
      body: "",
      headers: {
        "docker-content-digest": digests.v3,
        "content-type": manifestTypes.oci,
        "content-length": String(size),
      },
    });
    for (const path of ["1.0.0", digests.v3])
      expect(await ask(port, `/v2/team/app/manifests/${path}`)).toMatchObject({
        status: 200,
        body: Buffer.from(bytes ?? "").toString(),
        headers: { "docker-content-digest": digests.v3, "content-length": String(size) },
      });

    // The driver, or here the CPU, is another one now: nothing is started anew.
    facts = hostFacts(levelV2);
    expect(await ask(port, "/v2/team/app/manifests/1.0.0")).toMatchObject({
      headers: { "docker-content-digest": digests.v2 },
    });
    expect((await ask(port, "/v2/")).status).toBe(200);
  });

  it("answers every version of a repository that is named without one, and 404 for all that is no fleet's", async () => {
    const registry = createMemoryRegistry();
    await publish(registry, "1.0.0");
    const second = await publish(registry, "2.0.0");
    const { server, reference } = await serveRegistry(registry);
    const { port } = await start({ references: [reference("1.0.0").replace(/:1\.0\.0$/, "")] });
    const of = async (path: string, method = "GET") => (await ask(port, `/v2/${path}`, { method })).status;
    expect(await ask(port, "/v2/team/app/manifests/2.0.0")).toMatchObject({
      headers: { "docker-content-digest": second.v3 },
    });
    const asked = server.asked.length;
    expect(await of("team/other/manifests/1.0.0")).toBe(404);
    expect(await of("team/app/manifests/1.0.0?ns=other.example.com")).toBe(404);
    expect(await of(`team/app/manifests/sha256:${"0".repeat(64)}`)).toBe(404);
    expect(await of(`team/app/blobs/${second.v3}`)).toBe(404);
    expect(await of("team/app/tags/list")).toBe(404);
    expect(await of("_catalog")).toBe(404);
    expect(server.asked).toHaveLength(asked);
    // The tag of one image is the registry's own to answer, and no version of a fleet.
    expect(await of("team/app/manifests/2.0.0-v2")).toBe(404);
    expect(await of("team/app/manifests/3.0.0", "HEAD")).toBe(404);
  });

  it("asks the registry once in a while, not for each request, and remembers for as long that it is away", async () => {
    const registry = createMemoryRegistry();
    const digests = await publish(registry, "1.0.0");
    const { server, state, reference } = await serveRegistry(registry);
    const cache = makeFolder({});
    const first = await start({ references: [reference("1.0.0")], cache });
    for (let count = 0; count < 20; count++)
      expect((await ask(first.port, "/v2/team/app/manifests/1.0.0", { method: "HEAD" })).status).toBe(200);
    expect(server.asked).toHaveLength(1);

    // Another process, the registry away: the cache answers, and says so in the log.
    state.before = (_, __, incoming) => void incoming.socket.destroy();
    const { port, lines } = await start({ references: [reference("1.0.0")], cache });
    for (let count = 0; count < 3; count++)
      expect(await ask(port, "/v2/team/app/manifests/1.0.0", { method: "HEAD" })).toMatchObject({
        status: 200,
        headers: { "docker-content-digest": digests.v3 },
      });
    expect(server.asked).toHaveLength(2);
    expect(lines.some(({ message }) => String(message).startsWith("answered from the cache"))).toBe(true);
  });

  it("is 503 with the reason, within its deadline, where the registry hangs and nothing is known", async () => {
    const registry = createMemoryRegistry();
    const { state, reference } = await serveRegistry(registry);
    state.before = () => {};
    const { port } = await start({ references: [reference("1.0.0")] });
    const got = await ask(port, "/v2/team/app/manifests/1.0.0");
    expect([got.status, errorOf(got).code]).toEqual([503, "UNAVAILABLE"]);
    expect(errorOf(got).message).toMatch(/^REGISTRY_UNREACHABLE: .*no whole answer in 1500 ms/);
  });

  it("is never 429, whatever the registry says", async () => {
    const registry = createMemoryRegistry();
    const { state, reference } = await serveRegistry(registry);
    state.before = (_, response) => void response.writeHead(429, { "retry-after": "60" }).end();
    const { port } = await start({ references: [reference("1.0.0")] });
    expect((await ask(port, "/v2/team/app/manifests/1.0.0")).status).toBe(503);
  });

  it("gives nothing whose digest is another, and no manifest beyond the limit", async () => {
    const registry = createMemoryRegistry();
    const digests = await publish(registry, "1.0.0");
    const { state, reference } = await serveRegistry(registry);
    const { port } = await start({ references: [reference("1.0.0")] });
    expect((await ask(port, "/v2/team/app/manifests/1.0.0", { method: "HEAD" })).status).toBe(200);
    state.before = (_, response) =>
      void response.writeHead(200, { "content-type": manifestTypes.oci }).end("{}");
    const wrong = await ask(port, `/v2/team/app/manifests/${digests.v3}`);
    expect([wrong.status, errorOf(wrong).message]).toEqual([
      503,
      expect.stringContaining("REGISTRY_DIGEST_MISMATCH"),
    ]);
    state.before = (_, response) => void response.writeHead(200).end(Buffer.alloc(5 * 1024 * 1024));
    const large = await ask(port, `/v2/team/app/manifests/${digests.v3}`);
    expect([large.status, errorOf(large).message]).toEqual([
      503,
      expect.stringContaining("REGISTRY_ANSWER_TOO_LARGE"),
    ]);
  });
});

describe("A manifest whose media type would be two lines of an answer", () => {
  it("is none, and the mirror goes on", async () => {
    const registry = createMemoryRegistry();
    await publish(registry, "1.0.0");
    const { server, state, reference } = await serveRegistry(registry);
    state.before = (_, response) =>
      void response.writeHead(200).end(JSON.stringify({ mediaType: "a/b\r\nx: y" }));
    const { port } = await start({ references: [reference("1.0.0")], failClosed: true });
    const passedOn = await ask(port, `/v2/team/other/manifests/1?ns=${server.host}`);
    expect([passedOn.status, errorOf(passedOn).code]).toEqual([503, "UNAVAILABLE"]);
    expect((await ask(port, "/healthz")).status).toBe(200);
  });
});

describe("A private fleet", () => {
  it("is the registry's to grant: its challenge is passed on, and what the runtime sends is passed to it", async () => {
    const registry = createMemoryRegistry();
    const digests = await publish(registry, "1.0.0");
    const { server, state, reference } = await serveRegistry(registry);
    const challenge = `Bearer realm="https://auth.example.com/token",service="r",scope="repository:team/app:pull"`;
    state.before = (asked, response) => {
      if (asked.headers.authorization === "Bearer good") {
        const name = asked.path.split("/").at(-1) ?? "";
        const digest = name.startsWith("sha256:") ? name : (registry.tags.get(name) ?? "");
        const found = registry.manifests.get(digest as `sha256:${string}`);
        if (found === undefined) return void response.writeHead(404).end();
        response.writeHead(200, { "content-type": found.mediaType, "docker-content-digest": found.digest });
        return void response.end(asked.method === "HEAD" ? undefined : found.bytes);
      }
      response.writeHead(401, { "www-authenticate": challenge }).end();
    };
    const { port } = await start({ references: [reference("1.0.0")] });
    const path = "/v2/team/app/manifests/1.0.0";
    const get = (token?: string, at = path) =>
      ask(port, at, token === undefined ? {} : { headers: { authorization: token } });
    const refused = { status: 401, headers: { "www-authenticate": challenge } };
    expect(await get()).toMatchObject(refused);
    expect(await get("Bearer good")).toMatchObject({
      status: 200,
      headers: { "docker-content-digest": digests.v3 },
    });
    // An image that one client may read is kept for no other.
    expect(await get()).toMatchObject(refused);
    expect(await get("Bearer bad")).toMatchObject(refused);
    const content = `/v2/team/app/manifests/${digests.v3}`;
    expect(await get("Bearer good", content)).toMatchObject({ status: 200 });
    expect(await get(undefined, content)).toMatchObject(refused);
    expect(server.asked.some(({ headers }) => headers.authorization === "Bearer good")).toBe(true);
  });
});

describe("A lock", () => {
  const lock = (repository: string, version = "1.12.0"): Lock => ({
    ...lockOf({
      v2: image({
        requires: requirement(null, levelV2),
        manifest: { mediaType: manifestTypes.oci, size: 321 },
      }),
    }),
    repository,
    version,
  });

  it("answers HEAD with no registry at all, and is read again when it changes", async () => {
    const folder = makeFolder({});
    const file = join(folder, "lock.json");
    writeFileSync(file, formatLock(lock("nowhere.invalid/team/app")));
    const { port, lines } = await start({ lock: file });
    const head = (tag: string) =>
      ask(port, `/v2/team/app/manifests/${tag}?ns=nowhere.invalid`, { method: "HEAD" });
    expect(await head("1.12.0")).toMatchObject({
      status: 200,
      headers: { "content-length": "321", "content-type": manifestTypes.oci },
    });
    writeFileSync(file, formatLock(lock("nowhere.invalid/team/app", "1.13.0-rc.1+x")));
    expect((await head("1.12.0")).status).toBe(404);
    expect((await head("1.13.0-rc.1-x")).status).toBe(200);
    writeFileSync(file, "{");
    expect((await head("1.13.0-rc.1-x")).status).toBe(200);
    expect(lines.find(({ event }) => event === "fleet")?.message).toContain(
      "is left aside: the lock is not JSON",
    );
  });

  it("leaves a host that no image fits to the registry, or, failing closed, refuses it with the reason", async () => {
    const file = join(makeFolder({ "lock.json": formatLock(lock("nowhere.invalid/team/app")) }), "lock.json");
    const probe = async () => known(hostFacts([]));
    const open = await start({ lock: file, probe });
    const left = await ask(open.port, "/v2/team/app/manifests/1.12.0");
    expect([left.status, errorOf(left).code]).toEqual([404, "MANIFEST_UNKNOWN"]);
    expect(open.lines.at(-1)).toMatchObject({ level: "warning", outcome: "no-match", status: 404 });
    const closed = await start({ lock: file, probe, failClosed: true });
    const refused = await ask(closed.port, "/v2/team/app/manifests/1.12.0");
    expect([refused.status, errorOf(refused).code]).toEqual([403, "DENIED"]);
    expect(errorOf(refused).message).toMatch(/^NO_MATCH: .*CPU_FEATURES_MISSING/);
  });

  it("refuses a broken host, failing closed, in the words of resolve", async () => {
    const file = join(makeFolder({ "lock.json": formatLock(lock("nowhere.invalid/team/app")) }), "lock.json");
    const { port } = await start({
      lock: file,
      probe: async () => known(mismatchedHost()),
      failClosed: true,
    });
    const refused = await ask(port, "/v2/team/app/manifests/1.12.0");
    expect(refused.status).toBe(403);
    expect(errorOf(refused).message).toMatch(/^HOST_BROKEN: HOST_DRIVER_LIBRARY_MISMATCH: .*; fix: reboot/);
  });

  it("passes on other tags of the registry, failing closed: it is the only one that the runtime asks", async () => {
    const registry = createMemoryRegistry();
    const digest = registry.pushImage("5.0", {}, "no fleet");
    const { server } = await serveRegistry(registry);
    const file = join(
      makeFolder({ "lock.json": formatLock(lock(`${server.host}/team/fleet`)) }),
      "lock.json",
    );
    const { port } = await start({ lock: file, failClosed: true });
    const head = (tag: string, ns: string) =>
      ask(port, `/v2/team/app/manifests/${tag}?ns=${ns}`, { method: "HEAD" });
    expect(await head("5.0", server.host)).toMatchObject({
      status: 200,
      headers: { "docker-content-digest": digest },
    });
    expect((await head("6.0", server.host)).status).toBe(404);
    const asked = server.asked.length;
    expect((await head("5.0", "127.0.0.1:1")).status).toBe(404);
    expect(server.asked).toHaveLength(asked);
  });

  it("redirects blobs where it is told to", async () => {
    const file = join(
      makeFolder({ "lock.json": formatLock(lock("registry.example.com/team/app")) }),
      "lock.json",
    );
    const { port } = await start({ lock: file, blobs: "redirect" });
    const blob = `sha256:${"b".repeat(64)}`;
    expect(await ask(port, `/v2/team/app/blobs/${blob}`)).toMatchObject({
      status: 307,
      headers: { location: `https://registry.example.com/v2/team/app/blobs/${blob}` },
    });
    expect((await ask(port, `/v2/team/other/blobs/${blob}`)).status).toBe(404);
  });

  it("of a host that cannot be asked is left to the registry, or, failing closed, refused with the reason", async () => {
    const file = join(makeFolder({ "lock.json": formatLock(lock("nowhere.invalid/team/app")) }), "lock.json");
    const probe = async (): Promise<Probed> => ({ ok: false, reason: "HOST_UNREADABLE: no answer" });
    const path = "/v2/team/app/manifests/1.12.0";
    const open = await start({ lock: file, probe });
    expect((await ask(open.port, path)).status).toBe(404);
    expect(open.lines.at(-1)).toMatchObject({ outcome: "host-broken", reason: "HOST_UNREADABLE: no answer" });
    const closed = await start({ lock: file, probe, failClosed: true });
    const refused = await ask(closed.port, path);
    expect([refused.status, errorOf(refused).message]).toEqual([403, "HOST_UNREADABLE: no answer"]);
  });
});

describe("What is no request of a runtime on this node", () => {
  it.each<[string, { method?: string; headers?: Record<string, string> }, string, number]>([
    ["a page that another name was bound for", { headers: { host: "evil.example.com" } }, "/v2/", 421],
    ["another port", { headers: { host: "127.0.0.1:1" } }, "/metrics", 421],
    ["a push", { method: "PUT" }, "/v2/team/app/manifests/1.0", 405],
    ["an upload", { method: "POST" }, "/v2/team/app/blobs/uploads/", 405],
    ["a way out of the name", {}, "/v2/../../etc/manifests/1.0", 404],
    ["a name in upper case", {}, "/v2/Team/app/manifests/1.0", 404],
    ["an escape in a name", {}, "/v2/team%2fapp/manifests/1.0", 404],
    ["a tag that is none", {}, "/v2/team/app/manifests/-rf", 404],
    ["a digest of another kind", {}, `/v2/team/app/manifests/sha512:${"a".repeat(128)}`, 404],
    ["two registries", {}, "/v2/team/app/manifests/1.0?ns=a&ns=b", 400],
    ["an address to connect to", {}, "/v2/team/app/manifests/1.0?ns=169.254.169.254", 404],
    ["a long address", {}, `/v2/${"a".repeat(5000)}/manifests/1.0`, 414],
  ])("%s", async (_, how, path, status) => {
    const file = join(makeFolder({ "lock.json": formatLock(lockOf({ v2: image() })) }), "lock.json");
    const { port } = await start({ lock: file });
    expect((await ask(port, path, how)).status).toBe(status);
  });

  it("is counted: /metrics in the form of Prometheus, /healthz, without a name of an image", async () => {
    const file = join(makeFolder({ "lock.json": formatLock(lockOf({ v2: image() })) }), "lock.json");
    const { port } = await start({ lock: file });
    await ask(port, "/v2/team/other/manifests/1.0");
    expect(await ask(port, "/healthz")).toMatchObject({ status: 200, body: "ok\n" });
    const { body, headers } = await ask(port, "/metrics");
    expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(body).toContain('imgmatch_mirror_requests_total{outcome="not-served",status="404"} 1\n');
    expect(body).toContain('imgmatch_mirror_request_duration_seconds_bucket{le="+Inf"} 2\n');
    expect(body).not.toMatch(/team|app|registry|sha256|1\.0/);
  });
});
