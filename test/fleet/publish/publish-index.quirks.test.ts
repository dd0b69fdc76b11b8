/** Two publishers race in registries with one quirk each: one content for a tag, no row lost, and signatures that a node finds. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { describe, expect, it, type TestContext } from "vitest";
import type { IndexedImage } from "../../../src/lock/fleet-index.ts";
import { parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import { parseImageReference, withDigest, withTag } from "../../../src/oci/reference.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { manifestOf } from "../../../src/oci/registry/manifests.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { publishImage } from "../../../src/fleet/publish/publish-image.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { findEvidence } from "../../../src/trust/find-evidence.ts";
import { fleetSigning } from "../../../src/trust/sign/sign-fleet.ts";
import { verifyEvidence } from "../../../src/trust/verify-evidence.ts";
import { createSigningKey } from "../../e2e/support/signed-fleet.ts";
import { image as lockedImage } from "../../resolve/support/locks.ts";
import { quirks, type Quirk, slowly, startQuirkyRegistry } from "./support/quirky-registry.ts";
import { numbers } from "./support/race.ts";

const key = createSigningKey();
const settleMs = 500;
/** Waits are a tenth of what they are. */
const sleep = (ms: number, signal?: AbortSignal) => sleepFor(ms / 10, undefined, signal ? { signal } : {});

/** Builds, signs and publishes one image of the same inputs under one tag, and one of its own, then both in the version's index. */
async function publish(host: string, number: number, told: string[]) {
  const repository = parseImageReference(`${host}/team/app`);
  const registry = createRegistryClient({
    sleep,
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

async function race(quirk: Quirk, { onTestFinished }: Pick<TestContext, "onTestFinished">) {
  const server = await startQuirkyRegistry(slowly(quirk, numbers(7)));
  onTestFinished(() => server.stop());
  const told: string[] = [];
  const published = await Promise.allSettled([publish(server.host, 0, told), publish(server.host, 1, told)]);
  const node = createRegistryClient({ sleep });
  const reference = parseImageReference(`${server.host}/team/app:1.0`);
  const signedBy = async (digest: Digest) => {
    const subject = { reference, digest };
    const evidence = await findEvidence(node, subject);
    return verifyEvidence(evidence, subject, [{ kind: "key", name: "k", pem: key.pem }], {
      publicRoot: () => Promise.reject(new Error("nobody asks")),
    });
  };
  return { server, told: [...new Set(told)], published, node, reference, signedBy };
}

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
});
