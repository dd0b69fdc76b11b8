import { describe, expect, test } from "vitest";
import { parseImageReference } from "../../../src/oci/reference.ts";
import type { Credential, CredentialStore } from "../../../src/oci/registry/credential.ts";
import { type Answer, type FaultServer, startFaultServer, status } from "./support/fault-server.ts";
import { quickClient, serveManifest, someManifest } from "./support/manifests.ts";

const password: Credential = { kind: "password", username: "ann", password: "pa:ss wörd" };
const basic = `Basic ${Buffer.from("ann:pa:ss wörd").toString("base64")}`;
const { bytes: _, ...found } = someManifest;

describe("a registry with tokens", () => {
  test("anonymous: one token for all requests of a scope", async () => {
    const server = await startTokenServer();
    const client = quickClient();
    expect(await client.findManifest(app(server.host))).toEqual(found);
    expect(await client.findManifest(app(server.host))).toEqual(found);
    expect(pathsOf(server)).toEqual([
      "/v2/team/app/manifests/1",
      "/token",
      "/v2/team/app/manifests/1",
      "/v2/team/app/manifests/1",
    ]);
    const token = tokenRequests(server)[0];
    expect(token?.path).toBe("/token?service=test&scope=repository%3Ateam%2Fapp%3Apull");
    expect(token?.headers.authorization).toBeUndefined();
  });

  test("with a name and password", async () => {
    const server = await startTokenServer();
    expect(await quickClient({ credentials: storing(password) }).findManifest(app(server.host))).toEqual(
      found,
    );
    const token = tokenRequests(server)[0];
    expect(token?.headers.authorization).toBe(basic);
    expect(token?.path).toContain("account=ann");
    const sent = server.asked
      .filter(({ path }) => path.startsWith("/v2/"))
      .map(({ headers }) => headers.authorization);
    expect(sent).toEqual([undefined, "Bearer token-1"]);
  });

  test("with an identity token", async () => {
    const server = await startTokenServer();
    await quickClient({ credentials: storing({ kind: "identity", token: "refresh" }) }).findManifest(
      app(server.host),
    );
    const token = tokenRequests(server)[0];
    expect(token).toMatchObject({ method: "POST", path: "/token" });
    expect(Object.fromEntries(new URLSearchParams(token?.body))).toEqual({
      grant_type: "refresh_token",
      client_id: "imgmatch",
      refresh_token: "refresh",
      service: "test",
      scope: "repository:team/app:pull",
    });
  });

  test("writing asks for another scope", async () => {
    const server = await startTokenServer();
    const client = quickClient();
    await client.findManifest(app(server.host));
    await client.writeManifest(app(server.host), someManifest);
    expect(
      tokenRequests(server).map(({ path }) => new URL(path, "http://x").searchParams.getAll("scope")),
    ).toEqual([["repository:team/app:pull"], ["repository:team/app:pull", "repository:team/app:pull,push"]]);
  });

  test("twenty requests at once share one token", async () => {
    const server = await startTokenServer();
    const client = quickClient();
    await Promise.all(Array.from({ length: 20 }, () => client.findManifest(app(server.host))));
    expect(tokenRequests(server)).toHaveLength(1);
  });

  test("a token that ran out is replaced, once for all", async () => {
    const server = await startTokenServer({ usesPerToken: 5 });
    const client = quickClient();
    for (let round = 0; round < 4; round++) {
      const all = await Promise.all(Array.from({ length: 5 }, () => client.findManifest(app(server.host))));
      expect(all).toEqual(Array(5).fill(found));
    }
    expect(tokenRequests(server)).toHaveLength(4);
  });

  test("a token that is never good enough ends in REGISTRY_AUTH", async () => {
    const server = await startTokenServer({ usesPerToken: 0 });
    await expect(quickClient().findManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
      message: expect.stringContaining(`docker login ${server.host}`),
    });
    expect(tokenRequests(server)).toHaveLength(2);
  });

  test.each([401, 403])("a token server that answers %d", async (code) => {
    const server = await startTokenServer({ token: status(code, {}, { details: "wrong password" }) });
    await expect(
      quickClient({ credentials: storing(password) }).findManifest(app(server.host)),
    ).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
      message: expect.stringContaining(`answered ${code} with the stored login`),
    });
  });

  test.each([
    ["in trouble", status(503)],
    ["without token in its answer", status(200, {}, {})],
    ["with a token that is no header", status(200, {}, { token: "a\r\nb" })],
    ["with an escape code in its token", status(200, {}, { token: "a\u001b[2J" })],
    ["with a NUL in its token", status(200, {}, { access_token: "a\0" })],
    ["with a token beyond Latin-1", status(200, {}, { token: "tök\u202een" })],
  ])("a token server %s", async (_, token) => {
    const server = await startTokenServer({ token });
    await expect(quickClient().findManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
    });
  });

  test("a failed token is asked for again by the next request", async () => {
    let down = true;
    const server = await startTokenServer({
      token: (asked, response, request) => {
        (down ? status(503) : status(200, {}, { access_token: "token-1" }))(asked, response, request);
      },
    });
    const client = quickClient({ retries: 0 });
    await expect(client.findManifest(app(server.host))).rejects.toMatchObject({ code: "REGISTRY_FAILED" });
    down = false;
    expect(await client.findManifest(app(server.host))).toEqual(found);
  });

  test("on one machine the login is not sent to a token server on another port", async () => {
    const thief = await startFaultServer(status(200, {}, { token: "t" }));
    const server = await startFaultServer((asked, response, request) =>
      (asked.headers.authorization === "Bearer t"
        ? serveManifest(someManifest)
        : status(401, { "www-authenticate": `Bearer realm="http://${thief.host}/token",service="x"` }))(
        asked,
        response,
        request,
      ),
    );
    for (const credential of [password, { kind: "identity", token: "refresh" }] as const)
      expect(await quickClient({ credentials: storing(credential) }).findManifest(app(server.host))).toEqual(
        found,
      );
    expect(thief.asked.map(({ method }) => method)).toEqual(["GET", "GET"]);
    expect(thief.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    expect(JSON.stringify(thief.asked)).not.toMatch(/ann|refresh/);
  });

  test("a token server's answer may begin with a byte order mark", async () => {
    const server = await startTokenServer({ token: status(200, {}, '\uFEFF{"token":"token-1"}') });
    expect(await quickClient().findManifest(app(server.host))).toEqual(found);
  });

  test("the login is not sent to a token server without TLS on another host", async () => {
    const thief = await startFaultServer(status(200, {}, { token: "x" }));
    const realm = `http://${thief.host.replace("127.0.0.1", "localhost")}/token`;
    const server = await startFaultServer(status(401, { "www-authenticate": `Bearer realm="${realm}"` }));
    const client = quickClient({ credentials: storing(password), plainHttp: (host) => host === server.host });
    await expect(client.findManifest(app(server.host))).rejects.toThrow("not an https address");
    expect(thief.asked).toEqual([]);
  });
});

describe("a registry with names and passwords", () => {
  const guarded: Answer = (asked, response, request) =>
    (asked.headers.authorization === basic
      ? serveManifest(someManifest)
      : status(401, { "www-authenticate": 'Basic realm="test"' }))(asked, response, request);

  test("the login is sent when it is asked for, and from then on", async () => {
    const server = await startFaultServer(guarded);
    const client = quickClient({ credentials: storing(password) });
    expect(await client.findManifest(app(server.host))).toEqual(found);
    expect(await client.findManifest(app(server.host))).toEqual(found);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, basic, basic]);
  });

  test.each([
    ["the wrong password", storing({ ...password, password: "x" }), 2],
    ["no login", storing(null), 1],
    ["an identity token", storing({ kind: "identity", token: "x" }), 1],
  ])("%s is REGISTRY_AUTH", async (_, credentials, requests) => {
    const server = await startFaultServer(guarded);
    await expect(quickClient({ credentials }).findManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
      exitCode: 5,
    });
    expect(server.asked).toHaveLength(requests);
  });

  test("a 401 that asks for nothing", async () => {
    const server = await startFaultServer(status(401));
    await expect(
      quickClient({ credentials: storing(password) }).findManifest(app(server.host)),
    ).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
    });
    expect(server.asked[0]?.headers.authorization).toBeUndefined();
  });

  test("a registry token is sent as it is", async () => {
    const server = await startFaultServer((asked, response, request) =>
      (asked.headers.authorization === "Bearer given"
        ? serveManifest(someManifest)
        : status(401, { "www-authenticate": 'Bearer realm="https://auth.invalid/"' }))(
        asked,
        response,
        request,
      ),
    );
    const credentials = storing({ kind: "bearer", token: "given" });
    expect(await quickClient({ credentials }).findManifest(app(server.host))).toEqual(found);
  });
});

function storing(credential: Credential | null): CredentialStore {
  return { find: async () => credential };
}

/** Registry and token server in one. Each token is good for a number of requests. */
async function startTokenServer({
  usesPerToken = Number.POSITIVE_INFINITY,
  token,
}: {
  usesPerToken?: number;
  token?: Answer;
} = {}): Promise<FaultServer> {
  let issued = 0;
  let uses = 0;
  return startFaultServer((asked, response, request) => {
    if (asked.path.startsWith("/token")) {
      uses = 0;
      const next = token ?? status(200, {}, { token: `token-${++issued}` });
      return next(asked, response, request);
    }
    const valid = asked.headers.authorization === `Bearer token-${issued || 1}` && uses++ < usesPerToken;
    const challenge = `Bearer realm="http://${asked.headers.host}/token",service="test",scope="repository:team/app:pull"`;
    const answer = !valid
      ? status(401, { "www-authenticate": challenge })
      : asked.method === "PUT"
        ? status(201)
        : serveManifest(someManifest);
    answer(asked, response, request);
  });
}

function tokenRequests({ asked }: FaultServer): FaultServer["asked"] {
  return asked.filter(({ path }) => path.startsWith("/token"));
}

function pathsOf({ asked }: FaultServer): string[] {
  return asked.map(({ path }) => path.split("?")[0] ?? "");
}

function app(host: string): ReturnType<typeof parseImageReference> {
  return parseImageReference(`${host}/team/app:1`);
}
