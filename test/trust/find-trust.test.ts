/** A fleet from a registry, with somebody who has to vouch for it: by the registry, by a cache, and against what a registry can do. */

import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import type { IndexLock } from "../../src/lock/lock.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { publishIndex } from "../../src/fleet/publish/publish-index.ts";
import { type FetchOptions, fetchFleet } from "../../src/lock/store/fetch-lock.ts";
import { type TrustOptions, trustBy } from "../../src/trust/find-trust.ts";
import { noPublicRoot } from "../../src/trust/no-public-root.ts";
import { parseTrustPolicy } from "../../src/trust/policy/parse-policy.ts";
import { takeForward } from "../../src/trust/seen-indexes.ts";
import { createMemoryRegistry, type MemoryRegistry } from "../fleet/publish/support/memory-registry.ts";
import { image } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { createTestKey } from "./support/sign.ts";

const key = createTestKey();
const otherKey = createTestKey("other.pub");
const ref = parseImageReference;
const app = (tag: string) => ref(`registry.example.com/team/app:${tag}`);

let registry: MemoryRegistry;
let asked: number;
let told: string[];
let cache: string;

beforeEach(() => {
  registry = createMemoryRegistry();
  asked = 0;
  told = [];
  cache = makeFolder({});
});

/** Writes the index of a version, and answers its digest. Under another tag it takes the place of what is there, as a channel's does. */
async function publish(version: string, cells: readonly string[], tag = version, name = "app") {
  const { axes, platform, inputDigest, requires } = image();
  const images = cells.map((cell) => {
    const digest = registry.pushImage(`${version}-${cell}`, {}, cell);
    return [cell, { axes, platform, inputDigest, requires, tag: `${version}-${cell}`, digest }] as const;
  });
  const replace = tag !== version;
  await publishIndex({ registry, reference: app(tag), name, version, images: new Map(images), replace });
  const digest = registry.tags.get(tag);
  if (digest === undefined) throw new Error(`no ${tag}`);
  return digest;
}

async function publishSigned(version: string, cells: readonly string[], tag = version, name = "app") {
  const digest = await publish(version, cells, tag, name);
  await key.sign(registry, app(tag), digest);
  return digest;
}

const policyOf = (text: string) => parseTrustPolicy(text, "trust.yaml");
const trustOptions = (more: Partial<TrustOptions> = {}): TrustOptions => ({
  policies: [],
  signers: [key.signer],
  refuseDowngrade: null,
  cache,
  env: { KEY: key.signer.pem, OTHER: otherKey.signer.pem },
  ...more,
});

interface Asking extends Partial<FetchOptions> {
  readonly by?: Partial<Parameters<typeof trustBy>[0]>;
  readonly isAway?: boolean;
}

const options = ({ by, isAway = false, ...more }: Asking = {}): FetchOptions => ({
  connect: async () => {
    asked++;
    if (isAway) throw new ImgmatchError({ code: "REGISTRY_UNREACHABLE", message: "nobody is there" });
    return registry;
  },
  cache,
  trust: trustBy({ publicRoot: noPublicRoot, ...trustOptions(by), ...by }),
  now: () => new Date(),
  tell: (line) => told.push(line),
  ...more,
});

/** The cells, or code and exit code. */
async function fetched(reference = app("1.0"), asking: Asking = {}): Promise<string> {
  try {
    return Object.keys((await fetchFleet(reference, options(asking))).lock.images).join();
  } catch (error) {
    if (error instanceof ImgmatchError) return `${error.code} ${error.exitCode}`;
    throw error;
  }
}

describe("who is asked for", () => {
  it("has to have signed, and is named in the answer", async () => {
    expect(await fetched()).toBe("INDEX_NOT_FOUND 5");
    const digest = await publish("1.0", ["a"]);
    expect(await fetched()).toBe("SIGNATURE_MISSING 6");
    await otherKey.sign(registry, app("1.0"), digest);
    expect(await fetched()).toBe("SIGNATURE_WRONG_SIGNER 6");
    await key.sign(registry, app("1.0"), digest);
    expect(await fetched()).toBe("a");
    const { signed } = await fetchFleet(app("1.0"), options());
    expect(signed).toEqual({ key: "cosign.pub", identity: null, digest });
  });

  it("may be one of several, while a key is changed for another", async () => {
    await publishSigned("1.0", ["a"]);
    const both = {
      policies: [policyOf(`repositories: {"*/*": {signers: [{key: env://OTHER}, {key: env://KEY}]}}`)],
      signers: [],
    };
    expect(await fetched(app("1.0"), { by: both })).toBe("a");
  });

  it("may be a key beside an identity whose root cannot be had", async () => {
    await publishSigned("1.0", ["a"]);
    const identity = {
      kind: "identity",
      identity: "a@example.com",
      issuer: "https://issuer.example.com",
      trustedRoot: null,
    } as const;
    const publicRoot = async () => {
      throw new ImgmatchError({ code: "TRUSTED_ROOT_INVALID", message: "nobody is there" });
    };
    expect(await fetched(app("1.0"), { by: { signers: [identity, key.signer], publicRoot } })).toBe("a");
    expect(await fetched(app("1.0"), { by: { signers: [identity], publicRoot } })).toBe(
      "TRUSTED_ROOT_INVALID 2",
    );
  });

  it("in every policy and flag: none of them takes anything away from another", async () => {
    await publishSigned("1.0", ["a"]);
    const asks = policyOf(`repositories: {"*/*": {signers: [{key: env://OTHER}]}}`);
    const allows = policyOf(`repositories: {"*/*": {unsigned: allowed}}`);
    const names = policyOf(`repositories: {registry.example.com/other: {unsigned: allowed}}`);
    const by = (policies: TrustOptions["policies"], signers = [key.signer]) => ({
      by: { policies, signers },
    });
    expect(await fetched(app("1.0"), by([allows]))).toBe("a");
    expect(await fetched(app("1.0"), by([allows], []))).toBe("a");
    for (const policies of [[asks], [asks, allows], [allows, asks]])
      expect(await fetched(app("1.0"), by(policies))).toBe("SIGNATURE_WRONG_SIGNER 6");
    const mine = policyOf(`repositories: {"*/*": {signers: [{key: env://KEY}]}}`);
    expect(await fetched(app("1.0"), by([mine], [otherKey.signer]))).toBe("SIGNATURE_WRONG_SIGNER 6");
    expect(await fetched(app("1.0"), by([mine, asks], []))).toBe("SIGNATURE_WRONG_SIGNER 6");
    expect(await fetched(app("1.0"), by([names, allows]))).toBe("TRUST_NO_RULE 6");
  });

  it("is nobody's business where a repository is allowed to be unsigned", async () => {
    await publish("1.0", ["a"]);
    const by = { policies: [policyOf(`repositories: {"*/*": {unsigned: allowed}}`)], signers: [] };
    expect((await fetchFleet(app("1.0"), options({ by }))).signed).toBeNull();
  });

  it("is asked before the registry is, where no rule names the repository", async () => {
    const by = { policies: [policyOf(`repositories: {a.example/x: {unsigned: allowed}}`)] };
    expect(await fetched(app("1.0"), { by })).toBe("TRUST_NO_RULE 6");
    expect(asked).toBe(0);
  });

  it("is who cannot be asked at first contact: no answer", async () => {
    await publishSigned("1.0", ["a"]);
    expect(await fetched(app("1.0"), { isAway: true })).toBe("REGISTRY_UNREACHABLE 5");
  });
});

describe("what a registry can put under a tag", () => {
  it("is refused where it is another version, or another fleet, whoever signed it", async () => {
    await publishSigned("1.0", ["a"]);
    const old = await publishSigned("0.9", ["a"]);
    registry.tags.set("1.0", old);
    expect(await fetched()).toBe("INDEX_FOREIGN 6");
    registry.tags.set("1.0", await publishSigned("1.0", ["a"], "x", "another"));
    expect(await fetched()).toBe("INDEX_FOREIGN 6");
    // The signature of one index does not vouch for another.
    registry.tags.set("1.0", await publish("1.0", ["a", "b"], "y"));
    expect(await fetched()).toBe("SIGNATURE_MISSING 6");
    await otherKey.sign(registry, app("1.0"), registry.tags.get("1.0") as never);
    const stolen = registry.tags.get(`${old.replace(":", "-")}.sig`) as never;
    registry.tags.set(`${registry.tags.get("1.0")?.replace(":", "-")}.sig`, stolen);
    expect(await fetched()).toBe("SIGNATURE_OTHER_DIGEST 6");
  });

  it("is refused under every tag but its own", async () => {
    const digest = await publishSigned("1.2.3", ["a"]);
    const others = ["stable", "1", "1.2", "v1.2.3", "1.20", "2", "rhel9", "1.2.3.4"];
    for (const tag of others) registry.tags.set(tag, digest);
    for (const tag of others) expect(await fetched(app(tag)), tag).toBe("INDEX_FOREIGN 6");
    expect(await fetched(app("1.2.3"))).toBe("a");
    await publishSigned("1.2.3", ["a"], "stable");
    expect(await fetched(app("stable"))).toBe("a");
  });

  it("is refused where it names no tag", async () => {
    await publish("1.0", ["a"]);
    const manifest = await registry.readManifest(app("1.0"));
    const json = JSON.parse(Buffer.from(manifest?.bytes ?? "").toString());
    delete json.annotations["dev.imgmatch.tag"];
    const bytes = Buffer.from(JSON.stringify(json));
    const { mediaType } = json;
    const nameless = { mediaType, bytes, size: bytes.byteLength, digest: digestOf(bytes) };
    await key.sign(registry, app("1.0"), await registry.writeManifest(app("1.0"), nameless));
    expect(await fetched()).toBe("INDEX_FOREIGN 6");
  });

  it("has the name of its repository, or the one that the policy says", async () => {
    await publishSigned("1.0", ["a"], "1.0", "vision");
    expect(await fetched()).toBe("INDEX_FOREIGN 6");
    const policy = policyOf(`repositories: {"*/*": {signers: [{key: env://KEY}], name: vision}}`);
    expect(await fetched(app("1.0"), { by: { policies: [policy], signers: [] } })).toBe("a");
  });

  it("is what a digest says, where somebody has said it", async () => {
    const digest = await publishSigned("0.9", ["a"]);
    expect(await fetched(withDigest(app("1.0"), digest))).toBe("a");
    const unsigned = await publish("0.8", ["a"]);
    expect(await fetched(withDigest(app("1.0"), unsigned))).toBe("SIGNATURE_MISSING 6");
  });
});

describe("a cache", () => {
  const file = () => join(cache, readdirSync(cache).find((name) => name.endsWith(".json")) ?? "");

  it("has what vouches for its answer, which is judged again each time", async () => {
    const digest = await publishSigned("1.0", ["a"]);
    expect(await fetched()).toBe("a");
    // Signed in the registry no more: the cache has what was signed.
    registry.tags.delete(`${digest.replace(":", "-")}.sig`);
    expect(await fetched()).toBe("a");
    expect(await fetched(app("1.0"), { isAway: true })).toBe("a");
    expect(told.at(-1)).toMatch(/answered from the cache/);
    const other = { by: { signers: [otherKey.signer] } };
    expect(await fetched(app("1.0"), { ...other, isAway: true })).toBe("SIGNATURE_WRONG_SIGNER 6");
    expect(await fetched(app("1.0"), other)).toBe("SIGNATURE_MISSING 6");
  });

  it("that was written for nobody satisfies nobody, and is filled when the registry is there", async () => {
    await publishSigned("1.0", ["a"]);
    expect(await fetched(app("1.0"), { trust: null })).toBe("a");
    expect(await fetched(app("1.0"), { isAway: true })).toBe("REGISTRY_UNREACHABLE 5");
    expect(told.join()).toContain("without signatures");
    expect(await fetched()).toBe("a");
    expect(await fetched(app("1.0"), { isAway: true })).toBe("a");
  });

  it("keeps no index that was refused", async () => {
    await publishSigned("1.0", ["a"]);
    await fetched();
    const before = readFileSync(file(), "utf8");
    registry.tags.set("1.0", await publish("1.0", ["a", "evil"], "x"));
    expect(await fetched()).toBe("SIGNATURE_MISSING 6");
    expect(readFileSync(file(), "utf8")).toBe(before);
    expect(await fetched(app("1.0"), { isAway: true })).toBe("a");
  });

  it("vouches for nothing where its evidence is damaged or was put there", async () => {
    const digest = await publishSigned("1.0", ["a"]);
    await fetched();
    const pinned = withDigest(app("1.0"), digest);
    await fetched(pinned);
    for (const name of readdirSync(cache)) {
      const kept = JSON.parse(readFileSync(join(cache, name), "utf8"));
      const [one] = kept.evidence;
      for (const evidence of [
        [],
        [{}],
        ["x"],
        {},
        null,
        [{ ...one, signature: "AAAA" }],
        Array(1000).fill(one),
      ]) {
        writeFileSync(join(cache, name), JSON.stringify({ ...kept, evidence }));
        const reference = name.includes("sha256") ? pinned : app("1.0");
        expect(await fetched(reference, { isAway: true }), JSON.stringify(evidence).slice(0, 40)).toMatch(
          /^(REGISTRY_UNREACHABLE 5|SIGNATURE_\w+ 6)$/,
        );
      }
    }
    expect(await fetched(pinned)).toBe("a");
  });

  it("with a digest asks nobody, where its evidence does", async () => {
    const digest = await publishSigned("1.0", ["a"]);
    await fetched(withDigest(app("1.0"), digest));
    asked = 0;
    expect(await fetched(withDigest(app("1.0"), digest))).toBe("a");
    expect(asked).toBe(0);
  });
});

describe("a node that refuses to go back", () => {
  const forward = (more: Asking = {}): Asking => ({ ...more, by: { refuseDowngrade: cache, ...more.by } });
  const seenFolder = () => join(cache, "seen", readdirSync(join(cache, "seen"))[0] ?? "");
  const seenFiles = () => readdirSync(seenFolder());

  it("takes newer versions of a moving tag, and no older one", async () => {
    const versions = ["1.0.0-rc1", "1.0.0", "1.1.0", "1.10.0"];
    const digests: string[] = [];
    for (const version of versions) {
      digests.push(await publishSigned(version, ["a"], "stable"));
      expect(await fetched(app("stable"), forward())).toBe("a");
      expect(seenFiles()).toHaveLength(1);
    }
    for (const digest of digests.slice(0, -1)) {
      registry.tags.set("stable", digest as never);
      expect(await fetched(app("stable"), forward())).toBe("INDEX_DOWNGRADE 6");
      expect(await fetched(app("stable"))).toBe("a");
    }
    registry.tags.set("stable", digests.at(-1) as never);
    expect(await fetched(app("stable"), forward())).toBe("a");
  });

  it("takes a version's index that has grown, and none that lacks an image or has another", async () => {
    const first = await publishSigned("1.0", ["a"]);
    expect(await fetched(app("1.0"), forward())).toBe("a");
    const second = await publishSigned("1.0", ["a", "b"]);
    expect(await fetched(app("1.0"), forward())).toBe("a,b");
    registry.tags.set("1.0", first);
    expect(await fetched(app("1.0"), forward())).toBe("INDEX_DOWNGRADE 6");
    registry.tags.set("1.0", second);
    expect(await fetched(app("1.0"), forward())).toBe("a,b");
    registry = createMemoryRegistry();
    const { axes, platform, inputDigest, requires } = image();
    const other = ["a", "b", "c"].map((cell) => {
      const digest = registry.pushImage(`1.0-${cell}`, {}, `another ${cell}`);
      return [cell, { axes, platform, inputDigest, requires, tag: `1.0-${cell}`, digest }] as const;
    });
    await publishIndex({
      registry,
      reference: app("1.0"),
      name: "app",
      version: "1.0",
      images: new Map(other),
    });
    await key.sign(registry, app("1.0"), registry.tags.get("1.0") as never);
    expect(await fetched(app("1.0"), forward())).toBe("INDEX_DOWNGRADE 6");
  });

  it("takes no version of which nobody can tell whether it is newer", async () => {
    await publishSigned("0c2f4d5e6a7b", ["a"], "main");
    expect(await fetched(app("main"), forward())).toBe("a");
    await publishSigned("9f3c1a2b4d5e", ["a"], "main");
    expect(await fetched(app("main"), forward())).toBe("INDEX_DOWNGRADE 6");
  });

  it("remembers nothing that nobody has signed", async () => {
    await publish("9.0", ["a"], "stable");
    expect(await fetched(app("stable"), forward())).toBe("SIGNATURE_MISSING 6");
    await publishSigned("1.0", ["a"], "stable");
    expect(await fetched(app("stable"), forward())).toBe("a");
  });

  it("remembers by repository and tag, in the folder that the policy names", async () => {
    const memory = makeFolder({});
    const policy = policyOf(`
memory: ${memory}
repositories: {"*/*": {signers: [{key: env://KEY}], downgrade: refuse}}`);
    const by = { policies: [policy], signers: [] };
    await publishSigned("2.0", ["a"], "stable");
    await publishSigned("1.0", ["a"], "old");
    expect(await fetched(app("stable"), { by, cache: null })).toBe("a");
    expect(await fetched(app("old"), { by, cache: null })).toBe("a");
    expect(readdirSync(join(memory, "seen"))).toHaveLength(2);
    expect(readdirSync(cache)).toEqual([]);
    const nowhere = policyOf(`repositories: {"*/*": {signers: [{key: env://KEY}], downgrade: refuse}}`);
    expect(await fetched(app("old"), { by: { ...by, policies: [nowhere], cache: null } })).toBe("USAGE 2");
  });

  it("does not go back by the cache either, nor when the registry is away", async () => {
    await publishSigned("1.0", ["a"], "stable");
    const memory = makeFolder({});
    const by = { refuseDowngrade: memory };
    await fetched(app("stable"), { by });
    await publishSigned("2.0", ["b"], "stable");
    await fetched(app("stable"), { by, cache: null });
    expect(await fetched(app("stable"), { by, isAway: true })).toBe("INDEX_DOWNGRADE 6");
  });

  it("takes nothing away that another process has seen meanwhile", async () => {
    const locks: IndexLock[] = [];
    for (const version of ["1.0", "2.0", "3.0"]) {
      await publishSigned(version, ["a"]);
      locks.push((await fetchFleet(app(version), options({ cache: null }))).lock);
    }
    const [one, two, three] = locks as [IndexLock, IndexLock, IndexLock];
    const elsewhere = makeFolder({});
    await takeForward(cache, app("stable"), one);
    await takeForward(elsewhere, app("stable"), three);
    const [place, name] = [seenFolder(), seenFiles()[0] ?? ""];
    const first = readFileSync(join(place, name));
    const other = join(elsewhere, "seen", readdirSync(join(elsewhere, "seen"))[0] ?? "");
    const newest = readdirSync(other)[0] ?? "";
    // The process has listed what is there, and waits for what stands in it.
    rmSync(join(place, name));
    execFileSync("mkfifo", ["-m", "644", join(place, name)]);
    writeFileSync(join(cache, "two.json"), JSON.stringify(two));
    const script = `
      import { readFileSync } from "node:fs";
      import { parseImageReference } from "${process.cwd()}/src/oci/reference.ts";
      import { takeForward } from "${process.cwd()}/src/trust/seen-indexes.ts";
      const index = JSON.parse(readFileSync("${join(cache, "two.json")}", "utf8"));
      await takeForward("${cache}", parseImageReference("registry.example.com/team/app:stable"), index);`;
    const child = spawn("npx", ["tsx", "--input-type=module", "--eval", script], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("close", resolve));
    const pipe = await open(join(place, name), "w");
    copyFileSync(join(other, newest), join(place, newest));
    await pipe.writeFile(first);
    await pipe.close();
    expect(await ended).toBe(0);
    expect(seenFiles()).toContain(newest);
    await expect(takeForward(cache, app("stable"), two)).rejects.toMatchObject({ code: "INDEX_DOWNGRADE" });
    const spelled = { ...app("stable"), registry: "Registry.Example.com:0443" };
    await expect(takeForward(cache, spelled, two)).rejects.toMatchObject({ code: "INDEX_DOWNGRADE" });
    await takeForward(cache, app("stable"), three);
    expect(seenFiles()).toEqual([newest]);
  });

  it("believes no memory that is damaged, of another tag, or that others may write", async () => {
    await publishSigned("1.0", ["a"], "stable");
    await fetched(app("stable"), forward());
    const file = join(seenFolder(), seenFiles()[0] ?? "");
    const whole = readFileSync(file, "utf8");
    for (const text of [
      "",
      "{",
      "[]",
      "null",
      whole.slice(0, -5),
      whole.replace("stable", "other"),
      "[".repeat(10_000),
      whole.replace('"cells":{', '"cells":{"x":{},'),
    ]) {
      writeFileSync(file, text);
      expect(await fetched(app("stable"), forward()), text.slice(0, 30)).toBe("INDEX_DOWNGRADE 6");
    }
    writeFileSync(file, whole);
    for (const path of [file, seenFolder(), join(cache, "seen")]) {
      chmodSync(path, 0o777);
      expect(await fetched(app("stable"), forward())).toBe("CACHE_UNSAFE 2");
      chmodSync(path, path === file ? 0o644 : 0o755);
    }
    expect(await fetched(app("stable"), forward())).toBe("a");
    // An index that cannot be kept is not answered: the next one could be older.
    rmSync(join(cache, "seen"), { recursive: true });
    writeFileSync(join(cache, "seen"), "");
    expect(await fetched(app("stable"), forward())).toMatch(/^(FILE_UNREADABLE 2|WRITE_FAILED 1)$/);
    rmSync(join(cache, "seen"));
    mkdirSync(join(cache, "seen"), { mode: 0o755 });
    expect(await fetched(app("stable"), forward())).toBe("a");
  });
});
