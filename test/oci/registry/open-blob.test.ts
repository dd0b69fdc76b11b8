import { describe, expect, it } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { type BlobRequest, createBlobOpener } from "../../../src/oci/registry/open-blob.ts";
import { isLoopback } from "../../../src/oci/registry/registry-endpoint.ts";
import { fakeTime } from "../../support/fake-time.ts";
import { type Answer, startFaultServer } from "./support/fault-server.ts";

const bytes = Buffer.alloc(300_000, "layer ");
const digest = digestOf(bytes);

async function serving(answer: Answer, { timeoutMs = 60_000, silenceMs = 60_000 } = {}) {
  const server = await startFaultServer(answer);
  const open = createBlobOpener({ timeoutMs, silenceMs, plainHttp: isLoopback });
  const ask = (more: Partial<BlobRequest> = {}) =>
    open({
      repository: parseImageReference(`${server.host}/team/app`),
      digest,
      method: "GET",
      range: null,
      authorization: "Bearer mine",
      ...more,
    });
  return { server, ask };
}

async function all(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("A blob that is passed on", () => {
  it("is asked for with the caller's login and range, and comes as it is", async () => {
    const { server, ask } = await serving(
      (_, response) => void response.writeHead(200, { "content-length": bytes.length }).end(bytes),
    );
    const { status, headers, body } = await ask({ range: "bytes=5-" });
    expect([status, headers["content-length"]]).toEqual([200, String(bytes.length)]);
    expect(digestOf(await all(body))).toBe(digest);
    expect(server.asked).toMatchObject([
      {
        method: "GET",
        path: `/v2/team/app/blobs/${digest}`,
        headers: { authorization: "Bearer mine", range: "bytes=5-", "accept-encoding": "identity" },
      },
    ]);
  });

  it("is followed to the registry's storage, which hears of no login", async () => {
    const storage = await startFaultServer((_, response) => void response.writeHead(200).end(bytes));
    const { ask } = await serving(
      (_, response) => void response.writeHead(307, { location: `http://${storage.host}/signed` }).end(),
    );
    const { url, body } = await ask();
    expect(url.href).toBe(`http://${storage.host}/signed`);
    expect(digestOf(await all(body))).toBe(digest);
    expect(storage.asked[0]?.headers.authorization).toBeUndefined();
  });

  it("is followed to no other scheme, and not for ever", async () => {
    const away = await serving(
      (_, response) => void response.writeHead(307, { location: "file:///etc/passwd" }).end(),
    );
    await expect(away.ask()).rejects.toMatchObject({ code: "REGISTRY_FAILED" });
    const circle = await serving(
      (asked, response) => void response.writeHead(307, { location: asked.path }).end(),
    );
    await expect(circle.ask()).rejects.toThrow(/more than \d+ redirects/);
  });

  it("that does not begin, or whose registry is away, is an error in time", async () => {
    const { ask } = await serving(() => {}, { timeoutMs: 500 });
    await expect(ask()).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringMatching(/no answer in 500 ms/),
    });
    const reset = await serving((_, __, request) => void request.socket.destroy());
    await expect(reset.ask()).rejects.toMatchObject({ code: "REGISTRY_UNREACHABLE" });
  });

  it("that stops coming is broken off, also when what came before was read", async () => {
    const { ask } = await serving(
      (_, response) =>
        void response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(9)),
      { silenceMs: 300 },
    );
    const { body } = await ask();
    await expect(all(body)).rejects.toThrow(/nothing moved in 300 ms/);
  });

  it("that keeps coming, however slowly, is not", async () => {
    const pass = fakeTime();
    const { ask } = await serving(
      (_, response) => {
        let left = 8;
        const timer = setInterval(() => (left-- > 0 ? response.write("more ") : response.end()), 100);
        response.once("close", () => clearInterval(timer));
      },
      { timeoutMs: 500, silenceMs: 300 },
    );
    const reading = ask().then(({ body }) => all(body));
    await Promise.all([pass(1500, 20), expect(reading.then(String)).resolves.toBe("more ".repeat(8))]);
  });

  it("that is refused is not read: an endless page of an error ends", async () => {
    let closed = false;
    const { ask } = await serving((_, response) => {
      response.writeHead(500);
      const timer = setInterval(() => response.write(bytes), 5);
      response.once("close", () => {
        closed = true;
        clearInterval(timer);
      });
    });
    expect((await ask()).status).toBe(500);
    await expect.poll(() => closed).toBe(true);
  });
});
