/** A node's trust: real signatures in a real registry, the bundled program, and a registry that lies. */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { signImages } from "../../src/trust/sign/sign-images.ts";
import { signWithIdentity } from "../../src/trust/sign/sign-with-identity.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { needs } from "../support/needs.ts";
import { runInProcess } from "../support/run-cli.ts";
import { startSigstore, tokenOf } from "../support/sigstore.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { startServe } from "./support/mirror.ts";
import { imgmatch, type Ran } from "./support/program.ts";
import { createSigningKey, moveTag, publishFleet, registry } from "./support/signed-fleet.ts";

const stack = inject("stack");
const key = createSigningKey();
const other = createSigningKey();

describe("a node with a key", needs(stack.available ? null : stack.reason), () => {
  let proxy: FaultProxy;
  let folder: string;
  let count = 0;
  /** Of a repository that no other test has; by way of the proxy. */
  let repository: string;

  beforeAll(async () => {
    if (!stack.available) return;
    proxy = await startFaultProxy(stack.registry);
    folder = mkdtempSync(join(tmpdir(), "imgmatch-trust-"));
    writeFileSync(file("cosign.pub"), key.pem);
    writeFileSync(file("other.pub"), other.pem);
    writeFileSync(file("host.json"), formatHostFacts(cpuHost()));
  });
  afterAll(async () => {
    await proxy?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    repository = `${proxy.host}/trust${count++}/app`;
    proxy.fault = null;
    rmSync(file("cache"), { recursive: true, force: true });
  });

  const file = (path: string): string => join(folder, path);
  /** In this process, which is sooner; the first test runs the program. */
  const run = async (
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    machinePolicy = "/nonexistent/trust.yaml",
  ): Promise<Ran> => {
    const { exit, out, err } = await runInProcess(args, { cwd: folder, env, machinePolicy });
    return { status: exit, stdout: out, stderr: err };
  };
  /** The line that is printed, or the exit code and the problem's code. */
  async function resolve(reference: string, ...more: string[]): Promise<string> {
    const flags =
      more.includes("--trust") || more.includes("--key") ? more : ["--key", file("cosign.pub"), ...more];
    const { status, stdout, stderr } = await run([
      "resolve",
      reference,
      "--host",
      file("host.json"),
      ...flags,
    ]);
    if (status === 0) return stdout.trim();
    expect(stdout).toBe("");
    return `${status} ${/^(?:[^ ]*: )?([A-Z_]+): /m.exec(stderr)?.[1]}`;
  }
  async function signed(version: string, cells: readonly string[] = ["a"], at = repository): Promise<Digest> {
    const { index } = await publishFleet(at, version, cells);
    await key.sign(at, index);
    return index;
  }
  /** Takes everything away that names this digest, as whoever may delete there can. */
  async function strip(index: Digest): Promise<void> {
    const named = (await registry.readReferrers(parseImageReference(repository), index)) ?? [];
    const found = named.map(({ digest }) => digest);
    for await (const tag of registry.listTags(parseImageReference(repository))) {
      if (!tag.startsWith("sha256-")) continue;
      const manifest = await registry.findManifest(parseImageReference(`${repository}:${tag}`));
      if (manifest !== null) found.push(manifest.digest);
    }
    for (const digest of found) await registry.removeManifest(parseImageReference(`${repository}@${digest}`));
  }
  const answered = (version: string, at = repository) =>
    expect.stringMatching(`^${at}:${version}-[a-z]@sha256:`);

  it("answers what the key has signed, in either form of cosign, and says who has", async () => {
    const bundled = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      imgmatch(args, { cwd: folder, env: { ...process.env, ...env } });
    for (const format of ["bundle", "tag"] as const) {
      const version = format === "bundle" ? "1.0.0" : "1.1.0";
      const { index } = await publishFleet(repository, version, ["a"]);
      expect(await resolve(`${repository}:${version}`)).toBe("6 SIGNATURE_MISSING");
      await key.sign(repository, index, format);
      expect(await resolve(`${repository}:${version}`)).toEqual(answered(version));
      const { stdout } = await bundled(
        ["resolve", `${repository}:${version}`, "--host", "host.json", "--json", "--key", "env://KEY"],
        { KEY: key.pem },
      );
      expect(JSON.parse(stdout).signed).toEqual({ key: "env://KEY", identity: null, digest: index });
      const { stderr } = await bundled([
        "resolve",
        `${repository}:${version}`,
        "--host",
        "host.json",
        "--explain",
        "--key",
        "cosign.pub",
      ]);
      expect(stderr).toContain(`${index} is signed by cosign.pub`);
    }
  });

  it("answers what an identity has signed, by its name or a pattern of it, and nobody else's", async () => {
    const sigstore = await startSigstore();
    onTestFinished(sigstore.stop);
    const workflow = "https://github.com/team/fleets/.github/workflows/publish.yml@refs/tags/v1";
    const { index } = await publishFleet(repository, "1.0.0", ["a"]);
    const signer = signWithIdentity({
      token: async () => tokenOf(workflow),
      fulcioUrl: sigstore.url,
      rekorUrl: sigstore.url,
      trustedRoot: sigstore.trustedRoot,
    });
    await signImages(parseImageReference(repository), [index], { registry, signer, format: "both" });
    writeFileSync(file("trusted_root.json"), sigstore.trustedRoot);
    const [name, issuer] = [`${repository}:1.0.0`, "https://issuer.example.com"];
    const ask = async (
      identity: string,
      by = issuer,
      root: readonly string[] = ["--trusted-root", file("trusted_root.json")],
    ) => {
      const host = ["--host", file("host.json"), "--cache", file("cache")];
      const ran = await run([
        "resolve",
        name,
        ...host,
        "--json",
        "--identity",
        identity,
        "--issuer",
        by,
        ...root,
      ]);
      return ran.status === 0 ? JSON.parse(ran.stdout).signed : ran.status;
    };
    const signed = { key: null, identity: { name: workflow, issuer }, digest: index };
    expect(await ask(workflow)).toEqual(signed);
    expect(await ask("https://github.com/team/*/publish.yml@refs/tags/*")).toEqual(signed);
    expect(await ask("https://github.com/team/*", "https://issuer.*.com")).toEqual(signed);
    for (const identity of [
      "https://github.com/team",
      "https://github.com/other/*",
      "*/publish.yml",
      ".*",
      `${workflow}x`,
    ])
      expect(await ask(identity), identity).toBe(6);
    expect(await ask(workflow, "https://other.example.com")).toBe(6);
    // From the cache with nobody to ask, and by a policy.
    proxy.fault = () => ({ kind: "reset" });
    expect(await ask(workflow)).toEqual(signed);
    expect(await ask("https://github.com/other/*")).toBe(6);
    proxy.fault = null;
    const rule = `{signers: [{identity: "${workflow}", issuer: "${issuer}", trusted-root: trusted_root.json}]}`;
    writeFileSync(file("identity.yaml"), `repositories: {"${repository}": ${rule}}\n`);
    expect(await resolve(name, "--trust", file("identity.yaml"))).toEqual(answered("1.0.0"));
    for (const half of [
      ["--identity", "x"],
      ["--issuer", "x"],
      ["--trusted-root", file("trusted_root.json")],
    ])
      expect(await run(["resolve", name, "--host", file("host.json"), ...half])).toMatchObject({
        status: 2,
        stdout: "",
      });
  });

  it("refuses the wrong key, a signature that was stripped, and one of something else", async () => {
    const index = await signed("1.0.0");
    expect(await resolve(`${repository}:1.0.0`, "--key", file("other.pub"))).toBe("6 SIGNATURE_WRONG_SIGNER");
    expect(
      await resolve(`${repository}:1.0.0`, "--key", file("other.pub"), "--key", file("cosign.pub")),
    ).toEqual(answered("1.0.0"));
    await strip(index);
    expect(await resolve(`${repository}:1.0.0`)).toBe("6 SIGNATURE_MISSING");
    const { index: evil } = await publishFleet(repository, "6.6.6", ["a"]);
    await key.sign(repository, index);
    await moveTag(`${repository}:sha256-${evil.slice(7)}.sig`, `${repository}:sha256-${index.slice(7)}.sig`);
    expect(await resolve(`${repository}:6.6.6`)).toBe("6 SIGNATURE_OTHER_DIGEST");
  });

  it("refuses a tag that was given another signed fleet, of this repository or another, and an old one", async () => {
    await signed("1.0.0");
    await signed("2.0.0", ["b"]);
    const foreign = `${repository.slice(0, -"/app".length)}/other`;
    await signed("2.0.0", ["a"], foreign);
    await moveTag(`${repository}:2.0.0`, `${repository}:1.0.0`);
    expect(await resolve(`${repository}:2.0.0`)).toBe("6 INDEX_FOREIGN");
    // With its signatures, into this repository.
    const there = await registry.findManifest(parseImageReference(`${foreign}:2.0.0`));
    await copyManifest(foreign, repository, "2.0.0");
    await key.sign(repository, there?.digest as Digest);
    expect(await resolve(`${repository}:2.0.0`)).toBe("6 INDEX_FOREIGN");
  });

  it("takes nothing that was signed in another repository, unless the policy names that one", async () => {
    const parent = repository.slice(0, -"/app".length);
    const staging = `${parent}/staging/app`;
    await signed("1.0.0", ["a"], staging);
    await copyManifest(staging, repository, "1.0.0");
    const there = await registry.findManifest(parseImageReference(`${staging}:1.0.0`));
    await key.sign(repository, there?.digest as Digest);
    expect(await resolve(`${staging}:1.0.0`)).toEqual(answered("1.0.0", staging));
    expect(await resolve(`${repository}:1.0.0`)).toBe("6 INDEX_FOREIGN");
    const path = (name: string): string => name.slice(name.indexOf("/") + 1);
    for (const [from, answer] of [
      [path(staging), answered("1.0.0")],
      [path(staging).replace("staging", "*"), answered("1.0.0")],
      [path(repository), "6 INDEX_FOREIGN"],
    ]) {
      const rule = `{signers: [{key: cosign.pub}], repository: "${from}"}`;
      writeFileSync(file("mirror.yaml"), `repositories: {"${repository}": ${rule}}\n`);
      expect(await resolve(`${repository}:1.0.0`, "--trust", file("mirror.yaml"))).toEqual(answer);
    }
    // Nor is it signed as ours: by who promotes it, and by who adds to it.
    writeFileSync(file("private.pem"), key.privatePem);
    const sign = ["--sign", "--sign-key", file("private.pem"), "--sign-format", "tag"];
    for (const from of [`${repository}:1.0.0`, `${repository}@${there?.digest}`]) {
      const promoted = await run(["promote", from, "1.1.0", ...sign]);
      expect([promoted.status, promoted.stderr]).toEqual([6, expect.stringContaining("INDEX_FOREIGN")]);
    }
    expect(await registry.findManifest(parseImageReference(`${repository}:1.1.0`))).toBeNull();
    // A promoted version is as good as the one that it comes from.
    expect((await run(["promote", `${staging}:1.0.0`, "1.1.0", ...sign])).status).toBe(0);
    expect(await resolve(`${staging}:1.1.0`)).toEqual(expect.stringMatching(`^${staging}:1.0.0-a@sha256:`));
  });

  it("with --no-downgrade does not go back to what was signed before", async () => {
    const forward = ["--cache", file("cache"), "--no-downgrade"];
    // Within one version the index only grows.
    await signed("1.0.0");
    await moveTag(`${repository}:kept`, `${repository}:1.0.0`);
    await signed("1.0.0", ["a", "b"]);
    expect(await resolve(`${repository}:1.0.0`, ...forward)).toEqual(answered("1.0.0"));
    await moveTag(`${repository}:1.0.0`, `${repository}:kept`);
    expect(await resolve(`${repository}:1.0.0`, ...forward)).toBe("6 INDEX_DOWNGRADE");
  });

  it("says that it cannot remember, where it is to, and the mirror that it cannot answer", async () => {
    await signed("1.0.0");
    // A place in which root may not write either.
    const flags = ["--cache", "/proc/imgmatch", "--no-downgrade"];
    expect(await resolve(`${repository}:1.0.0`, ...flags)).toBe("1 WRITE_FAILED");
    const args = ["resolve", `${repository}:1.0.0`, "--host", file("host.json"), "--key", file("cosign.pub")];
    const { stdout } = await run([...args, ...flags, "--json"]);
    expect(JSON.parse(stdout).errors[0].code).toBe("WRITE_FAILED");
    writeFileSync(
      file("memory.yaml"),
      `memory: /proc/imgmatch\nrepositories: {"*/*": {signers: [{key: cosign.pub}], downgrade: refuse}}\n`,
    );
    const words = ["--host", file("host.json"), "--trust", file("memory.yaml"), repository];
    const mirror = await startServe(words, { cwd: folder, env: process.env });
    onTestFinished(async () => void (await mirror.stop()));
    const [host, name] = [proxy.host, repository.slice(proxy.host.length + 1)];
    const asked = await fetch(`http://${mirror.address}/v2/${name}/manifests/1.0.0?ns=${host}`);
    expect([asked.status, await asked.text()]).toEqual([503, expect.stringContaining("WRITE_FAILED")]);
  });

  it("takes no image, signed or not, for the index of a version", async () => {
    await signed("1.0.0");
    await moveTag(`${repository}:2.0.0`, `${repository}:1.0.0-a`);
    expect(await resolve(`${repository}:2.0.0`)).toBe("6 SIGNATURE_MISSING");
    const image = await registry.findManifest(parseImageReference(`${repository}:2.0.0`));
    await key.sign(repository, image?.digest as Digest);
    expect(await resolve(`${repository}:2.0.0`)).toBe("6 SIGNATURE_MISSING");
  });

  it("answers from the cache without the registry, and judges it anew; without either there is no answer", async () => {
    await signed("1.0.0");
    const name = `${repository}:1.0.0`;
    proxy.fault = () => ({ kind: "reset" });
    expect(await resolve(name)).toBe("5 REGISTRY_UNREACHABLE");
    proxy.fault = null;
    expect(await resolve(name, "--cache", file("cache"))).toEqual(answered("1.0.0"));
    proxy.fault = () => ({ kind: "reset" });
    expect(await resolve(name, "--cache", file("cache"))).toEqual(answered("1.0.0"));
    expect(await resolve(name, "--cache", file("cache"), "--key", file("other.pub"))).toBe(
      "6 SIGNATURE_WRONG_SIGNER",
    );
    rmSync(file("cache"), { recursive: true });
    proxy.fault = null;
    await run(["resolve", name, "--host", file("host.json"), "--cache", file("cache")]);
    proxy.fault = () => ({ kind: "reset" });
    expect(await resolve(name, "--cache", file("cache"))).toBe("5 REGISTRY_UNREACHABLE");
    // A signature that cannot be read is not one that is not there.
    rmSync(file("cache"), { recursive: true });
    proxy.fault = ({ path }) => (/referrers|sha256-/.test(path) ? { kind: "status", status: 403 } : null);
    expect(await resolve(name)).toBe("5 REGISTRY_FAILED");
  });

  it("obeys a policy: by a flag, by the environment, by the folder", async () => {
    await signed("1.0.0");
    const name = `${repository}:1.0.0`;
    const policy = (where: string, rule: string): void =>
      writeFileSync(file(where), `repositories: {"${repository}": ${rule}}\n`);
    policy("good.yaml", "{signers: [{key: cosign.pub}]}");
    policy("bad.yaml", "{signers: [{key: other.pub}]}");
    writeFileSync(
      join(folder, "unknown.yaml"),
      "repositories: {registry.example.com/x: {signers: [{key: cosign.pub}]}}\n",
    );
    expect(await resolve(name, "--trust", file("good.yaml"))).toEqual(answered("1.0.0"));
    expect(await resolve(name, "--trust", file("bad.yaml"))).toBe("6 SIGNATURE_WRONG_SIGNER");
    expect(await resolve(name, "--trust", file("unknown.yaml"))).toBe("6 TRUST_NO_RULE");
    expect(await resolve(name, "--trust", file("nowhere.yaml"))).toBe("2 FILE_NOT_FOUND");
    const plain = (env: NodeJS.ProcessEnv = {}) => run(["resolve", name, "--host", file("host.json")], env);
    expect(await plain()).toMatchObject({ status: 0 });
    expect(await plain({ IMGMATCH_TRUST: file("bad.yaml") })).toMatchObject({ status: 6, stdout: "" });
    policy("imgmatch.trust.yaml", "{signers: [{key: other.pub}]}");
    onTestFinished(() => rmSync(file("imgmatch.trust.yaml")));
    expect(await plain()).toMatchObject({ status: 6, stdout: "" });
    expect(await plain({ IMGMATCH_TRUST: file("good.yaml") })).toMatchObject({ status: 0 });
    writeFileSync(file("imgmatch.trust.yaml"), "repositories: [\n");
    const broken = await plain();
    expect(broken).toMatchObject({ status: 2, stdout: "" });
    expect(broken.stderr).toMatch(/imgmatch\.trust\.yaml:\d+:\d+: TRUST_POLICY: /);
  });

  it("obeys the machine's policy, of which no flag, variable or checkout takes anything away", async () => {
    await signed("1.0.0");
    const name = `${repository}:1.0.0`;
    const policy = (where: string, rule: string): void =>
      writeFileSync(file(where), `repositories: {"${repository}": ${rule}}\n`);
    policy("machine.yaml", "{signers: [{key: other.pub}]}");
    policy("lax.yaml", "{unsigned: allowed}");
    policy("imgmatch.trust.yaml", "{unsigned: allowed}");
    onTestFinished(() => rmSync(file("imgmatch.trust.yaml")));
    const ask = (flags: readonly string[], env: NodeJS.ProcessEnv = {}, machine = file("machine.yaml")) =>
      run(["resolve", name, "--host", file("host.json"), ...flags], env, machine);
    expect(await ask([], {}, "/nonexistent/trust.yaml")).toMatchObject({ status: 0 });
    for (const flags of [[], ["--trust", file("lax.yaml")], ["--key", file("cosign.pub")]])
      expect(await ask(flags), flags.join(" ")).toMatchObject({ status: 6, stdout: "" });
    expect(await ask([], { IMGMATCH_TRUST: file("lax.yaml") })).toMatchObject({ status: 6, stdout: "" });
    expect(await ask([], { IMGMATCH_TRUST: "" })).toMatchObject({ status: 6, stdout: "" });
    policy("machine.yaml", "{signers: [{key: cosign.pub}]}");
    expect(await ask([])).toMatchObject({ status: 0 });
    expect(await ask(["--key", file("other.pub")])).toMatchObject({ status: 6, stdout: "" });
    // A policy that cannot be read demands everything: a dangling link, a folder in its place.
    rmSync(file("machine.yaml"));
    symlinkSync("nowhere", file("machine.yaml"));
    expect(await ask([])).toMatchObject({ status: 2, stdout: "" });
    expect(await ask([], {}, folder)).toMatchObject({ status: 2, stdout: "" });
    // A command that only looks needs no place to remember anything.
    rmSync(file("machine.yaml"));
    policy("machine.yaml", "{signers: [{key: cosign.pub}], downgrade: refuse}");
    expect(await ask([])).toMatchObject({ status: 2, stdout: "" });
    expect(await ask(["--cache", file("cache")])).toMatchObject({ status: 0 });
    expect(await run(["promote", name, "1.0.1"], {}, file("machine.yaml"))).toMatchObject({ status: 0 });
  });

  it("is the same for every command that reads a fleet", async () => {
    await publishFleet(repository, "1.0.0", ["a"]);
    const name = `${repository}:1.0.0`;
    const host = ["--host", file("host.json")];
    writeFileSync(file("hosts.jsonl"), JSON.stringify(cpuHost()));
    const commands = [
      ["resolve", name, "--hosts", file("hosts.jsonl")],
      ["run", name, ...host, "--dry-run"],
      ["pull", name],
      ["launch", "docker", "--from", name, ...host],
      ["launch", "kubernetes", "--from", name, "--fleet"],
      ["labels", "--from", name, ...host],
      ["why-not", "a", "--from", name, ...host],
      ["cover", "--from", name, file("host.json")],
      ["export", "sh", "--from", name],
      ["promote", name, "2.0.0"],
      ["check", `${name}-a`, ...host],
    ];
    for (const command of commands) {
      const ran = await run([...command, "--key", file("cosign.pub")]);
      expect(ran, command.join(" ")).toMatchObject({ status: 6, stdout: "" });
      expect(ran.stderr).toContain("SIGNATURE_MISSING");
    }
    expect(await registry.findManifest(parseImageReference(`${repository}:2.0.0`))).toBeNull();
    for (const command of [
      ["resolve"],
      ["why-not", "a"],
      ["labels"],
      ["cover", file("host.json"), "--matrix", "matrix.yaml"],
    ]) {
      const ran = await run([...command, "--key", file("cosign.pub")]);
      expect(ran.status, command.join(" ")).toBe(2);
    }
  });

  it("checks one image, and a lock with all that it names", async () => {
    const { index, images } = await publishFleet(repository, "1.0.0", ["a", "b"]);
    const a = images.get("a") as Digest;
    const locked = lockOf({ a: image({ digest: a }), b: image({ digest: images.get("b") as Digest }) });
    const tagged = Object.fromEntries(
      Object.entries(locked.images).map(([cell, one]) => [cell, { ...one, tag: `1.0.0-${cell}` }]),
    );
    const lock = { ...locked, name: "app", version: "1.0.0", repository, images: tagged };
    const write = (more: object = {}): void =>
      writeFileSync(file("lock.json"), formatLock({ ...lock, images: { ...lock.images, ...more } }));
    write();
    const verify = () => run(["verify", "--lock", file("lock.json"), "--key", file("cosign.pub"), "--json"]);
    expect(await verify()).toMatchObject({ status: 6 });
    await key.sign(repository, index);
    expect(JSON.parse((await verify()).stdout)).toMatchObject({
      intact: 2,
      signed: { index: { digest: index }, named: 2, own: {} },
    });
    // An image that the index does not name needs its own signature.
    const { images: later } = await publishFleet(`${repository}x`, "1.0.0", ["c"]);
    await copyManifest(`${repository}x`, repository, "1.0.0-c");
    const c = later.get("c") as Digest;
    write({ c: image({ digest: c, tag: "1.0.0-c", axes: { cuda: "none", march: "c" } }) });
    expect(await verify()).toMatchObject({ status: 6 });
    await key.sign(repository, c);
    expect(JSON.parse((await verify()).stdout)).toMatchObject({
      signed: { named: 2, own: { c: { digest: c } } },
    });

    const check = (name: string) =>
      run(["check", name, "--host", file("host.json"), "--key", file("cosign.pub"), "--json"]);
    expect(await check(`${repository}:1.0.0-a`)).toMatchObject({ status: 6 });
    await key.sign(repository, a);
    expect(JSON.parse((await check(`${repository}:1.0.0-a`)).stdout).signed).toEqual({
      key: file("cosign.pub"),
      identity: null,
      digest: a,
    });
  });

  it("has a mirror that asks the policy of all that it passes on, failing closed", async () => {
    await signed("1.0.0");
    const path = new URL(`http://${proxy.host}/`).host;
    const [name, port] = [repository.slice(path.length + 1), new URL(`http://${path}/`).port];
    const others = ["tools", "open", "strange"].map((each) => `${path}/${each}${count}/app`);
    const [tools = "", open = "", strange = ""] = others;
    for (const each of others) await signed("1.0.0", ["a"], each);
    await publishFleet(tools, "2.0.0", ["b"]);
    const pathOf = (each: string) => each.slice(path.length + 1);
    const text = [
      "repositories:",
      `  "127.0.0.1:0${port}/${name}": {signers: [{key: cosign.pub}]}`,
      `  "${tools}": {signers: [{key: cosign.pub}]}`,
      `  "${open}": {unsigned: allowed}`,
    ];
    writeFileSync(file("policy.yaml"), `${text.join("\n")}\n`);
    const serve = async (...flags: string[]) => {
      const args = ["--host", file("host.json"), "--fail-closed", ...flags];
      const mirror = await startServe(args, { cwd: folder, env: process.env });
      onTestFinished(async () => void (await mirror.stop()));
      return async (repo: string, tag: string, ns = path) => {
        const asked = await fetch(`http://${mirror.address}/v2/${repo}/manifests/${tag}?ns=${ns}`);
        return `${asked.status} ${/[A-Z]+_[A-Z_]+(?=:)/.exec(await asked.text())?.[0] ?? ""}`.trim();
      };
    };
    for (const flags of [[repository], [`${repository}:1.0.0`]]) {
      const ask = await serve("--trust", file("policy.yaml"), ...flags);
      expect(await ask(name, "1.0.0")).toBe("200");
      expect(await ask(name, "1.0.0", `127.0.0.1:0${port}`)).toBe("200");
      expect(await ask(pathOf(tools), "1.0.0")).toBe("200");
      expect(await ask(pathOf(tools), "1.0.0-a")).toBe("403 SIGNATURE_MISSING");
      expect(await ask(pathOf(tools), "2.0.0")).toBe("403 SIGNATURE_MISSING");
      expect(await ask(pathOf(tools), "3.0.0")).toBe("404");
      expect(await ask(pathOf(open), "1.0.0-a")).toBe("200");
      expect(await ask(pathOf(strange), "1.0.0")).toBe("403 TRUST_NO_RULE");
      expect(await ask(name, "1.0.0-a")).toBe("403 SIGNATURE_MISSING");
    }
    // An image that is signed itself, and an index under the tag of another version.
    const [image, index] = await Promise.all(
      ["1.0.0-a", "1.0.0"].map((tag) => registry.findManifest(parseImageReference(`${tools}:${tag}`))),
    );
    if (!image || !index) throw new Error(`nothing was published to ${tools}`);
    await key.sign(tools, image.digest);
    await moveTag(`${tools}:1.1.0`, `${tools}:1.0.0`);
    const ask = await serve("--trust", file("policy.yaml"), repository);
    expect(await ask(pathOf(tools), "1.0.0-a")).toBe("200");
    expect(await ask(pathOf(tools), "1.1.0")).toBe("403 INDEX_FOREIGN");
    // Flags are about the fleets that they stand beside.
    const byKey = await serve("--key", file("cosign.pub"), repository);
    expect(await byKey(pathOf(strange), "1.0.0")).toBe("200");
    expect(await byKey(name, "1.0.0-a")).toBe("403 SIGNATURE_MISSING");
  });

  it("has a mirror that refuses, and says why", async () => {
    await signed("1.0.0");
    const serve = (...flags: string[]) =>
      startServe(["--host", file("host.json"), "--cache", file("cache"), ...flags, repository], {
        cwd: folder,
        env: process.env,
      });
    const mirror = await serve("--key", file("cosign.pub"), "--fail-closed");
    onTestFinished(async () => void (await mirror.stop()));
    const path = new URL(`http://${proxy.host}/`).host;
    const name = repository.slice(path.length + 1);
    const ask = (version: string, at = mirror.address) =>
      fetch(`http://${at}/v2/${name}/manifests/${version}?ns=${path}`);
    expect((await ask("1.0.0")).status).toBe(200);
    await publishFleet(repository, "2.0.0", ["b"]);
    const refused = await ask("2.0.0");
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("SIGNATURE_MISSING");
    await expect.poll(() => mirror.log.at(-1)).toMatchObject({ outcome: "not-trusted", status: 403 });
    // A plain image under the tag of a version, a tag of an image: nobody has signed an index there.
    await moveTag(`${repository}:3.0.0`, `${repository}:2.0.0-b`);
    expect((await ask("3.0.0")).status).toBe(403);
    expect((await ask("4.0.0")).status).toBe(404);
    // An earlier answer does not replace the refused one.
    const again = await serve("--key", file("cosign.pub"), "--fail-closed");
    onTestFinished(async () => void (await again.stop()));
    expect((await ask("1.0.0", again.address)).status).toBe(200);
    const third = await serve("--key", file("other.pub"), "--fail-closed");
    onTestFinished(async () => void (await third.stop()));
    expect((await ask("1.0.0", third.address)).status).toBe(403);
    // Without the registry the cache answers, judged by who is asked for.
    proxy.fault = () => ({ kind: "reset" });
    const offline = await serve("--key", file("cosign.pub"), "--fail-closed");
    onTestFinished(async () => void (await offline.stop()));
    const head = await fetch(`http://${offline.address}/v2/${name}/manifests/1.0.0?ns=${path}`, {
      method: "HEAD",
    });
    expect(head.status).toBe(200);
    expect((await ask("1.0.0", third.address)).status).toBe(403);
    // Open, it says what that means.
    const open = await serve("--key", file("cosign.pub"));
    onTestFinished(async () => void (await open.stop()));
    expect(open.log[0]).toMatchObject({
      level: "warning",
      event: "trust",
      message: expect.stringContaining("--fail-closed"),
    });
  });
});

/** As whoever may write there copies an index or an image with what it names. */
async function copyManifest(from: string, to: string, tag: string): Promise<void> {
  const [source, target] = [parseImageReference(from), parseImageReference(to)];
  const manifest = await registry.readManifest(parseImageReference(`${from}:${tag}`));
  if (manifest === null) throw new Error(`no ${from}:${tag}`);
  const { manifests = [], config } = JSON.parse(Buffer.from(manifest.bytes).toString("utf8"));
  if (config !== undefined) await registry.copyBlob(source, target, config);
  for (const { digest } of manifests) await copyByDigest(from, to, digest);
  await registry.writeManifest(parseImageReference(`${to}:${tag}`), manifest);
}

async function copyByDigest(from: string, to: string, digest: string): Promise<void> {
  const manifest = await registry.readManifest(parseImageReference(`${from}@${digest}`));
  if (manifest === null) throw new Error(`no ${from}@${digest}`);
  const { config } = JSON.parse(Buffer.from(manifest.bytes).toString("utf8"));
  await registry.copyBlob(parseImageReference(from), parseImageReference(to), config);
  await registry.writeManifest(parseImageReference(`${to}@${digest}`), manifest);
}
