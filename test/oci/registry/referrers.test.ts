/** The artifacts that name an image as their subject: right and wrong answers of registries. */

import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { registryLimits } from "../../../src/io/limits.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { goOn } from "../../../src/oci/registry/ask.ts";
import type { RegistryError } from "../../../src/oci/registry/registry-error.ts";
import {
  cosignTags,
  referrersTag,
  signatureTag,
  subjectOfTag,
} from "../../../src/oci/registry/attachment-tags.ts";
import { parseReferrers } from "../../../src/oci/registry/referrers.ts";
import { type Answer, startFaultServer } from "./support/fault-server.ts";
import { quickClient } from "./support/manifests.ts";

const digest = digestOf("an image");
const entry = (name: string) => ({
  digest: digestOf(name),
  mediaType: "application/vnd.oci.image.manifest.v1+json",
  size: 7,
  artifactType: "text/plain",
  annotations: { a: "b" },
});
const json =
  (body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response
      .writeHead(200, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
const status =
  (code: number): Answer =>
  (_, response) =>
    void response.writeHead(code).end();

async function ask(answer: Answer, advises = false): Promise<unknown> {
  const { host } = await startFaultServer(answer);
  const refused: string[] = [];
  const onRefusal = ({ status }: RegistryError) => void refused.push(`refused ${status}`);
  const found = await quickClient({ retries: 1 })
    .readReferrers(parseImageReference(`${host}/team/app`), digest, advises ? { onRefusal } : {})
    .catch((error) => (error instanceof ImgmatchError ? error.code : String(error)));
  return refused[0] ?? found;
}

describe("readReferrers", () => {
  it("answers what the registry lists, and null where it has no such API", async () => {
    expect(await ask(json({ schemaVersion: 2, manifests: [entry("a")] }))).toEqual([entry("a")]);
    expect(await ask(json({ manifests: [] }))).toEqual([]);
    expect(await ask(status(404))).toBeNull();
  });

  it("a failure is a failure, and never nobody", async () => {
    expect(await ask(status(401))).toBe("REGISTRY_AUTH");
    expect(await ask(status(403))).toBe("REGISTRY_AUTH");
    expect(await ask(status(500))).toBe("REGISTRY_FAILED");
    expect(await ask((_, response) => void response.destroy())).toBe("REGISTRY_UNREACHABLE");
    expect(await ask(json([1]))).toBe("REGISTRY_FAILED");
    expect(await ask((_, response) => void response.writeHead(200).end("<html>"))).toBe("REGISTRY_FAILED");
  });

  it("may be refused where it advises, and a registry in trouble has not refused", async () => {
    for (const code of [400, 403, 405, 406, 410, 501])
      expect(await ask(status(code), true)).toBe(`refused ${code}`);
    const html: Answer = (_, response) => void response.writeHead(200).end("<html>");
    expect(await ask(html, true)).toBe("refused null");
    expect(await ask(status(404), true)).toBeNull();
    for (const advises of [true, false]) expect(await ask(json({ manifests: null }), advises)).toBeNull();
    expect(await ask(status(401), true)).toBe("REGISTRY_AUTH");
    for (const code of [429, 500, 503, 505]) expect(await ask(status(code), true)).toBe("REGISTRY_FAILED");
    expect(await ask((_, response) => void response.destroy(), true)).toBe("REGISTRY_UNREACHABLE");
    const second: Answer = (asked, response, request) =>
      (asked.path.includes("next")
        ? status(403)
        : json({ manifests: [entry("a")] }, { link: '<?next=1>; rel="next"' }))(asked, response, request);
    expect(await ask(second, true)).toBe("REGISTRY_AUTH");
  });

  it("takes 401 for a refusal once the login was good for a deciding request", async () => {
    const lines: string[] = [];
    const { host } = await startFaultServer((asked, response, request) =>
      status(asked.path.includes("/manifests/") ? 404 : 401)(asked, response, request),
    );
    const client = quickClient({ retries: 1, tell: (line) => lines.push(line) });
    const app = parseImageReference(`${host}/team/app`);
    const list = () => client.readReferrers(app, digest, goOn);
    await expect(list()).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
    await client.findManifest(parseImageReference(`${host}/team/other:1`));
    await expect(list()).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
    await client.findManifest(app);
    expect(await list()).toBeNull();
    expect(lines).toEqual([expect.stringContaining("(401)")]);
  });

  it("follows pages, and ends where they do not", async () => {
    const pages = await ask((asked, response) => {
      const isFirst = !asked.path.includes("next");
      const link = { link: `<${asked.path}?next=1>; rel="next"` };
      json({ manifests: [entry(isFirst ? "a" : "b")] }, isFirst ? link : {})(asked, response, null as never);
    });
    expect(pages).toEqual([entry("a"), entry("b")]);
    let page = 0;
    const endless: Answer = (asked, response, request) =>
      json({ manifests: [entry(`${page++}`)] }, { link: '<?next=1>; rel="next"' })(asked, response, request);
    expect(await ask(endless)).toBe("REGISTRY_ANSWER_TOO_LARGE");
    expect(page).toBe(registryLimits.referrers + 1);
    expect(await ask(json({ manifests: [] }, { link: '<?next=1>; rel="next"' }))).toBe("REGISTRY_FAILED");
  });
});

it("reads descriptors alone out of a list", () => {
  const list = (manifests: unknown) => parseReferrers(Buffer.from(JSON.stringify({ manifests })));
  expect(
    list([entry("a"), null, 7, {}, { ...entry("b"), size: -1 }, { ...entry("c"), digest: "d" }]),
  ).toEqual([entry("a")]);
  expect(list("none")).toBeNull();
  expect(referrersTag(digest)).toBe(`sha256-${digest.slice(7)}`);
  const tags = [referrersTag(digest), ...cosignTags(digest)];
  expect(cosignTags(digest)).toContain(signatureTag(digest));
  expect(tags.map(subjectOfTag)).toEqual(Array(4).fill(digest));
  expect(["1.0", `${tags[0]}0`, `${tags[0]}.other`, digest].map(subjectOfTag)).toEqual(Array(4).fill(null));
});
