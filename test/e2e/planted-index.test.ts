/** Whoever can write a tag changes the version's index and keeps its cells: CI neither signs nor keeps that. A real engine, a real registry. */

import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { fieldsOf, parseJson } from "../../src/io/json.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { indexTypes } from "../../src/oci/media-types.ts";
import { parseImageReference, withTag } from "../../src/oci/reference.ts";
import type { Manifest } from "../../src/oci/descriptor.ts";
import { findEvidence } from "../../src/trust/find-evidence.ts";
import { signWithKey } from "../../src/trust/sign/make-signer.ts";
import { signImages } from "../../src/trust/sign/sign-images.ts";
import { openSigningKey } from "../../src/trust/sign/signing-key.ts";
import { manifestOf } from "../oci/registry/support/manifests.ts";
import { needs } from "../support/needs.ts";
import { createProject, type Project } from "./support/project.ts";
import { registry } from "./support/signed-fleet.ts";

const stack = inject("stack");
const signing = ["--sign", "--sign-key", "ci.key"];
const trusting = ["--key", "ci.pub"];

type Entry = Readonly<Record<string, unknown>>;
/** An index with this image of theirs in it. The first entry is what a plain pull takes. */
const plants = {
  "a foreign descriptor under our annotation": ([first, ...rest]: readonly Entry[], theirs: Entry) => {
    const annotations = { ...fieldsOf(first?.annotations), "dev.imgmatch.digest": first?.digest };
    return [{ ...first, ...theirs, annotations }, ...rest];
  },
  "a further entry without a cell": (entries: readonly Entry[], theirs: Entry) => [
    { ...theirs, platform: { os: "linux", architecture: "amd64" } },
    ...entries,
  ],
};

const ways = ["publish", "build --push --index", "publish --replace-index", "promote 1.0.0-rc1 1.0.0"];

describe("a planted index", needs(stack.available ? null : stack.reason), () => {
  let project: Project;
  let key: string;
  const ours = new Map<string, Manifest>();
  const at = (version: string) => parseImageReference(`${project.repository}:${version}`);
  const run = (...args: string[]) => project.run(...args);
  const succeed = async (...args: string[]) => {
    const ran = await run(...args);
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
  };

  beforeAll(async () => {
    if (!stack.available) return;
    const env = { ...process.env, ...stack.engineEnv };
    project = createProject({ registry: `${stack.registry}/hijacked`, name: "app", env, inProcess: true });
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    project.write("ci.key", key);
    project.write("ci.pub", publicKey.export({ type: "spki", format: "pem" }).toString());
    project.matrix("base: scratch\naxes:\n  march: [x86-64]\n  flavour: [plain, spicy]");
    await succeed("build", "--push", "--index", ...signing);
    await succeed("promote", "1.0.0", "1.0.0-rc1", ...signing);
    for (const version of ["1.0.0", "1.0.0-rc1"]) ours.set(version, await indexOf(version));
  });
  afterAll(() => project?.remove());
  // As every test finds them.
  beforeEach(async () => {
    for (const [version, index] of ours) await registry.writeManifest(at(version), index);
  });

  /** Of nobody's project, in our repository. */
  async function pushTheirs(): Promise<Manifest> {
    const config = Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", at: Math.random() }));
    const digest = await registry.writeBlob(at("1.0.0"), config);
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const described = { mediaType: "application/vnd.oci.image.config.v1+json", digest, size: config.length };
    const manifest = manifestOf({ schemaVersion: 2, mediaType, config: described, layers: [] });
    await registry.writeManifest(withTag(at("1.0.0"), "theirs"), manifest);
    return manifest;
  }

  async function indexOf(version: string): Promise<Manifest> {
    const found = await registry.readManifest(at(version));
    if (found === null) throw new Error(`no ${version}`);
    return found;
  }

  async function plant(how: keyof typeof plants, version = "1.0.0") {
    const { digest, mediaType, size } = await pushTheirs();
    const json = fieldsOf(parseJson((await indexOf(version)).bytes));
    const manifests = plants[how](json.manifests as readonly Entry[], { digest, mediaType, size });
    const planted = manifestOf({ ...json, manifests }, indexTypes.oci);
    await registry.writeManifest(at(version), planted);
    return { theirs: digest, planted: planted.digest };
  }

  const signaturesOf = async (digest: Digest) =>
    (await findEvidence(registry, { reference: at("1.0.0"), digest })).length;

  describe.each(Object.keys(plants) as (keyof typeof plants)[])("with %s", (how) => {
    it.each(ways)("%s --sign signs nothing of it, and writes ours again", async (way) => {
      const { theirs, planted } = await plant(how);
      await succeed(...way.split(" "), ...signing);
      expect(await signaturesOf(theirs)).toBe(0);
      expect(await signaturesOf(planted)).toBe(0);
      expect(await indexOf("1.0.0")).toEqual(ours.get("1.0.0"));
      await succeed("verify", ...trusting);
    });

    it("verify ends with 6, also where CI has signed it once", async () => {
      const { planted } = await plant(how);
      expect(await run("verify")).toMatchObject({ status: 6 });
      expect(await run("verify", ...trusting)).toMatchObject({ status: 6 });
      const signer = signWithKey(await openSigningKey("env://KEY", { KEY: key }));
      await signImages(at("1.0.0"), [planted], { registry, signer, format: "both", settleMs: 0 });
      const verified = await run("verify", ...trusting);
      expect(verified, verified.stderr).toMatchObject({ status: 6 });
      expect(verified.stdout).toContain("INDEX_CONFLICT");
      await succeed("publish", ...signing);
      expect(await indexOf("1.0.0")).toEqual(ours.get("1.0.0"));
    });

    it("promote --sign takes nothing from it", async () => {
      const { theirs } = await plant(how, "1.0.0-rc1");
      const refused = await run("promote", "1.0.0-rc1", "2.0.0", ...signing);
      expect(refused, refused.stderr).toMatchObject({ status: 6 });
      expect(await signaturesOf(theirs)).toBe(0);
      expect(await registry.findManifest(at("2.0.0"))).toBeNull();
    });
  });
});
