/** Two publishers race in registries with one quirk each: one content for a tag, no row lost, and signatures that a node finds. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import type { ImgmatchError } from "../../../src/errors.ts";
import type { IndexedImage } from "../../../src/lock/fleet-index.ts";
import { parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import { parseImageReference, withDigest, withTag } from "../../../src/oci/reference.ts";
import type { Subject } from "../../../src/oci/descriptor.ts";
import type { EvidenceReader } from "../../../src/oci/registry/client.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { manifestOf } from "../../../src/oci/registry/manifests.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { publishImage } from "../../../src/fleet/publish/publish-image.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { findEvidence } from "../../../src/trust/find-evidence.ts";
import { signImages } from "../../../src/trust/sign/sign-images.ts";
import { fleetSigning } from "../../../src/trust/sign/sign-fleet.ts";
import { verifyEvidence } from "../../../src/trust/verify-evidence.ts";
import { createSigningKey } from "../../e2e/support/signed-fleet.ts";
import { image as lockedImage } from "../../resolve/support/locks.ts";
import {
  closedQuirks,
  createStore,
  login,
  quirks,
  type Quirk,
  slowly,
  startQuirkyRegistry,
} from "./support/quirky-registry.ts";
import { numbers } from "./support/race.ts";

const key = createSigningKey();
const settleMs = 500;
/** Waits are a tenth of what they are. */
const sleep = (ms: number, signal?: AbortSignal) => sleepFor(ms / 10, undefined, signal ? { signal } : {});

const credentials = { find: async () => login };

/** Builds, signs and publishes one image of the same inputs under one tag, and one of its own, then both in the version's index. */
async function publish(host: string, number: number, told: string[], patienceMs?: number) {
  const repository = parseImageReference(`${host}/team/app`);
  const registry = createRegistryClient({
    ...{ sleep, credentials, patienceMs },
    writes: [`${host}/team/app`],
    tell: (line) => told.push(line),
  });
  const { signer } = key;
  const others = async () => [];
  const signing = fleetSigning(repository, {
    registry,
    signer,
    format: "both",
    tell: (line) => told.push(line),
    others,
  });
  const images = new Map<string, IndexedImage>();
  const { axes, platform, requires } = lockedImage();
  for (const cell of ["both", `own-${number}`]) {
    const tag = `1.0-${cell}`;
    const inputDigest = digestOf(`inputs of ${cell}`);
    const labels = { "dev.imgmatch.inputs": inputDigest };
    const config = Buffer.from(
      JSON.stringify({ os: "linux", architecture: "amd64", config: { Labels: labels }, number }),
    );
    const manifest = manifestOf("application/vnd.oci.image.manifest.v1+json", {
      config: { digest: await registry.writeBlob(repository, config), size: config.length },
      layers: [],
    });
    const watch = { signal: new AbortController().signal, onLog: () => {} };
    const { digest } = await publishImage({
      engine: { push: async (_, to) => registry.writeManifest(to, manifest) },
      registry,
      image: { id: `built by ${number}`, size: null },
      reference: withTag(repository, tag),
      ...{ platform: "linux/amd64", inputDigest, watch, settleMs, sleep },
      beforeTag: async (pushed) => void (await signing.sign(pushed, repository)),
    });
    images.set(cell, { axes, platform, inputDigest, requires, tag, digest });
  }
  const reference = withTag(repository, "1.0");
  const index = { registry, reference, name: "app", version: "1.0", images, vouching: signing };
  await publishIndex({ ...index, settleMs, sleep });
  return { shared: images.get("both")?.digest, forms: signing.done().forms };
}

/** "yes", or throws. */
async function verify(registry: EvidenceReader, subject: Subject, pem: string): Promise<"yes"> {
  const evidence = await findEvidence(registry, subject);
  await verifyEvidence(evidence, subject, [{ kind: "key", name: "k", pem }], {
    publicRoot: () => Promise.reject(new Error("nobody asks")),
  });
  return "yes";
}

async function race(quirk: Quirk, { onTestFinished }: Pick<TestContext, "onTestFinished">) {
  const server = await startQuirkyRegistry(slowly(quirk, numbers(7)));
  onTestFinished(() => server.stop());
  const told: string[] = [];
  const published = await Promise.allSettled([publish(server.host, 0, told), publish(server.host, 1, told)]);
  const node = createRegistryClient({ sleep, credentials });
  const reference = parseImageReference(`${server.host}/team/app:1.0`);
  const signedBy = (digest: Digest) => verify(node, { reference, digest }, key.pem);
  return { server, told: [...new Set(told)], published, node, reference, signedBy };
}

const byName: Readonly<Record<string, () => Quirk>> = quirks;
const names = Object.keys(quirks) as (keyof typeof quirks)[];
const immutable = names.filter((name) => name.startsWith("immutable"));
const tagsAlone = names.filter((name) => /^(artifactType|a subject|sha256-)/.test(name));

describe.concurrent("two publishers in a registry", () => {
  it.for(names.filter((name) => !immutable.includes(name)))("with %s", async (name, context) => {
    const { published, node, reference, signedBy } = await race(quirks[name](), context);
    const failures = published.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(failures).toEqual([]);
    const [one, other] = published.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(one?.shared).toBe(other?.shared);
    for (const each of [one, other])
      expect(each?.forms).toEqual(tagsAlone.includes(name) ? ["tag"] : ["bundle", "tag"]);
    const stored = await readFleetIndex(node, reference);
    if (stored === null) throw new Error("no index");
    const { entries } = parseFleetIndex(stored, reference);
    expect([...entries.keys()].sort()).toEqual(["both", "own-0", "own-1"]);
    for (const digest of [stored.top.digest, ...[...entries.values()].map(({ image }) => image.digest)])
      await signedBy(digest);
    expect((await node.findManifest(withTag(reference, "1.0-both")))?.digest).toBe(one?.shared);
    for (const { image } of entries.values())
      expect(await node.findManifest(withDigest(reference, image.digest))).not.toBeNull();
  });

  it.for(immutable)(
    "with %s, where an index cannot grow: that is said, and each tag has one content",
    async (name, context) => {
      const { published, node, reference, signedBy } = await race(quirks[name](), context);
      const failures = published.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      for (const failure of failures)
        expect(failure).toMatchObject({
          problems: [{ fix: expect.stringContaining("never changes a tag") }],
        });
      expect(failures.length).toBeLessThan(2);
      const stored = await readFleetIndex(node, reference);
      if (stored === null) throw new Error("no index");
      const { entries } = parseFleetIndex(stored, reference);
      const shared = await node.findManifest(withTag(reference, "1.0-both"));
      expect(entries.get("both")?.image.digest).toBe(shared?.digest);
      await signedBy(stored.top.digest);
    },
  );

  it.each([
    ["no repository", "create the repository team/app"],
    ["no repository, and a cut", null],
    ["429 for an hour", "log in"],
    ["no empty index", null],
    ["no unknown/unknown", null],
  ] as const)("with %s: that is said, and nothing has the version's name", async (name, fix) => {
    const server = await startQuirkyRegistry(closedQuirks[name]());
    onTestFinished(() => server.stop());
    // As `--timeout 3`: an hour is not waited for.
    const failure = await publish(server.host, 0, [], 3000).then(
      () => null,
      (error: ImgmatchError) => error,
    );
    expect(failure?.exitCode).toBe(5);
    if (fix !== null) expect(failure?.problems[0].fix).toContain(fix);
    if (name.startsWith("no empty") || name.startsWith("no unknown"))
      expect(failure?.message).toContain("MANIFEST_INVALID");
    expect([...server.store.tags.keys()]).not.toContain("team/app:1.0");
  });

  it("asks for its own part of 5,000 tags, and for all of them where the registry does not sort", async (context) => {
    const store = createStore();
    for (let tag = 0; tag < 5000; tag++) store.tags.set(`team/app:a-${tag}`, digestOf("some"));
    for (const [quirk, most] of [
      ["none", 60_000],
      ["tags/list without last", 6_000_000],
    ] as const) {
      let bytes = 0;
      const count: Quirk = async (asked, serve) => {
        const reply = await quirks[quirk]()(asked, serve);
        if (asked.kind === "tags" && reply !== "cut") bytes += JSON.stringify(reply.body).length;
        return reply;
      };
      const server = await startQuirkyRegistry(count, store);
      context.onTestFinished(() => server.stop());
      await publish(server.host, 0, []);
      expect(bytes).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(most);
    }
  });

  it("where a proxy answers 403 and HTML as it likes: no signature is lost, and nobody unsigned is believed", async (context) => {
    const random = numbers(11);
    let badness = 0;
    const html = { status: 200, headers: { "content-type": "text/html" }, body: "<html>" };
    const hostile: Quirk = (_, serve) =>
      random() < badness ? (random() < 0.5 ? { status: 403, body: "<html>" } : html) : serve();
    const server = await startQuirkyRegistry(hostile);
    context.onTestFinished(() => server.stop());
    await publish(server.host, 0, []);
    const reference = parseImageReference(`${server.host}/team/app:1.0`);
    const node = createRegistryClient({ sleep });
    const signed = (await node.findManifest(reference))?.digest;
    if (signed === undefined) throw new Error("no index");
    const evidence = await findEvidence(node, { reference, digest: signed });
    const stranger = createSigningKey();
    badness = 0.3;
    const codes = new Set<string>();
    for (let round = 0; round < 40; round++) {
      const digest: Digest = round % 2 === 0 ? signed : digestOf("unsigned");
      const trusted = round % 4 === 2 ? stranger : key;
      const verdict = await verify(node, { reference, digest }, trusted.pem).catch(
        (error) => error.problems[0].code,
      );
      codes.add(verdict);
      if (digest !== signed || trusted === stranger) expect(verdict).not.toBe("yes");
      // Signing again, and publishing again, under the same proxy.
      if (round % 8 === 0) await publish(server.host, round % 3, []).catch(() => {});
    }
    expect(codes).toContain("yes");
    badness = 0;
    const after = await findEvidence(node, { reference, digest: signed });
    for (const each of evidence) expect(after).toContainEqual(each);
    await verify(
      node,
      { reference, digest: (await node.findManifest(reference))?.digest ?? signed },
      key.pem,
    );
  });
});

describe("a node that demands a signature", () => {
  const ask = async (quirk: Quirk, context: TestContext, format: "both" | "bundle" | "tag" | null) => {
    const store = createStore();
    const plain = await startQuirkyRegistry((_, serve) => serve(), store);
    const server = await startQuirkyRegistry(quirk, store);
    context.onTestFinished(() => Promise.all([plain.stop(), server.stop()]).then(() => {}));
    const image = manifestOf("application/vnd.oci.image.manifest.v1+json", { layers: [] });
    const writer = createRegistryClient({ sleep });
    const place = parseImageReference(`${plain.host}/team/app:1`);
    await writer.writeManifest(place, image);
    if (format !== null)
      await signImages(place, [image.digest], { registry: writer, signer: key.signer, format, settleMs: 0 });
    const node = createRegistryClient({ sleep });
    const reference = parseImageReference(`${server.host}/team/app:1`);
    return verify(node, { reference, digest: image.digest }, key.pem).catch(
      ({ problems: [{ code, message }], exitCode }) => ({ code, message, exitCode }),
    );
  };

  it("finds it in the place that the registry shows", async (context) => {
    expect(await ask(quirks["403 for a missing tag"](), context, "bundle")).toBe("yes");
    for (const status of [400, 403, 405, 406, 410, 501] as const)
      expect(await ask(byName[`referrers ${status}`]?.() as Quirk, context, "tag")).toBe("yes");
    expect(await ask(quirks["referrers html"](), context, "both")).toBe("yes");
  });

  it("is told of a place that was refused, and of no signature only where all places have answered", async (context) => {
    const refused = await ask(byName["referrers 403"]?.() as Quirk, context, null);
    expect(refused).toMatchObject({
      code: "REGISTRY_FAILED",
      exitCode: 5,
      message: expect.stringContaining("403"),
    });
    expect(await ask(byName["referrers 403"]?.() as Quirk, context, "bundle")).toMatchObject({ exitCode: 5 });
    expect(await ask(quirks["403 for a missing tag"](), context, null)).toMatchObject({ exitCode: 5 });
    expect(await ask(quirks.none(), context, null)).toMatchObject({ code: "SIGNATURE_MISSING", exitCode: 6 });
    expect(await ask(byName["referrers 404"]?.() as Quirk, context, null)).toMatchObject({ exitCode: 6 });
  });
});
