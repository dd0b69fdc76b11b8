/** The right to push: asked for the repositories that a run writes, with its first request, and for no others. */

import { describe, expect, it } from "vitest";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { startFaultServer, status } from "./support/fault-server.ts";
import { quickClient, someManifest } from "./support/manifests.ts";
import { startQuay } from "./support/quay.ts";

const isPush = (scope: string) => scope.includes("push");

describe("a registry that shows a new repository only to those who may push", () => {
  it("has nothing there for a run that writes it, and gives one token for looks and writes", async () => {
    const quay = await startQuay();
    const app = parseImageReference(`${quay.host}/team/app:1`);
    const client = quickClient({ writes: [`${quay.host}/team/app`] });
    expect(await client.findManifest(app)).toBeNull();
    await client.writeManifest(app, someManifest);
    expect(await client.findManifest(app)).toMatchObject({ digest: someManifest.digest });
    expect(quay.scopes).toHaveLength(1);
  });

  it("gets no request to push from a run that only reads, nor about what a run does not write", async () => {
    const quay = await startQuay();
    const other = parseImageReference(`${quay.host}/team/other:1`);
    for (const writes of [[], [`${quay.host}/team/app`], ["registry.example.com/team/other"]]) {
      const client = quickClient({ writes });
      await expect(client.findManifest(other)).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
    }
    expect(quay.scopes.flat().filter(isPush)).toEqual([]);
  });
});

describe("requirePush", () => {
  it("begins an upload and takes it back", async () => {
    const quay = await startQuay();
    const app = parseImageReference(`${quay.host}/team/app`);
    await quickClient({ writes: [`${quay.host}/team/app`] }).requirePush(app);
    const done = quay.asked.filter(({ headers, path }) => headers.authorization && path !== "/token");
    expect(done.map(({ method }) => method)).toContain("DELETE");
    expect(done.some(({ method }) => method === "PUT" || method === "PATCH")).toBe(false);
  });

  it("names the right that a login lacks", async () => {
    const quay = await startQuay(["team/app"]);
    const app = parseImageReference(`${quay.host}/team/app`);
    await expect(quickClient().requirePush(app)).rejects.toMatchObject({
      problems: [{ code: "REGISTRY_AUTH", fix: expect.stringContaining("push to team/app") }],
    });
  });

  it.each([
    [401, "REGISTRY_AUTH"],
    [403, "REGISTRY_AUTH"],
    [404, "REGISTRY_FAILED"],
    [405, "REGISTRY_FAILED"],
  ])("ends for %d", async (code, expected) => {
    const { host } = await startFaultServer(status(code));
    await expect(quickClient().requirePush(parseImageReference(`${host}/team/app`))).rejects.toMatchObject({
      code: expected,
    });
  });

  it.each([429, 503])("is no refusal for %d: each image tells it by itself", async (code) => {
    const { host } = await startFaultServer(status(code));
    const client = quickClient({ retries: 1 });
    await expect(client.requirePush(parseImageReference(`${host}/team/app`))).resolves.toBeUndefined();
  });

  it("names the repository to create where ECR cuts the connection", async () => {
    const unknown = {
      errors: [{ code: "NAME_UNKNOWN", message: "The repository 'team/app' does not exist" }],
    };
    const { host } = await startFaultServer((asked, response, request) => {
      if (asked.method === "POST") return void request.socket.destroy();
      status(404, {}, unknown)(asked, response, request);
    });
    await expect(quickClient().requirePush(parseImageReference(`${host}/team/app`))).rejects.toMatchObject({
      problems: [
        {
          code: "REGISTRY_FAILED",
          fix: expect.stringContaining(`create the repository team/app in ${host}`),
        },
      ],
    });
  });

  it("is no refusal where nobody answers", async () => {
    const client = quickClient({ retries: 0 });
    await expect(client.requirePush(parseImageReference("127.0.0.1:1/team/app"))).resolves.toBeUndefined();
  });
});
