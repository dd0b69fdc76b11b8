import { describe, expect, test } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import type { CredentialStore } from "../../../src/oci/registry/credential.ts";
import { withRedirects } from "../../../src/oci/registry/redirect.ts";
import type { HttpRequest, HttpResponse } from "../../../src/oci/registry/transport.ts";
import { type Answer, startFaultServer, status } from "./support/fault-server.ts";
import { quickClient } from "./support/manifests.ts";

const blob = Buffer.from("content");
const login = `Basic ${Buffer.from("ann:secret").toString("base64")}`;
const credentials: CredentialStore = {
  find: async () => ({ kind: "password", username: "ann", password: "secret" }),
};

describe("a blob that lies elsewhere", () => {
  test("is read there without the login", async () => {
    const storage = await startFaultServer(status(200, {}, "content"));
    const server = await startFaultServer(
      guarded(status(307, { location: `http://${storage.host}/blob?sig=1` })),
    );
    const client = quickClient({ credentials });
    const read = await client.readBlob(app(server.host), digestOf(blob));
    expect(Buffer.from(read)).toEqual(blob);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, login]);
    expect(storage.asked).toMatchObject([{ method: "GET", path: "/blob?sig=1" }]);
    expect(storage.asked[0]?.headers).not.toHaveProperty("authorization");
  });

  test("a storage that asks for a login gets none, and its address is shown without signature", async () => {
    const thief = await startFaultServer((asked, response, request) => {
      const challenge = `Bearer realm="http://${asked.headers.host}/token"`;
      status(401, { "www-authenticate": challenge })(asked, response, request);
    });
    const server = await startFaultServer(
      guarded(status(302, { location: `http://${thief.host}/blob?sig=hidden` })),
    );
    const read = quickClient({ credentials }).readBlob(app(server.host), digestOf(blob));
    await expect(read).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
      message: expect.not.stringContaining("hidden"),
    });
    expect(thief.asked.map(({ path }) => path)).toEqual(["/blob?sig=hidden"]);
    expect(thief.asked[0]?.headers).not.toHaveProperty("authorization");
  });

  test("on the same host the login stays", async () => {
    const server = await startFaultServer(
      guarded((asked, response, request) =>
        (asked.path === "/moved" ? status(200, {}, "content") : status(308, { location: "/moved" }))(
          asked,
          response,
          request,
        ),
      ),
    );
    await quickClient({ credentials }).readBlob(app(server.host), digestOf(blob));
    expect(server.asked.at(-1)).toMatchObject({ path: "/moved", headers: { authorization: login } });
  });

  test("the way out and back does not bring the login back", async () => {
    let home = "";
    const away = await startFaultServer((asked, response, request) =>
      status(302, { location: `http://${home}/back` })(asked, response, request),
    );
    const server = await startFaultServer((asked, response, request) =>
      (asked.path === "/back"
        ? status(200, {}, "content")
        : guarded(status(302, { location: `http://${away.host}/` })))(asked, response, request),
    );
    home = server.host;
    await quickClient({ credentials }).readBlob(app(server.host), digestOf(blob));
    expect(server.asked.at(-1)?.headers).not.toHaveProperty("authorization");
  });

  test("content from there is checked too", async () => {
    const storage = await startFaultServer(status(200, {}, "changed"));
    const server = await startFaultServer(status(307, { location: `http://${storage.host}/blob` }));
    await expect(quickClient().readBlob(app(server.host), digestOf(blob))).rejects.toMatchObject({
      code: "REGISTRY_DIGEST_MISMATCH",
    });
  });

  test("five redirects, no more", async () => {
    const server = await startFaultServer((asked, response, request) => {
      const step = Number(/step(\d)/.exec(asked.path)?.[1] ?? 0);
      status(302, { location: `/step${step + 1}` })(asked, response, request);
    });
    await expect(quickClient().readBlob(app(server.host), digestOf(blob))).rejects.toThrow(
      "more than 5 redirects",
    );
    expect(server.asked).toHaveLength(6);
  });

  test.each([undefined, "http://", "ftp://127.0.0.1/x", "http://storage.invalid/x"])(
    "to %s is refused",
    async (location) => {
      const server = await startFaultServer(status(302, location === undefined ? {} : { location }));
      await expect(quickClient().readBlob(app(server.host), digestOf(blob))).rejects.toMatchObject({
        code: "REGISTRY_FAILED",
        message: expect.stringContaining("redirects to"),
      });
    },
  );
});

test.each(["http://127.0.0.1:1/x", "http://registry.example/x"])(
  "from https to %s is refused, also where plain http is allowed",
  async (location) => {
    const asked: HttpRequest[] = [];
    const send = withRedirects(
      async (request) => {
        asked.push(request);
        return answer(request, 302, { location });
      },
      () => true,
    );
    await expect(
      send({ method: "GET", url: new URL("https://registry.example/v2/"), headers: {}, maxBytes: 1 }),
    ).rejects.toThrow("not https");
    expect(asked).toHaveLength(1);
  },
);

function answer({ url }: HttpRequest, code: number, headers: HttpResponse["headers"]): HttpResponse {
  return { status: code, statusText: "", headers, body: new Uint8Array(), url, attempts: 1 };
}

function guarded(inside: Answer): Answer {
  return (asked, response, request) =>
    (asked.headers.authorization === login
      ? inside
      : status(401, { "www-authenticate": 'Basic realm="test"' }))(asked, response, request);
}

function app(host: string): ReturnType<typeof parseImageReference> {
  return parseImageReference(`${host}/team/app:1`);
}
