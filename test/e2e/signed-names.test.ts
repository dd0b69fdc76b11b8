/** A signed index is signed for one tag: real signatures in a real registry whose tags somebody else writes, and a promotion that is killed. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { moveChannel } from "../../src/fleet/publish/move-channel.ts";
import { fleetSigning } from "../../src/trust/sign/sign-fleet.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { fetchLock } from "../../src/lock/store/fetch-lock.ts";
import type { LockedChannel } from "../../src/lock/lock.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import type { FullRegistryClient } from "../../src/oci/registry/create-client.ts";
import { findEvidence } from "../../src/trust/find-evidence.ts";
import { findReferrers } from "../../src/oci/registry/find-referrers.ts";
import { verifyEvidence } from "../trust/support/verify-evidence.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { runInProcess } from "../support/run-cli.ts";
import { createSigningKey, moveTag, publishFleet, registry } from "./support/signed-fleet.ts";

const stack = inject("stack");
const key = createSigningKey();
const ref = parseImageReference;

describe("a signed index", needs(stack.available ? null : stack.reason), () => {
  let folder: string;
  let count = 0;
  /** Of a repository that no other test has. */
  let repository: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-names-"));
    writeFileSync(file("cosign.pub"), key.pem);
    writeFileSync(file("cosign.key"), key.privatePem);
    writeFileSync(file("host.json"), formatHostFacts(cpuHost()));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(() => {
    repository = `${stack.available ? stack.registry : ""}/names${count++}/app`;
  });

  const file = (path: string): string => join(folder, path);
  const run = (...args: string[]) => runInProcess(args, { cwd: folder });
  /** The tag of the answer, or the exit code and the problem's code. */
  async function resolve(tag: string, ...more: string[]): Promise<string> {
    const asked = [
      "resolve",
      `${repository}:${tag}`,
      "--host",
      file("host.json"),
      "--key",
      file("cosign.pub"),
    ];
    const { exit, out, err } = await run(...asked, ...more);
    if (exit === 0) return out.slice(repository.length + 1, out.indexOf("@"));
    return `${exit} ${/^(?:[^ ]*: )?([A-Z_]+): /m.exec(err)?.[1]}`;
  }
  async function publish(version: string, cells: readonly string[] = ["a"], tag = version): Promise<Digest> {
    const { index } = await publishFleet(repository, version, cells, tag);
    await key.sign(repository, index);
    return index;
  }
  async function move(
    name: string,
    version: string,
    known: LockedChannel | null,
    client: FullRegistryClient = registry,
  ) {
    const fetching = { connect: async () => registry, cache: null, now: () => new Date(), tell: () => {} };
    const fleet = await fetchLock(ref(`${repository}:${version}`), fetching);
    const { signer } = key;
    const others = async () => [];
    const vouching = fleetSigning(ref(repository), { registry: client, signer, format: "tag", others });
    const stated = { name, fleet, known, movedBy: "ann", at: "2026-01-01T00:00:00Z" };
    return (await moveChannel(stated, { registry: client, vouching, settleMs: 2000 })).record;
  }

  it("of one channel is no answer under another, and none of a version under a channel", async () => {
    await publish("1.0.0");
    await publish("2.0.0");
    await move("latest", "1.0.0", null);
    await move("nightly", "2.0.0", null);
    expect(await resolve("latest")).toBe("1.0.0-a");
    expect(await resolve("nightly")).toBe("2.0.0-a");
    for (const other of ["nightly", "2.0.0", "1.0.0"]) {
      await moveTag(`${repository}:latest`, `${repository}:${other}`);
      expect(await resolve("latest"), other).toBe("6 INDEX_FOREIGN");
    }
  });

  it("of one version is no answer under another, nor under a part of its number or a name", async () => {
    await publish("1.1.0");
    await publish("1.2.0");
    for (const tag of ["1.2.0", "1.1", "1", "v1.1.0", "stable", "1.1.0-cpu"]) {
      await moveTag(`${repository}:${tag}`, `${repository}:1.1.0`);
      expect(await resolve(tag), tag).toBe("6 INDEX_FOREIGN");
    }
    expect(await resolve("1.1.0")).toBe("1.1.0-a");
  });

  it("put under another version is not signed as that version by a promotion", async () => {
    await publish("1.0.0");
    await publish("1.1.0-rc1");
    await moveTag(`${repository}:1.1.0-rc1`, `${repository}:1.0.0`);
    const signing = ["--sign", "--sign-key", file("cosign.key")];
    const promoted = await run("promote", `${repository}:1.1.0-rc1`, "1.1.0", ...signing);
    expect([promoted.exit, promoted.err]).toEqual([6, expect.stringContaining("INDEX_FOREIGN")]);
    expect(await registry.findManifest(ref(`${repository}:1.1.0`))).toBeNull();
  });

  it("of another repository with the same cells is not signed as this one's by a promotion", async () => {
    await publish("1.1.0-rc1");
    const other = repository.replace(/app$/, "other/app");
    const { index } = await publishFleet(other, "1.1.0-rc1", ["a"]);
    await moveTag(`${repository}:1.1.0-rc1`, `${other}:1.1.0-rc1`);
    // With its signature.
    await key.sign(repository, index);
    const signing = ["--sign", "--sign-key", file("cosign.key")];
    const promoted = await run("promote", `${repository}:1.1.0-rc1`, "1.1.0", ...signing);
    expect([promoted.exit, promoted.err]).toEqual([6, expect.stringContaining("INDEX_FOREIGN")]);
    expect(await registry.findManifest(ref(`${repository}:1.1.0`))).toBeNull();
  });

  it("of a channel that a node saw is older than nothing under another channel", async () => {
    await publish("1.0.0");
    await publish("2.0.0");
    const forward = ["--cache", file("channels"), "--no-downgrade"];
    await move("latest", "2.0.0", null);
    await move("stable", "1.0.0", null);
    expect(await resolve("latest", ...forward)).toBe("2.0.0-a");
    expect(await resolve("stable", ...forward)).toBe("1.0.0-a");
    await moveTag(`${repository}:latest`, `${repository}:stable`);
    expect(await resolve("latest", ...forward)).toBe("6 INDEX_FOREIGN");
  });

  it("from the cache is judged by its tag too", async () => {
    await publish("1.0.0");
    await publish("2.0.0");
    await move("latest", "1.0.0", null);
    await moveTag(`${repository}:latest`, `${repository}:2.0.0`);
    const cache = ["--cache", file("cache")];
    const { exit } = await run("resolve", `${repository}:latest`, "--host", file("host.json"), ...cache);
    expect(exit).toBe(0);
    expect(await resolve("latest", ...cache)).toBe("6 INDEX_FOREIGN");
  });

  it("of a channel that once was there is an answer again, but for a node that saw the newer one", async () => {
    await publish("1.0.0");
    await publish("2.0.0");
    const first = await move("latest", "1.0.0", null);
    const old = await manifestOf(first.digest);
    await move("latest", "2.0.0", first);
    const forward = ["--cache", file("forward"), "--no-downgrade"];
    expect(await resolve("latest", ...forward)).toBe("2.0.0-a");
    await registry.writeManifest(ref(`${repository}:latest`), old);
    expect(await resolve("latest", ...forward)).toBe("6 INDEX_DOWNGRADE");
    expect(await resolve("latest")).toBe("1.0.0-a");
  });

  it("with its signed record is whole under a channel, whichever write of a promotion was the last", async () => {
    await publish("1.0.0");
    const before = await move("latest", "1.0.0", null);
    const old = await manifestOf(before.digest);
    const seen = new Set<boolean>();
    for (let last = 0, isKilled = true; isKilled; last += rounds(2, 1)) {
      const version = `2.0.${last}`;
      const { images } = await publishFleet(repository, version, ["a"]);
      for (const image of images.values()) await key.sign(repository, image, "tag");
      await registry.writeManifest(ref(`${repository}:latest`), old);
      const { client, killed } = killedAfter(last);
      await move("latest", version, before, client).catch((error: unknown) => {
        if (!killed()) throw error;
      });
      isKilled = killed();
      const answer = await resolve("latest");
      expect(["1.0.0-a", `${version}-a`], `killed after ${last} writes`).toContain(answer);
      seen.add(answer === "1.0.0-a");
      const held = await registry.findManifest(ref(`${repository}:latest`));
      const records = await signedRecords(held?.digest as Digest);
      expect(records, `killed after ${last} writes`).toContainEqual(
        expect.objectContaining({ channel: "latest", version: answer.slice(0, -2), digest: held?.digest }),
      );
    }
    expect(seen.size).toBe(2);
  });

  async function manifestOf(digest: Digest) {
    const manifest = await registry.readManifest(withDigest(ref(repository), digest));
    if (manifest === null) throw new Error(`no ${digest}`);
    return manifest;
  }

  /** The records of moves to this content. Throws for one without a good signature. */
  async function signedRecords(digest: Digest): Promise<readonly unknown[]> {
    const reference = ref(repository);
    const found = await findReferrers(registry, { reference, digest });
    const ours = found.filter(({ artifactType }) => artifactType?.includes("imgmatch.channel"));
    return Promise.all(
      ours.map(async (record) => {
        const subject = { reference, digest: record.digest };
        const signer = { kind: "key", name: "cosign.pub", pem: key.pem } as const;
        await verifyEvidence(await findEvidence(registry, subject), subject, [signer]);
        const { bytes } = await manifestOf(record.digest);
        const { layers } = JSON.parse(Buffer.from(bytes).toString());
        return JSON.parse(Buffer.from(await registry.readBlob(reference, layers[0].digest)).toString());
      }),
    );
  }
});

const writes: readonly PropertyKey[] = [
  ...["writeManifest", "writeBlob", "copyBlob", "removeTag", "removeManifest"],
];

/** A client of a program that is killed before the write after so many: nothing of the program reaches the registry any more. */
function killedAfter(most: number): { readonly client: FullRegistryClient; readonly killed: () => boolean } {
  let done = 0;
  let isDead = false;
  const client = new Proxy(registry, {
    get:
      (target, name, receiver) =>
      (...args: unknown[]) => {
        if (writes.includes(name) && done++ >= most) isDead = true;
        if (isDead) throw new Error("killed");
        return Reflect.apply(Reflect.get(target, name, receiver), target, args);
      },
  });
  return { client, killed: () => isDead };
}
