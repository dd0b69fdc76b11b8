/** `--blobs`: the parts of an image, for clients that take a whole image from one place. */

import { get, type IncomingMessage, request } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { BlobMode } from "../../../src/node/mirror/answer-blob.ts";
import { nodeMirror } from "../../../src/node/mirror/node-mirror.ts";
import { startMirror } from "../../../src/node/mirror/server.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { type Answer, startFaultServer } from "../../oci/registry/support/fault-server.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { makeFolder } from "../../support/folders.ts";

const bytes = Buffer.alloc(200_000, "layer ");
const digest = digestOf(bytes);
const path = `/v2/team/app/blobs/${digest}`;
const whole: Answer = (asked, response) =>
  void response
    .writeHead(200, { "content-length": bytes.length, "accept-ranges": "bytes", "x-other": "kept back" })
    .end(asked.method === "HEAD" ? undefined : bytes);

async function serving(answer: Answer, blobs: BlobMode = "proxy") {
  const state = { answer };
  const server = await startFaultServer((...all) => state.answer(...all));
  const lock = formatLock({ ...lockOf({ v2: image() }), repository: `${server.host}/team/app` });
  const mirror = await nodeMirror({
    references: [],
    lock: `${makeFolder({ "lock.json": lock })}/lock.json`,
    cache: null,
    trust: null,
    policy: null,
    prober: { ask: async () => ({ ok: true, facts: cpuHost() }), stuck: () => 0 },
    api: null,
    failClosed: false,
    blobs,
    question: {},
    registry: {},
    log: () => {},
  });
  const running = await startMirror({ host: "127.0.0.1", port: 0 }, mirror);
  onTestFinished(running.stop);
  const ask = (at: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${running.port}${at}`, { redirect: "manual", ...init });
  return { server, state, ask, port: running.port };
}

describe("Blobs that the mirror passes on", () => {
  it("are the registry's bytes, asked for with the caller's own login, and nothing else of its answer", async () => {
    const { server, ask } = await serving(whole);
    const got = await ask(path, { headers: { authorization: "Bearer mine" } });
    expect(got.status).toBe(200);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "docker-content-digest": digest,
      "content-length": String(bytes.length),
      "accept-ranges": "bytes",
    });
    expect(got.headers.get("x-other")).toBeNull();
    expect(digestOf(Buffer.from(await got.arrayBuffer()))).toBe(digest);
    const head = await ask(path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(bytes.length)]);
    expect(server.asked.map(({ method, headers }) => [method, headers.authorization])).toEqual([
      ["GET", "Bearer mine"],
      ["HEAD", undefined],
    ]);
  });

  it("come in the range that was asked for; another kind of range is left out", async () => {
    const { server, ask } = await serving((_, response) => {
      response
        .writeHead(206, { "content-range": `bytes 6-9/${bytes.length}`, "content-length": 4 })
        .end("laye");
    });
    const got = await ask(path, { headers: { range: "bytes=6-9" } });
    expect([got.status, got.headers.get("content-range"), await got.text()]).toEqual([
      206,
      `bytes 6-9/${bytes.length}`,
      "laye",
    ]);
    await ask(path, { headers: { range: "bytes=0-1,5-6" } });
    expect(server.asked.map(({ headers }) => headers.range)).toEqual(["bytes=6-9", undefined]);
  });

  it("are of the fleet's repository alone: nobody else is asked", async () => {
    const { server, ask } = await serving(whole);
    expect((await ask(path.replace("app", "other"))).status).toBe(404);
    expect((await ask(`${path}?ns=169.254.169.254`)).status).toBe(404);
    expect((await ask(path.replace("sha256:", "sha512:"))).status).toBe(404);
    expect((await ask(`/v2/team/app/blobs/${digest}0`)).status).toBe(404);
    expect(server.asked).toEqual([]);
  });

  it.each([
    [401, 401],
    [403, 403],
    [404, 404],
    [416, 416],
    [429, 503],
    [500, 503],
  ])("that the registry answers with %d are %d", async (theirs, ours) => {
    const { ask } = await serving(
      (_, response) => void response.writeHead(theirs, { "www-authenticate": 'Basic realm="r"' }).end("no"),
    );
    const got = await ask(path);
    expect(got.status).toBe(ours);
    expect(got.headers.get("www-authenticate")).toBe(ours === 401 ? 'Basic realm="r"' : null);
    expect(((await got.json()) as { errors: unknown[] }).errors).toHaveLength(1);
  });

  it("that break off, break off here too, and the mirror goes on", async () => {
    const { ask, state } = await serving((_, response) => {
      response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(0, 1000), () => response.destroy());
    });
    const got = await ask(path);
    await expect(got.arrayBuffer()).rejects.toThrow();
    state.answer = whole;
    expect((await (await ask(path)).arrayBuffer()).byteLength).toBe(bytes.length);
  });

  it("are 503 where the registry hangs, and 32 at a time", { timeout: 20_000 }, async () => {
    const hanging: { destroyed: boolean }[] = [];
    const { ask, state, port } = await serving((_, response) => void hanging.push(response));
    expect((await ask(path)).status).toBe(503);
    expect(hanging).toHaveLength(1);

    // Refusals make no room for more.
    state.answer = (_, response) => void response.writeHead(401).end();
    for (let count = 0; count < 3; count++) expect((await ask(path)).status).toBe(401);
    state.answer = (_, response) => void response.writeHead(200).write("begun");
    const begin = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, host: "127.0.0.1", path, agent: false }, resolve).on("error", reject);
      });
    const begun = await Promise.all(Array.from({ length: 32 }, begin));
    expect(new Set(begun.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    const beyond = await ask(path);
    expect([beyond.status, await beyond.text()]).toEqual([
      503,
      expect.stringMatching(/32 blobs are under way/),
    ]);
    for (const each of begun) each.destroy();
    state.answer = whole;
    await expect.poll(async () => (await begin()).statusCode, { timeout: 5000 }).toBe(200);
  });

  it("are taken no faster than the caller reads, and no longer than it is there", async () => {
    let sent = 0;
    let isClosed = false;
    const piece = Buffer.alloc(1024 * 1024);
    const { port } = await serving((_, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && sent < 1000 && response.write(piece)) sent++;
      };
      response.on("drain", () => {
        sent++;
        more();
      });
      response.once("close", () => {
        isClosed = true;
      });
      more();
    });
    const sending = request({ port, host: "127.0.0.1", path, agent: false }, (response) => response.pause());
    sending.on("error", () => {}).end();
    // Until what lies between the three is full.
    let before = -1;
    await expect
      .poll(
        () => {
          const isFull = sent > 0 && sent === before;
          before = sent;
          return isFull;
        },
        { interval: 500, timeout: 20_000 },
      )
      .toBe(true);
    expect(sent).toBeLessThan(60);
    expect(isClosed).toBe(false);
    sending.destroy();
    await expect.poll(() => isClosed).toBe(true);
  });
});

describe("The mirror's own greeting", () => {
  const challenge = 'Bearer realm="https://auth.example.com/token"';
  const guarded: Answer = (asked, response) =>
    void (asked.headers.authorization === "Bearer good"
      ? response.writeHead(200).end("{}")
      : response.writeHead(401, { "www-authenticate": challenge }).end());

  it("is the registry's where blobs are passed on: who logs in to the one logs in to the other", async () => {
    const { server, ask, state } = await serving(guarded);
    const refused = await ask("/v2/");
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, challenge]);
    expect((await ask("/v2/", { headers: { authorization: "Bearer good" } })).status).toBe(200);
    expect(server.asked.map((asked) => asked.path)).toEqual(["/v2/", "/v2/"]);
    state.answer = (_, __, incoming) => void incoming.socket.destroy();
    expect((await ask("/v2/")).status).toBe(200);
  });

  it.each(["off", "redirect"] as const)("asks nobody with --blobs %s", async (mode) => {
    const { server, ask } = await serving(guarded, mode);
    expect((await ask("/v2/")).status).toBe(200);
    expect(server.asked).toEqual([]);
  });
});
