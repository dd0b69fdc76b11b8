import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { registryFor } from "../../../src/oci/registry/registry-access.ts";
import { selfSigned } from "./support/certificate.ts";
import { type Answer, inTurn, startFaultServer, status } from "./support/fault-server.ts";
import { quickClient, serveManifest, someManifest } from "./support/manifests.ts";
import { fakeTime } from "../../support/fake-time.ts";
import { needs } from "../../support/needs.ts";

const found = { digest: someManifest.digest, mediaType: someManifest.mediaType, size: someManifest.size };

describe("what may work the next time is tried again", () => {
  test.each([408, 429, 500, 502, 503, 504])("%d twice, then the manifest", async (code) => {
    const server = await startFaultServer(inTurn(status(code), status(code), serveManifest(someManifest)));
    const client = quickClient();
    expect(await client.findManifest(app(server.host))).toEqual(found);
    expect(server.asked).toHaveLength(3);
    expect(client.waits).toEqual([500, 1000]);
  });

  test("a blob that is unknown while somebody else uploads it, and no other 400", async () => {
    const unknown = {
      errors: [
        { code: "DIGEST_INVALID", message: "provided digest did not match uploaded content" },
        { code: "MANIFEST_BLOB_UNKNOWN", message: "blob unknown to registry" },
      ],
    };
    const server = await startFaultServer(inTurn(status(400, {}, unknown), status(201)));
    const to = { ...app(server.host), tag: null, digest: someManifest.digest };
    expect(await quickClient().writeManifest(to, someManifest)).toBe(someManifest.digest);
    expect(server.asked.map(({ method }) => method)).toEqual(["PUT", "PUT"]);
    const tagged = await startFaultServer(status(400, {}, unknown));
    await expect(quickClient().writeManifest(app(tagged.host), someManifest)).rejects.toMatchObject({
      status: 400,
      temporary: true,
      unclear: false,
      errors: unknown.errors,
    });

    const invalid = { errors: [{ code: "MANIFEST_INVALID", message: "manifest invalid" }] };
    const strict = await startFaultServer(status(400, {}, invalid));
    await expect(quickClient().writeManifest(app(strict.host), someManifest)).rejects.toThrow(
      "MANIFEST_INVALID",
    );
    expect(strict.asked.filter(({ method }) => method === "PUT")).toHaveLength(1);
  });

  test("500 for ever ends with the status, the registry's words and the number of tries", async () => {
    const body = { errors: [{ code: "UNKNOWN", message: "disk is\u001b[31m full" }] };
    const server = await startFaultServer(status(500, {}, body));
    const client = quickClient({ retries: 2 });
    await expect(client.readManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
      exitCode: 5,
      message: expect.stringContaining(
        `GET http://${server.host}/v2/team/app/manifests/1: 500 Internal Server Error (UNKNOWN: disk is\\u001b[31m full) after 3 attempts`,
      ),
    });
    expect(server.asked).toHaveLength(3);
  });

  test("waits grow, with a bound, and jitter makes them shorter", async () => {
    const server = await startFaultServer(status(503));
    const client = quickClient({ retries: 7 });
    await expect(client.findManifest(app(server.host))).rejects.toMatchObject({ code: "REGISTRY_FAILED" });
    expect(client.waits).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
    const jittered = quickClient({ retries: 2, random: () => 0.5 });
    await expect(jittered.findManifest(app(server.host))).rejects.toThrow();
    expect(jittered.waits).toEqual([250, 500]);
  });

  test.each([
    ["seconds", "7", 7000],
    ["a date", "Wed, 21 Oct 2015 07:28:10 GMT", 10_000],
    ["a date that has passed", "Wed, 21 Oct 2015 07:27:00 GMT", 500],
    ["an hour, which is too long", "3600", 60_000],
    ["nonsense", "soon", 500],
    ["less than the usual wait", "0", 500],
  ])("429 with Retry-After: %s", async (_, retryAfter, waitMs) => {
    const server = await startFaultServer(
      inTurn(status(429, { "retry-after": retryAfter }), serveManifest(someManifest)),
    );
    const client = quickClient({ now: () => Date.UTC(2015, 9, 21, 7, 28, 0) });
    expect(await client.findManifest(app(server.host))).toEqual(found);
    expect(client.waits).toEqual([waitMs]);
  });

  test("a reset connection, then the manifest", async () => {
    const server = await startFaultServer(
      inTurn((_, __, request) => request.socket.resetAndDestroy(), serveManifest(someManifest)),
    );
    expect(await quickClient().findManifest(app(server.host))).toEqual(found);
    expect(server.asked).toHaveLength(2);
  });

  test("reset for ever is REGISTRY_UNREACHABLE", async () => {
    const server = await startFaultServer((_, __, request) => request.socket.resetAndDestroy());
    await expect(quickClient({ retries: 1 }).findManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining("after 2 attempts"),
    });
  });

  test("a body that breaks off is read again, never taken as whole", async () => {
    const truncated = inTurn((_, response) => {
      response.writeHead(200, {
        "content-type": someManifest.mediaType,
        "content-length": someManifest.size,
      });
      response.write(someManifest.bytes.subarray(0, 20));
      setTimeout(() => response.destroy(), 20);
    }, serveManifest(someManifest));
    const server = await startFaultServer(truncated);
    expect((await quickClient().readManifest(app(server.host)))?.digest).toBe(someManifest.digest);
    expect(server.asked).toHaveLength(2);
  });

  test("a write by digest is tried again with the same bytes", async () => {
    const server = await startFaultServer(inTurn(status(503), status(201)));
    const to = { ...app(server.host), tag: null, digest: someManifest.digest };
    expect(await quickClient().writeManifest(to, someManifest)).toBe(someManifest.digest);
    expect(server.asked.map(({ method, body }) => [method, body])).toEqual(
      Array(2).fill(["PUT", Buffer.from(someManifest.bytes).toString()]),
    );
  });

  // Whoever writes a tag must look at it before each try.
  test.each<[string, Answer, object]>([
    ["429", status(429, { "retry-after": "7" }), { status: 429, unclear: false, retryAfterMs: 7000 }],
    ["503", status(503), { status: 503, unclear: true }],
    ["a cut connection", (_, __, request) => request.socket.destroy(), { status: null, unclear: true }],
  ])(
    "the write of a tag is not tried again after %s: the error says that it may be",
    async (_, answer, error) => {
      const server = await startFaultServer(answer);
      const writing = quickClient().writeManifest(app(server.host), someManifest);
      await expect(writing).rejects.toMatchObject({ temporary: true, ...error });
      expect(server.asked.filter(({ method }) => method === "PUT")).toHaveLength(1);
    },
  );
});

describe("what will not work the next time fails at once", () => {
  test.each([
    [400, "REGISTRY_FAILED"],
    [403, "REGISTRY_AUTH"],
    [410, "REGISTRY_FAILED"],
    [501, "REGISTRY_FAILED"],
  ])("%d is %s", async (code, expected) => {
    const server = await startFaultServer(status(code, {}, { errors: [{ code: "DENIED", message: "no" }] }));
    const client = quickClient();
    const error = { code: expected, message: expect.stringContaining(`${code}`) };
    await expect(client.findManifest(app(server.host))).rejects.toMatchObject(error);
    await expect(client.readManifest(app(server.host))).rejects.toMatchObject({
      code: expected,
      message: expect.stringContaining("(DENIED: no)"),
    });
    expect(server.asked).toHaveLength(2);
  });

  test("an error page without end is not waited for", async () => {
    const server = await startFaultServer(endless(400));
    await expect(quickClient({ timeoutMs: 5000 }).readManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
      message: expect.stringContaining("400 Bad Request"),
    });
  });

  test("a manifest over 4 MiB is not read to its end", async () => {
    const server = await startFaultServer(endless(200));
    await expect(quickClient().readManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_ANSWER_TOO_LARGE",
      message: expect.stringContaining("longer than 4194304 bytes"),
    });
  });

  test("nobody listens", async () => {
    const host = await new Promise<string>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const address = server.address();
        const port = typeof address === "object" ? address?.port : 0;
        server.close(() => resolve(`127.0.0.1:${port}`));
      });
    });
    await expect(quickClient().findManifest(app(host))).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("something that does not speak HTTP", async () => {
    const server = createServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    await expect(quickClient({ retries: 0 }).findManifest(app(host))).rejects.toMatchObject({ exitCode: 5 });
    server.close();
  });
});

describe("time", () => {
  test.each([
    ["29 s asked for, 30 s of patience", "29", 2],
    ["a day asked for, 30 s of patience", "86400", 1],
  ])("%s", async (_, retryAfter, asked) => {
    const server = await startFaultServer(inTurn(status(429, { "retry-after": retryAfter }), status(429)));
    const client = quickClient({ patienceMs: 30_000, retries: 1 });
    await expect(client.findManifest(app(server.host))).rejects.toMatchObject({ status: 429 });
    expect(server.asked).toHaveLength(asked);
  });

  test("--timeout ends a registry that never answers", async () => {
    const silent = await startFaultServer(() => {});
    const reading = (await registryFor({ timeout: 1 }, { env: {} })).findManifest(app(silent.host));
    await expect(reading).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining("no whole answer in 1000 ms"),
    });
    expect(silent.asked).toHaveLength(1);
  });

  test("no answer at all", async () => {
    const server = await startFaultServer(() => {});
    const pass = fakeTime();
    const refused = expect(
      quickClient({ timeoutMs: 100, retries: 1 }).findManifest(app(server.host)),
    ).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringMatching(/no whole answer in 100 ms, 0 bytes came after 2 attempts/),
    });
    for (const attempt of [1, 2]) {
      // No time passes until it has asked.
      while (server.asked.length < attempt) await pass(1, 0.1);
      await pass(100, 50);
    }
    await refused;
    expect(server.asked).toHaveLength(2);
  });

  test("a byte now and then does not keep it waiting", async () => {
    const server = await startFaultServer((_, response) => {
      response.writeHead(200, { "content-type": someManifest.mediaType });
      const drip = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(drip));
    });
    await expect(
      quickClient({ timeoutMs: 300, retries: 0 }).readManifest(app(server.host)),
    ).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringMatching(/no whole answer in 300 ms, \d+ bytes came/),
    });
  });

  test("a long body that flows may take longer than the timeout", async () => {
    const blob = Buffer.alloc(400_000, "x");
    const pass = fakeTime();
    const server = await startFaultServer((_, response) => {
      response.writeHead(200);
      let sent = 0;
      const flow = setInterval(() => {
        response.write(blob.subarray(sent, sent + 50_000));
        sent += 50_000;
        if (sent < blob.length) return;
        clearInterval(flow);
        response.end();
      }, 60);
    });
    const reading = quickClient({ timeoutMs: 200, retries: 0 }).readBlob(app(server.host), digestOf(blob));
    await Promise.all([pass(900, 20), expect(reading).resolves.toHaveLength(blob.length)]);
  });

  test("the caller's signal ends requests and waits", async () => {
    const silent = await startFaultServer(() => {});
    const control = new AbortController();
    const waiting = quickClient({ signal: control.signal }).findManifest(app(silent.host));
    setTimeout(() => control.abort(), 50);
    await expect(waiting).rejects.toMatchObject({ code: "INTERRUPTED", exitCode: 130 });

    const busy = await startFaultServer(status(503, { "retry-after": "30" }));
    const second = new AbortController();
    const client = createRegistryClient({ signal: second.signal });
    const retrying = client.findManifest(app(busy.host));
    await expect.poll(() => busy.asked).toHaveLength(1);
    second.abort();
    await expect(retrying).rejects.toMatchObject({ code: "INTERRUPTED" });
    await expect(client.findManifest(app(busy.host))).rejects.toMatchObject({ code: "INTERRUPTED" });
    expect(busy.asked).toHaveLength(1);
  });
});

const certificate = selfSigned();
describe("TLS", needs(typeof certificate === "string" ? certificate : null), () => {
  const { key, cert } = typeof certificate === "string" ? { key: "", cert: "" } : certificate;

  test("a certificate that nobody signed is refused, with the way out", async () => {
    const server = await startFaultServer(serveManifest(someManifest), { key, cert });
    const client = quickClient({ plainHttp: () => false });
    await expect(client.findManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringMatching(/self-signed certificate[\s\S]*certificate authority as PEM/),
    });
    expect(server.asked).toHaveLength(0);
    expect(client.waits).toEqual([]);
  });

  test("it is accepted when its authority is given", async () => {
    const server = await startFaultServer(serveManifest(someManifest), { key, cert });
    expect(await quickClient({ plainHttp: () => false, ca: cert }).findManifest(app(server.host))).toEqual(
      found,
    );
  });

  test("a certificate of another host is refused", async () => {
    const server = await startFaultServer(serveManifest(someManifest), { key, cert });
    const other = app(server.host.replace("127.0.0.1", "localhost"));
    await expect(quickClient({ plainHttp: () => false, ca: cert }).findManifest(other)).rejects.toMatchObject(
      {
        code: "REGISTRY_UNREACHABLE",
        message: expect.stringContaining("does not match certificate"),
      },
    );
    expect(server.asked).toHaveLength(0);
  });

  test("a server without TLS", async () => {
    const server = await startFaultServer(serveManifest(someManifest));
    await expect(
      quickClient({ plainHttp: () => false }).findManifest(app(server.host)),
    ).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining("allow plain http"),
    });
  });
});

test("plain http is for loopback only", async () => {
  await expect(quickClient({ retries: 0 }).findManifest(app("registry.invalid"))).rejects.toThrow(
    "HEAD https://registry.invalid/v2/",
  );
});

function app(host: string): ReturnType<typeof parseImageReference> {
  return parseImageReference(`${host}/team/app:1`);
}

function endless(code: number): Answer {
  return (_, response) => {
    response.writeHead(code, { "content-type": someManifest.mediaType });
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 20))) {}
    };
    response.on("drain", more);
    more();
  };
}
