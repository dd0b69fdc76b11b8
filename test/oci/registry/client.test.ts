import { describe, expect, test } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { type Answer, inTurn, startFaultServer, status } from "./support/fault-server.ts";
import { manifestOf, quickClient, serveManifest, someManifest } from "./support/manifests.ts";

const other = manifestOf({ schemaVersion: 2, layers: ["other"] });
const { bytes: _, ...found } = someManifest;

describe("findManifest", () => {
  test("404 is null, and only 404", async () => {
    const server = await startFaultServer(status(404));
    expect(await quickClient().findManifest(app(server.host))).toBeNull();
    expect(server.asked).toMatchObject([{ method: "HEAD", path: "/v2/team/app/manifests/1" }]);
    expect(server.asked[0]?.headers.accept).toContain("application/vnd.oci.image.index.v1+json");
  });

  test.each([
    ["without the digest header", { "docker-content-digest": "" }],
    ["with a digest of another kind", { "docker-content-digest": `sha512:${"0".repeat(128)}` }],
    ["with no true media type", { "content-type": "application/json" }],
  ])("a HEAD %s is followed by a GET", async (_, headers) => {
    const server = await startFaultServer(serveManifest(someManifest, headers));
    expect(await quickClient().findManifest(app(server.host))).toEqual(found);
    expect(server.asked.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
  });

  test("a HEAD by digest must name that digest", async () => {
    const server = await startFaultServer(serveManifest(other));
    const wanted = withDigest(app(server.host), someManifest.digest);
    await expect(quickClient().findManifest(wanted)).rejects.toMatchObject({
      code: "REGISTRY_DIGEST_MISMATCH",
    });
  });

  test("no tag means latest", async () => {
    const server = await startFaultServer(serveManifest(someManifest));
    await quickClient().findManifest(parseImageReference(`${server.host}/team/app`));
    expect(server.asked[0]?.path).toBe("/v2/team/app/manifests/latest");
  });
});

describe("readManifest", () => {
  test("another manifest than the digest asked for, though it is whole", async () => {
    const server = await startFaultServer(serveManifest(other));
    const wanted = withDigest(app(server.host), someManifest.digest);
    await expect(quickClient().readManifest(wanted)).rejects.toMatchObject({
      code: "REGISTRY_DIGEST_MISMATCH",
      message: expect.stringContaining(`expected ${someManifest.digest}, got ${other.digest}`),
    });
  });

  test("other bytes than the digest in the header, by tag", async () => {
    const server = await startFaultServer(
      serveManifest(other, { "docker-content-digest": someManifest.digest }),
    );
    await expect(quickClient().readManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_DIGEST_MISMATCH",
    });
  });

  test("without header the digest is that of the bytes", async () => {
    const server = await startFaultServer(serveManifest(someManifest, { "docker-content-digest": "" }));
    expect((await quickClient().readManifest(app(server.host)))?.digest).toBe(someManifest.digest);
  });

  test("a login page instead of a manifest", async () => {
    const server = await startFaultServer(
      status(200, { "content-type": "text/html" }, "<html>please log in"),
    );
    await expect(quickClient().readManifest(app(server.host))).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
    });
  });
});

describe("the media type of a manifest", () => {
  test.each([
    ["in its text", { "content-type": "application/json" }],
    ["in the answer's head", { "content-type": "application/vnd.x\u00e9" }],
  ])("is no other text, %s", async (_, headers) => {
    const server = await startFaultServer(
      serveManifest(manifestOf({ mediaType: "application/vnd.x\r\nx: y" }), headers),
    );
    for (const ask of ["findManifest", "readManifest"] as const)
      await expect(quickClient()[ask](app(server.host))).rejects.toMatchObject({
        code: "REGISTRY_FAILED",
        message: expect.stringContaining("the manifest has no media type"),
      });
  });
});

describe("readBlob", () => {
  test("other bytes than the digest", async () => {
    const server = await startFaultServer(status(200, {}, "damaged"));
    await expect(
      quickClient().readBlob(app(server.host), digestOf(Buffer.from("whole"))),
    ).rejects.toMatchObject({
      code: "REGISTRY_DIGEST_MISMATCH",
      message: expect.stringContaining(digestOf(Buffer.from("damaged"))),
    });
  });

  test("an absent blob is an error, for a manifest promised it", async () => {
    const server = await startFaultServer(status(404, {}, { errors: [{ code: "BLOB_UNKNOWN" }] }));
    await expect(quickClient().readBlob(app(server.host), digestOf(Buffer.from("x")))).rejects.toThrow(
      "BLOB_UNKNOWN",
    );
  });
});

describe("writeManifest", () => {
  test("sends exactly the bytes, with their type", async () => {
    const server = await startFaultServer(status(201, { "docker-content-digest": someManifest.digest }));
    expect(await quickClient().writeManifest(app(server.host), someManifest)).toBe(someManifest.digest);
    expect(server.asked).toMatchObject([
      {
        method: "PUT",
        path: "/v2/team/app/manifests/1",
        headers: { "content-type": someManifest.mediaType },
        body: Buffer.from(someManifest.bytes).toString(),
      },
    ]);
  });

  test("a registry that stored something else", async () => {
    const server = await startFaultServer(status(201, { "docker-content-digest": other.digest }));
    await expect(quickClient().writeManifest(app(server.host), someManifest)).rejects.toMatchObject({
      code: "REGISTRY_DIGEST_MISMATCH",
    });
  });

  test.each([400, 403, 409, 412])(
    "an immutable tag (%d) that holds these bytes already is a success",
    async (code) => {
      const server = await startFaultServer(immutable(code, serveManifest(someManifest)));
      expect(await quickClient().writeManifest(app(server.host), someManifest)).toBe(someManifest.digest);
    },
  );

  test.each([
    ["other bytes", serveManifest(other)],
    ["nothing", status(404)],
  ])("an immutable tag that holds %s is a failure", async (_, current) => {
    const server = await startFaultServer(immutable(409, current));
    await expect(quickClient().writeManifest(app(server.host), someManifest)).rejects.toThrow("409");
  });

  test("a redirect is not followed", async () => {
    const server = await startFaultServer(status(307, { location: "/elsewhere" }));
    await expect(quickClient().writeManifest(app(server.host), someManifest)).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
    });
    expect(server.asked).toHaveLength(1);
  });

  test("a reference with neither tag nor digest", async () => {
    const reference = parseImageReference("127.0.0.1:1/team/app");
    await expect(quickClient().writeManifest(reference, someManifest)).rejects.toMatchObject({
      code: "REFERENCE_INVALID",
    });
  });
});

describe("removeTag", () => {
  test.each([
    [202, true],
    [400, false],
    [405, false],
  ])("%d is %s", async (code, removed) => {
    const server = await startFaultServer(status(code));
    expect(await quickClient().removeTag(app(server.host))).toBe(removed);
  });

  test("404 is looked into", async () => {
    const gone = await startFaultServer(status(404));
    expect(await quickClient().removeTag(app(gone.host))).toBe(true);
    const there = await startFaultServer(inTurn(status(404), serveManifest(someManifest)));
    expect(await quickClient().removeTag(app(there.host))).toBe(false);
  });
});

test.each([
  [202, true],
  [400, false],
  [404, false],
  [405, false],
])("removeManifest: %d is %s", async (code, removed) => {
  const server = await startFaultServer(status(code));
  const reference = withDigest(app(server.host), someManifest.digest);
  expect(await quickClient().removeManifest(reference)).toBe(removed);
  expect(server.asked).toMatchObject([
    { method: "DELETE", path: `/v2/team/app/manifests/${someManifest.digest}` },
  ]);
});

describe("listTags", () => {
  test("follows the pages, on the same host whatever they say", async () => {
    const server = await startFaultServer(
      inTurn(
        page(["a", "b"], "/v2/team/app/tags/list?n=2&last=b"),
        page(["c"], "https://elsewhere.example/v2/team/app/tags/list?n=2&last=c"),
        page(["d"]),
      ),
    );
    expect(await tagsOf(server.host, 2)).toEqual(["a", "b", "c", "d"]);
    expect(server.asked.map(({ path }) => path)).toEqual([
      "/v2/team/app/tags/list?n=2",
      "/v2/team/app/tags/list?n=2&last=b",
      "/v2/team/app/tags/list?n=2&last=c",
    ]);
  });

  test("pages in a circle end with an error", async () => {
    const server = await startFaultServer(page(["a", "b"], "/v2/team/app/tags/list?last=b"));
    await expect(tagsOf(server.host)).rejects.toThrow("in a circle after 2 entries");
    expect(server.asked).toHaveLength(2);
  });

  test.each([
    ["no repository", status(404), []],
    ["no tags", status(200, {}, { name: "team/app", tags: null }), []],
  ])("%s is an empty list", async (_, answer, tags) => {
    const server = await startFaultServer(answer);
    expect(await tagsOf(server.host)).toEqual(tags);
  });

  test("a second page that is gone is an error, not the end", async () => {
    const server = await startFaultServer(inTurn(page(["a"], "?last=a"), status(404)));
    await expect(tagsOf(server.host)).rejects.toMatchObject({ code: "REGISTRY_FAILED" });
  });

  test.each(["<html>", { tags: "a" }, { tags: [1] }])("%j is not a list", async (body) => {
    const server = await startFaultServer(status(200, {}, body));
    await expect(tagsOf(server.host)).rejects.toThrow("not a list of tags");
  });
});

function page(tags: string[], next?: string): Answer {
  return status(200, next === undefined ? {} : { link: `<${next}>; rel="next"` }, { name: "team/app", tags });
}

function immutable(code: number, current: Answer): Answer {
  const refusal = status(code, {}, { errors: [{ code: "DENIED", message: "tag is immutable" }] });
  return (asked, response, request) => (asked.method === "PUT" ? refusal : current)(asked, response, request);
}

async function tagsOf(host: string, pageSize = 1000): Promise<string[]> {
  const tags: string[] = [];
  for await (const tag of quickClient({ pageSize }).listTags(app(host))) tags.push(tag);
  return tags;
}

function app(host: string): ReturnType<typeof parseImageReference> {
  return parseImageReference(`${host}/team/app:1`);
}
