/** The program in one file, copied to where nothing else of the package is. */

import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ed25519ph } from "@noble/curves/ed25519.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatImageReference, parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { publishIndex } from "../../src/fleet/publish/publish-index.ts";
import { writeCachedIndex } from "../../src/lock/store/index-cache.ts";
import { signWithIdentity } from "../../src/trust/sign/sign-with-identity.ts";
import { createMemoryRegistry } from "../fleet/publish/support/memory-registry.ts";
import { image } from "../resolve/support/locks.ts";
import { type LocalSigstore, startSigstore, tokenOf } from "../support/sigstore.ts";

const root = resolve(import.meta.dirname, "../..");
const built = mkdtempSync(join(tmpdir(), "imgmatch-bundle-"));
const alone = mkdtempSync(join(tmpdir(), "imgmatch-alone-"));
afterAll(() => {
  for (const folder of [built, alone]) rmSync(folder, { recursive: true, force: true });
});
const { NODE_PATH: _, ...env } = process.env;

function run(program: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: join(alone, "vision"),
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

const unsigned = { format: "simple-signing", certificate: null, chain: null, log: null, timestamp: null };

/** The text that simple signing signs. */
function payloadOf(digest: string): Buffer {
  const critical = {
    identity: { "docker-reference": "registry.example.com/team/app" },
    image: { "docker-manifest-digest": digest },
    type: "cosign container image signature",
  };
  return Buffer.from(JSON.stringify({ critical, optional: null }));
}

/** Through a getter of the bundler each constant took a call, and there are tens of millions of instructions. */
it("the thread that opens files has the decoder's constants as constants", () => {
  const worker = readFileSync(join(built, "inspect-worker.cjs"), "utf8");
  const [, code] = /[{,]Code:(\w+),[^}]*\}=require\("iced-x86"\)/.exec(worker) ?? [];
  expect(code).toBeDefined();
  expect(worker).toContain(`${code}.INVALID`);
  expect(worker).not.toMatch(/\.Code\.INVALID/);
});

describe("imgmatch.cjs alone", () => {
  const bundled = spawnSync(process.execPath, ["scripts/bundle.mjs", built], { cwd: root, encoding: "utf8" });
  if (bundled.status !== 0) throw new Error(bundled.stderr);
  const program = join(alone, "imgmatch.cjs");
  copyFileSync(join(built, "imgmatch.cjs"), program);
  cpSync(join(root, "docs/examples/vision"), join(alone, "vision"), { recursive: true });

  it.each<[name: string, status: number, args: readonly string[]]>([
    ["resolve, for this machine", 0, ["resolve"]],
    [
      "resolve, with pins",
      0,
      ["resolve", "--host", "hosts/h100.json", "--pin", "python=>=3.12", "--explain"],
    ],
    ["resolve, for a broken host", 4, ["resolve", "--host", "hosts/mismatch.json", "--json"]],
    ["resolve, from a registry that is not there", 5, ["resolve", "127.0.0.1:1/team/vision:1.4.0"]],
    ["probe", 0, ["probe", "--host", "hosts/h100.json", "--json"]],
    ["why-not", 3, ["why-not", "13.0.2_8.0_x86-64-v3_3.12", "--host", "hosts/h100.json"]],
    ["export sh", 0, ["export", "sh", "--pin", "python=3.12"]],
    [
      "serve, for a runtime",
      0,
      ["serve", "--print-config", "containerd", "registry.example.com/team/vision"],
    ],
    ["pull, where nothing fits", 3, ["pull", "--pin", "python=3.12", "--require-gpu", "--gpus", "none"]],
    ["pull, without the engine", 5, ["pull", "--pin", "python=3.12", "--cpu", "--engine", "nerdctl"]],
    ["a mistake", 2, ["resolve", "--hots", "hosts/h100.json"]],
  ])("answers as the whole program does: %s", (_, status, args) => {
    const answer = run(program, args);
    expect(answer).toEqual(run(join(built, "cli.cjs"), args));
    expect(answer).toMatchObject({ status });
  });

  it("reads this machine", () => {
    const { status, stdout } = run(program, ["probe", "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      schemaVersion: 1,
      platform: expect.stringMatching(/^\w+\/\w+$/),
    });
  });

  it.each([
    ["plan", "plan"],
    ["build", "build"],
    ["export bake", "bake"],
    ["doctor", "doctor"],
  ])("says what it does not have: %s", (command, missing) => {
    const { status, stdout, stderr } = run(program, command.split(" "));
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(`USAGE: unknown command '${missing}'\n  fix: `);
    expect(stderr).toContain("npm install --global imgmatch brings the other commands; see imgmatch ");
    expect(stderr.match(/npm install/g)).toHaveLength(1);
  });

  it("has in its help what it has", () => {
    const { stdout } = run(program, ["--help"]);
    const named = [...stdout.matchAll(/^ {2}([a-z-]+) /gm)];
    expect(named.map(([, name]) => name)).toEqual([
      ...["resolve", "why-not", "pull", "serve", "probe", "export", "help"],
    ]);
    expect(run(program, ["export", "--help"]).stdout).not.toMatch(/bake|github|nfd/);
  });

  it("says how to have a command that a fix names", () => {
    const { status, stderr } = run(program, ["resolve", "--lock", "nowhere.json"]);
    expect(status).toBe(2);
    expect(stderr).toContain("(npm install --global imgmatch brings the other commands)");
  });

  describe("with the libraries that it has compressed", () => {
    const app = parseImageReference("registry.example.com/team/app:1.0");
    const workflow = "https://github.com/team/app/.github/workflows/release.yml@refs/heads/main";
    const cache = join(alone, "cache");
    let pinned: string;
    let sigstore: LocalSigstore;

    /** A cache with what a key and an identity have signed. */
    beforeAll(async () => {
      sigstore = await startSigstore();
      const { privateKey, publicKey } = generateKeyPairSync("ed25519");
      writeFileSync(join(alone, "cosign.pub"), publicKey.export({ type: "spki", format: "pem" }));
      writeFileSync(join(alone, "trusted_root.json"), sigstore.trustedRoot);
      writeFileSync(
        join(alone, "trust.yaml"),
        "repositories: { '*/team/*': { signers: [{ key: cosign.pub }] } }\n",
      );
      const registry = createMemoryRegistry();
      const { axes, platform, inputDigest, requires } = image();
      const digest = registry.pushImage("1.0-a", {}, "a");
      const images = new Map([["a", { axes, platform, inputDigest, requires, tag: "1.0-a", digest }]]);
      await publishIndex({ registry, reference: app, name: "app", version: "1.0", images });
      const top = await registry.readManifest(app);
      if (top === null) throw new Error("no index");
      const seed = privateKey.export({ type: "pkcs8", format: "der" }).subarray(-32);
      const fulcio = signWithIdentity({
        token: async () => tokenOf(workflow),
        fulcioUrl: sigstore.url,
        rekorUrl: sigstore.url,
      });
      const payload = payloadOf(top.digest);
      const evidence = [
        {
          ...unsigned,
          payload: payload.toString("base64"),
          signature: Buffer.from(ed25519ph.sign(payload, seed)).toString("base64"),
        },
        await fulcio.signPayload(payload),
      ];
      const reference = withDigest(app, top.digest);
      pinned = formatImageReference(reference);
      await writeCachedIndex(cache, reference, { stored: { top, parts: [] }, evidence });
    });
    afterAll(() => sigstore.stop());

    it.each<[name: string, status: number, args: readonly string[]]>([
      ["a policy, and a key of Ed25519", 0, ["--trust", "../trust.yaml"]],
      [
        "an identity",
        0,
        [
          "--identity",
          workflow,
          "--issuer",
          "https://issuer.example.com",
          "--trusted-root",
          "../trusted_root.json",
        ],
      ],
      [
        "another identity",
        6,
        [
          "--identity",
          "nobody",
          "--issuer",
          "https://issuer.example.com",
          "--trusted-root",
          "../trusted_root.json",
        ],
      ],
    ])("answers as the whole program does: %s", (_, status, flags) => {
      const args = ["resolve", pinned, "--host", "hosts/h100.json", "--cpu", "--cache", cache, ...flags];
      const answer = run(program, args);
      expect(answer).toEqual(run(join(built, "cli.cjs"), args));
      expect(answer).toMatchObject({ status });
    });
  });

  it("is as large as docs/node.md says", () => {
    expect(statSync(program).size).toBeGreaterThan(600_000);
    expect(statSync(program).size).toBeLessThan(800_000);
  });
});
