/** The Pod's own account before an API server that answers what a test says. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeApi } from "../../../src/node/mirror/node-api.ts";
import { selfSigned } from "../../oci/registry/support/certificate.ts";
import { type Answer, startFaultServer } from "../../oci/registry/support/fault-server.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";

const made = selfSigned();
const other = selfSigned();
const why = typeof made === "string" ? made : null;
const certificate = typeof made === "string" ? { key: "", cert: "" } : made;
const otherCa = typeof other === "string" ? "" : other.cert;

const says =
  (status: number, body: unknown): Answer =>
  (_asked, response) =>
    void response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
const node = { metadata: { name: "node-7", labels: { a: "b", c: 1 }, annotations: null } };

async function started(answer: Answer, { ca = certificate.cert, timeoutMs = 10_000 } = {}) {
  const state = { answer };
  const server = await startFaultServer((...all) => state.answer(...all), certificate);
  const [host, port] = server.host.split(":");
  const account = makeFolder({ "ca.crt": ca, token: "first\n" });
  const env = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port };
  return { state, server, account, api: await nodeApi({ node: "node-7", env, account, timeoutMs }) };
}

describe("The node in its cluster", needs(why), () => {
  it("is read and written by name, with the token as it is now", async () => {
    const { api, server, account } = await started(says(200, node));
    expect(await api.read()).toEqual({ labels: { a: "b" }, annotations: {} });
    writeFileSync(join(account, "token"), "second\n");
    await api.patch({ labels: { a: null }, annotations: {} });
    await api.tell({ type: "Warning", reason: "NoImageFits", message: `${"x".repeat(2000)}` });
    expect(server.asked.map(({ method, path, headers }) => [method, path, headers.authorization])).toEqual([
      ["GET", "/api/v1/nodes/node-7", "Bearer first"],
      ["PATCH", "/api/v1/nodes/node-7", "Bearer second"],
      ["POST", "/api/v1/namespaces/default/events", "Bearer second"],
    ]);
    const [, patch, event] = server.asked;
    expect(patch?.headers["content-type"]).toBe("application/merge-patch+json");
    expect(JSON.parse(patch?.body ?? "")).toEqual({ metadata: { labels: { a: null }, annotations: {} } });
    expect(JSON.parse(event?.body ?? "").message).toHaveLength(1024);
  });

  it.each<[string, Answer, RegExp]>([
    ["403", says(403, { message: "nodes is forbidden" }), /answered 403 to GET .*: nodes is forbidden$/],
    ["409", says(409, "conflict"), /answered 409 to GET .*: Conflict$/],
    ["429", says(429, "later"), /answered 429/],
    ["500", says(500, "x".repeat(100_000)), /answered 500/],
    ["a redirect", says(307, ""), /answered 307/],
    ["something else than a node", says(200, "[]"), /is not this node/],
    ["no end of bytes", says(200, "x".repeat(5 * 2 ** 20)), /longer than 4194304 bytes/],
  ])("that answers %s is an error for the log, and the next answer counts", async (_, answer, message) => {
    const { api, state } = await started(answer);
    await expect(api.read()).rejects.toThrow(message);
    state.answer = says(200, node);
    expect((await api.read()).labels).toEqual({ a: "b" });
  });

  it("that does not answer is not waited for", async () => {
    const { api } = await started(() => {}, { timeoutMs: 100 });
    await expect(api.read()).rejects.toThrow(/no whole answer in 100 ms/);
  });

  it("behind another certificate gets no token", async () => {
    const { api, server } = await started(says(200, node), { ca: otherCa });
    await expect(api.read()).rejects.toThrow(/self-signed certificate/);
    expect(server.asked).toEqual([]);
  });
});

describe("Without a cluster there is none:", () => {
  const account = makeFolder({ "ca.crt": "", token: "" });
  it.each([
    ["outside a Pod", "node-7", {}, account],
    ["without an account", "node-7", { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, `${account}/none`],
    ["with a path for a name", "../secrets", { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, account],
  ])("%s", async (_, name, env, folder) => {
    await expect(nodeApi({ node: name, env, account: folder })).rejects.toMatchObject({ code: "USAGE" });
  });
});
