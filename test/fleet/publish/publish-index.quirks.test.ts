/** Two publishers race in registries with one quirk each: one content for a tag, no row lost, and signatures that a node finds. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { describe, expect, it, type TestContext } from "vitest";
import type { ImgmatchError } from "../../../src/errors.ts";
import type { IndexedImage } from "../../../src/lock/fleet-index.ts";
import { parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import { parseImageReference, withDigest, withTag } from "../../../src/oci/reference.ts";
import type { Subject } from "../../../src/oci/descriptor.ts";
import type { EvidenceReader } from "../../../src/oci/registry/client.ts";
import type { CredentialStore } from "../../../src/oci/registry/credential.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import {
  createForwardingClient,
  type ForwardingClient,
} from "../../../src/oci/registry/forwarding-client.ts";
import { manifestOf } from "../../../src/oci/registry/manifests.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { copyImage } from "../../../src/fleet/publish/copy-image.ts";
import { publishImage } from "../../../src/fleet/publish/publish-image.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { findEvidence } from "../../../src/trust/find-evidence.ts";
import { findProvenance } from "../../../src/trust/provenance/find-provenance.ts";
import { signImages } from "../../../src/trust/sign/sign-images.ts";
import { fleetSigning } from "../../../src/trust/sign/sign-fleet.ts";
import { verifyEvidence } from "../../../src/trust/verify-evidence.ts";
import { createSigningKey } from "../../e2e/support/signed-fleet.ts";
import { image as lockedImage } from "../../resolve/support/locks.ts";
import { isLong } from "../../support/long.ts";
import {
  closedQuirks,
  createStore,
  identity,
  login,
  quirks,
  type Quirk,
  slowly,
  startQuirkyRegistry,
  uploadQuirks,
} from "./support/quirky-registry.ts";
import { numbers } from "./support/race.ts";

const key = createSigningKey();
const settleMs = 500;
/** Waits are a tenth of what they are. */
const sleep = (ms: number, signal?: AbortSignal) => sleepFor(ms / 10, undefined, signal ? { signal } : {});

/** What Azure's own login writes, and what a password's does. */
const credentials = {
  find: async () => login,
  identity: { find: async () => ({ kind: "identity", token: identity.token }) as const },
};

const mebibyte = 1024 * 1024;
/** More than some registries take at once. */
const base = Buffer.alloc(9 * mebibyte, "of another repository ");

interface Publishing {
  readonly told?: string[];
  readonly patienceMs?: number;
  readonly logins?: CredentialStore;
  /** Brings a layer from another repository of the registry, and sends one of its own. */
  readonly layers?: boolean;
}

/** Builds, signs and publishes one image of the same inputs under one tag, and one of its own, then both in the version's index. */
async function publish(
  host: string,
  number: number,
  { told = [], patienceMs, logins = credentials, layers: hasLayers = false }: Publishing = {},
) {
  const repository = parseImageReference(`${host}/team/app`);
  const registry = createRegistryClient({
    ...{ sleep, credentials: logins, patienceMs },
    writes: [`${host}/team/app`],
    tell: (line) => told.push(line),
  });
  await registry.requirePush(repository);
  const bring = async () => {
    const blob = { digest: digestOf(base), size: base.length };
    await registry.copyBlob(parseImageReference(`${host}/team/base`), repository, blob);
    const own = Buffer.alloc(9 * mebibyte, `of ${number} `);
    return [blob, { digest: await registry.writeBlob(repository, own), size: own.length }];
  };
  const layers = hasLayers ? await bring() : [];
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
      layers,
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

async function race(
  quirk: Quirk,
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  { store = createStore(), ...how }: Publishing & { readonly store?: ReturnType<typeof createStore> } = {},
) {
  const server = await startQuirkyRegistry(slowly(quirk, numbers(7)), store);
  onTestFinished(() => server.stop());
  server.store.keepBlob("team/base", base);
  const told: string[] = [];
  const published = await Promise.allSettled(
    [0, 1].map((number) => publish(server.host, number, { ...how, told })),
  );
  const node = createRegistryClient({ sleep, credentials: how.logins ?? credentials });
  const reference = parseImageReference(`${server.host}/team/app:1.0`);
  const signedBy = (digest: Digest) => verify(node, { reference, digest }, key.pem);
  const failures = published.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  /** One content for a tag, each row of the index there, all of it signed. */
  const expectWhole = async (cells: readonly string[]) => {
    const stored = await readFleetIndex(node, reference);
    if (stored === null) throw new Error("no index");
    const { entries } = parseFleetIndex(stored, reference);
    expect([...entries.keys()].sort()).toEqual(cells);
    for (const digest of [stored.top.digest, ...[...entries.values()].map(({ image }) => image.digest)])
      await signedBy(digest);
    for (const { image } of entries.values()) {
      expect((await node.findManifest(withTag(reference, image.tag)))?.digest).toBe(image.digest);
      expect(await node.findManifest(withDigest(reference, image.digest))).not.toBeNull();
    }
    return entries;
  };
  return { server, told: [...new Set(told)], published, failures, node, reference, signedBy, expectWhole };
}

const byName: Readonly<Record<string, () => Quirk>> = { ...uploadQuirks, ...quirks };
const names: readonly string[] = Object.keys(byName);
const immutable = names.filter((name) => name.startsWith("immutable"));
const tagsAlone = names.filter((name) => /^(artifactType|a subject|sha256-)/.test(name));
const quirkOf = (name: string): Quirk => {
  const make = byName[name];
  if (make === undefined) throw new Error(`no ${name}`);
  return make();
};

describe.concurrent("two publishers in a registry", () => {
  /** The same in CI as its neighbours. */
  const isRepeated = (name: string) => /^mount (403|404|405)/.test(name);
  const growing = names.filter((name) => !immutable.includes(name) && (isLong || !isRepeated(name)));
  it.for(growing)("with %s", async (name, context) => {
    const layers = Object.hasOwn(uploadQuirks, name);
    const logins = name === "an identity token" ? credentials.identity : credentials;
    const { server, published, failures, expectWhole } = await race(quirkOf(name), context, {
      layers,
      logins,
    });
    expect(failures).toEqual([]);
    const [one, other] = published.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(one?.shared).toBe(other?.shared);
    for (const each of [one, other])
      expect(each?.forms).toEqual(tagsAlone.includes(name) ? ["tag"] : ["bundle", "tag"]);
    const entries = await expectWhole(["both", "own-0", "own-1"]);
    expect(entries.get("both")?.image.digest).toBe(one?.shared);
    if (!layers) return;
    // What was brought is the same for both, what was sent is each one's own.
    const large = [...server.store.blobs.values()].filter(({ length }) => length === base.length);
    expect(large).toHaveLength(3);
  });

  it.for(immutable)(
    "with %s, where an index cannot grow: that is said, and each tag has one content",
    async (name, context) => {
      const { failures, node, reference, signedBy } = await race(quirkOf(name), context);
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

  const closed: readonly (readonly [keyof typeof closedQuirks, string, string | null])[] = [
    ["no repository", "NAME_UNKNOWN", "create the repository team/app"],
    ["no repository, and a cut", "NAME_UNKNOWN", "create the repository team/app"],
    ["429 for an hour", "429 Too Many Requests", "log in"],
    ["no empty index", "MANIFEST_INVALID", null],
    ["no unknown/unknown", "MANIFEST_INVALID", null],
  ];
  it.for(closed)(
    "with %s: that is said, nothing has the version's name, and what was there stays",
    async ([name, words, fix], context) => {
      // As `--timeout 3`: an hour is not waited for.
      const shut = await race(closedQuirks[name](), context, { patienceMs: 3000 });
      expect([...shut.server.store.tags.keys()]).not.toContain("team/app:1.0");
      // The registry took the fleet once.
      const open = await startQuirkyRegistry((_, serve) => serve());
      context.onTestFinished(() => open.stop());
      await publish(open.host, 2);
      const before = new Map(open.store.tags);
      const again = await race(closedQuirks[name](), context, { patienceMs: 3000, store: open.store });
      for (const failure of [...shut.failures, ...again.failures] as readonly ImgmatchError[]) {
        expect(failure.exitCode).toBe(5);
        expect(failure.message).toContain(words);
        if (fix !== null) expect(failure.problems[0].fix).toContain(fix);
      }
      expect([shut.failures.length, again.failures.length]).toEqual([2, 2]);
      for (const [tag, digest] of before) expect([tag, open.store.tags.get(tag)]).toEqual([tag, digest]);
    },
  );

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
      await publish(server.host, 0);
      expect(bytes).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(most);
    }
  });
});

describe("a node that demands a signature", () => {
  type Node = Pick<ForwardingClient, keyof EvidenceReader>;
  const alone = (): Node => createRegistryClient({ sleep });
  const ask = async (
    quirk: Quirk,
    context: TestContext,
    format: "both" | "bundle" | "tag" | null,
    node = alone(),
  ) => {
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
    const reference = parseImageReference(`${server.host}/team/app:1`);
    return verify(node, { reference, digest: image.digest }, key.pem).catch(
      ({ problems: [{ code, message }], exitCode }) => ({ code, message, exitCode }),
    );
  };

  it("finds it in the place that the registry shows", async (context) => {
    expect(await ask(quirks["403 for a missing tag"](), context, "bundle")).toBe("yes");
    for (const status of [400, 403, 405, 406, 410, 501] as const)
      expect(await ask(quirkOf(`referrers ${status}`), context, "tag")).toBe("yes");
    expect(await ask(quirks["referrers html"](), context, "both")).toBe("yes");
  });

  it("finds it as a mirror too, with the caller's right alone", async (context) => {
    const mirror = () => createForwardingClient({})(null);
    for (const status of [400, 403, 405, 406, 410, 501] as const)
      expect(await ask(quirkOf(`referrers ${status}`), context, "tag", mirror())).toBe("yes");
    expect(await ask(quirks["referrers html"](), context, "both", mirror())).toBe("yes");
    expect(await ask(quirkOf("referrers 406"), context, null, mirror())).toMatchObject({ exitCode: 5 });
    expect(await ask(quirks.none(), context, null, mirror())).toMatchObject({ exitCode: 6 });
  });

  it("is told of a place that was refused, and of no signature only where all places have answered", async (context) => {
    const refused = await ask(quirkOf("referrers 403"), context, null);
    expect(refused).toMatchObject({
      code: "REGISTRY_FAILED",
      exitCode: 5,
      message: expect.stringContaining("403"),
    });
    expect(await ask(quirkOf("referrers 403"), context, "bundle")).toMatchObject({ exitCode: 5 });
    expect(await ask(quirks["403 for a missing tag"](), context, null)).toMatchObject({ exitCode: 5 });
    expect(await ask(quirks.none(), context, null)).toMatchObject({ code: "SIGNATURE_MISSING", exitCode: 6 });
    expect(await ask(quirkOf("referrers 404"), context, null)).toMatchObject({ exitCode: 6 });
  });
});

describe("where a list decides", () => {
  const image = manifestOf("application/vnd.oci.image.manifest.v1+json", { layers: [] });
  const start = async (quirk: Quirk, { onTestFinished }: TestContext) => {
    const server = await startQuirkyRegistry(quirk);
    onTestFinished(() => server.stop());
    const registry = createRegistryClient({ sleep });
    const reference = parseImageReference(`${server.host}/team/app:1`);
    await registry.writeManifest(reference, image);
    return { registry, server, reference, subject: { reference, digest: image.digest } };
  };
  const refusing = ["referrers 403", "referrers 406", "referrers html", "403 for a missing tag"];

  it.for(refusing)("a copy and a look for provenance end with an error: %s", async (name, context) => {
    const { registry, reference, subject } = await start(quirkOf(name), context);
    const other = await start(quirks.none(), context);
    const to = withTag(other.reference, "copied");
    const copied = copyImage(withDigest(reference, image.digest), to, { registry, sleep, settleMs });
    await expect(copied).rejects.toMatchObject({ exitCode: 5 });
    expect([...other.server.store.tags.keys()]).toEqual(["team/app:1"]);
    const found = findProvenance(registry, subject, "linux/amd64");
    await expect(found).rejects.toMatchObject({ exitCode: 5 });
  });

  it.for(tagsAlone)(
    "bundles alone name the form that is taken, and that form is: %s",
    async (name, context) => {
      const { registry, reference, subject } = await start(quirkOf(name), context);
      const sign = (format: "bundle" | "tag") =>
        signImages(reference, [image.digest], { registry, signer: key.signer, format, settleMs: 0, sleep });
      const failure = await sign("bundle").catch((error) => error.problems[0]);
      expect(failure.fix).toContain("--sign-format tag");
      expect(await sign("tag")).toMatchObject({ signed: [image.digest], forms: ["tag"] });
      expect(await verify(registry, subject, key.pem)).toBe("yes");
    },
  );
});
