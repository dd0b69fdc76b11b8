/** A tag that is not there, in a registry that answers 403 for it: told from a hidden one by proof alone. */

import { describe, expect, it, onTestFinished } from "vitest";
import { parseImageReference } from "../../../src/oci/reference.ts";
import {
  createStore,
  type Quirk,
  quirks,
  type Reply,
  startQuirkyRegistry,
} from "../../fleet/publish/support/quirky-registry.ts";
import { quickClient, someManifest } from "./support/manifests.ts";

const artifactory = quirks["403 for a missing tag"];
const denied: Reply = { status: 403, body: { errors: [{ code: "DENIED", message: "no" }] } };

async function find(quirk: Quirk, { writes = true, tag = "1.0" } = {}) {
  const store = createStore();
  store.tags.set("team/app:there", someManifest.digest);
  store.manifests.set(someManifest.digest, {
    bytes: Buffer.from(someManifest.bytes),
    mediaType: someManifest.mediaType,
  });
  const server = await startQuirkyRegistry(quirk, store);
  onTestFinished(() => server.stop());
  const client = quickClient({ writes: writes ? [`${server.host}/team/app`] : [] });
  const asked = client.findManifest(parseImageReference(`${server.host}/team/app:${tag}`));
  const found = await asked.catch((error) => error.code as string);
  return { found, server, left: [...store.tags.keys()] };
}

describe("a 403 for a tag", () => {
  it("is an absence for a run that writes the repository, and leaves nothing behind", async () => {
    const { found, left } = await find(artifactory());
    expect(found).toBeNull();
    expect(left).toEqual(["team/app:there"]);
  });

  it("is a refusal for a run that only reads: it writes nothing", async () => {
    const { found, server } = await find(artifactory(), { writes: false });
    expect(found).toBe("REGISTRY_AUTH");
    expect(server.asked.every(({ method }) => method === "GET" || method === "HEAD")).toBe(true);
  });

  it.each<[string, (asked: Parameters<Quirk>[0], serve: () => Reply) => Reply]>([
    ["the tag is hidden: the list names it", ({ name }, serve) => (name === "there" ? denied : serve())],
    ["the list is refused", ({ kind }, serve) => (kind === "tags" ? denied : serve())],
    [
      "the list is a page",
      ({ kind }, serve) => (kind === "tags" ? { status: 200, body: "<html>" } : serve()),
    ],
    [
      "the list is empty",
      ({ kind }, serve) => (kind === "tags" ? { status: 200, body: { tags: [] } } : serve()),
    ],
    [
      "no tag can be read",
      ({ kind, method, name }, serve) =>
        kind === "manifests" && method !== "PUT" && !name.startsWith("sha256:") ? denied : serve(),
    ],
    [
      "its own tag is refused",
      ({ kind, method }, serve) => (kind === "manifests" && method === "PUT" ? denied : serve()),
    ],
    [
      "the refusals have no code",
      ({ kind, method }, serve) => {
        const reply = serve();
        return kind === "manifests" && method !== "PUT" && reply !== "cut" && reply.status === 403
          ? { status: 403, body: "<html>" }
          : reply;
      },
    ],
  ])("stays an error where %s", async (why, wrong) => {
    const base = artifactory();
    const quirk: Quirk = (asked, serve) => wrong(asked, () => base(asked, serve) as Reply);
    const { found } = await find(quirk, { tag: why.startsWith("the tag is hidden") ? "there" : "1.0" });
    expect(found).toBe("REGISTRY_AUTH");
  });

  it("stays an error where a name that nobody has written gets another answer", async () => {
    const other: Quirk = (asked, serve) =>
      asked.kind === "manifests" && asked.name === "1.0" ? denied : serve();
    expect((await find(other)).found).toBe("REGISTRY_AUTH");
  });

  it("is no absence where another publisher writes the tag meanwhile", async () => {
    let looks = 0;
    const quirk: Quirk = (asked, serve) =>
      asked.name === "there" && looks++ === 0 ? denied : artifactory()(asked, serve);
    expect((await find(quirk, { tag: "there" })).found).toMatchObject({ digest: someManifest.digest });
  });
});
