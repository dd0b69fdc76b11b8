/** Valid and invalid policies, and the rule that counts. */

import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { findRule } from "../../../src/trust/policy/policy.ts";
import { parseTrustPolicy } from "../../../src/trust/policy/parse-policy.ts";
import { readTrustPolicy } from "../../../src/trust/policy/read-policy.ts";
import { readPolicySigner } from "../../../src/trust/find-trust.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";

const parse = (text: string) => parseTrustPolicy(text, "trust.yaml");

/** `line:column message` of each mistake. */
function mistakes(text: string): readonly string[] {
  try {
    parse(text);
    return [];
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    expect(error.problems.every(({ code, fix }) => code === "TRUST_POLICY" && fix !== undefined)).toBe(true);
    return error.problems.map(({ at, message }) => `${at?.line}:${at?.column} ${message}`);
  }
}

const key = "{signers: [{key: a.pub}]}";

describe("a policy", () => {
  it("says who signs what", () => {
    const policy = parse(`
memory: /var/lib/imgmatch
repositories:
  registry.example.com/team/*:
    signers:
      - key: cosign.pub
      - key: env://KEY
      - identity: https://github.com/team/*@refs/tags/*
        issuer: https://token.actions.githubusercontent.com
        trusted-root: root.json
    downgrade: refuse
    name: vision
  "*/lab/*":
    unsigned: allowed
`);
    expect(policy).toMatchObject({ file: "trust.yaml", otherwise: "refuse", memory: "/var/lib/imgmatch" });
    expect(policy.rules).toMatchObject([
      {
        signers: [
          { kind: "key", key: "cosign.pub", at: { line: 6 } },
          { kind: "key", key: "env://KEY" },
          { kind: "identity", trustedRoot: "root.json" },
        ],
        downgrade: "refuse",
        name: "vision",
      },
      { signers: "unsigned", downgrade: "allow", name: null },
    ]);
  });

  it("on the page is one, and the file beside it is the same", () => {
    const file = readFileSync("docs/node/trust.yaml", "utf8");
    const page = readFileSync("docs/trust.md", "utf8");
    expect(page).toContain(`<!-- file: docs/node/trust.yaml -->\n\`\`\`yaml\n${file}\`\`\`\n`);
    const { rules } = parse(file);
    expect(rules.map(({ pattern }) => pattern.text)).toEqual([
      "registry.example.com/team/*",
      "registry.example.com/team/vision",
      "registry.example.com/lab/*",
    ]);
  });

  it("names every mistake with its place", () => {
    expect(
      mistakes(`defualt: refuse
default: maybe
memory: var
repositories:
  registry.example.com/a: {signers: []}
  registry.example.com/b: {signers: [{key: ""}, {identity: x}, {key: k, issuer: i}], downgrade: no}
  registry.example.com/c: {signers: [{key: k}], unsigned: allowed}
  registry.example.com/d: {unsigned: yes}
  registry.example.com/e: text
  registry.example.com/f: {signers: [{key: k}], moving: [stable]}
`),
    ).toEqual([
      '1:1 unknown key "defualt" in the policy',
      "5:37 repositories.registry.example.com/a.signers must be a list that is not empty",
      "6:44 repositories.registry.example.com/b.signers.0.key must be a text that is not empty",
      "6:49 repositories.registry.example.com/b.signers.1.issuer must be a text that is not empty",
      '6:73 unknown key "issuer" in repositories.registry.example.com/b.signers.2',
      "6:97 repositories.registry.example.com/b.downgrade must be allow or refuse",
      "7:27 repositories.registry.example.com/c needs either signers or unsigned: allowed",
      "8:38 repositories.registry.example.com/d.unsigned must be allowed",
      "9:27 repositories.registry.example.com/e must be a mapping",
      '10:49 unknown key "moving" in repositories.registry.example.com/f',
      "2:10 default must be unsigned or refuse",
      "3:9 memory must be an absolute path",
    ]);
  });

  it("suggests the word that asks for more", () => {
    const rules = "repositories: {registry.example.com/a: {signers: [{key: k}], downgrade: maybe}}";
    expect(() => parse(`default: maybe\n${rules}`)).toThrow(
      expect.objectContaining({
        problems: [
          expect.objectContaining({ fix: "write refuse" }),
          expect.objectContaining({ fix: "write refuse" }),
        ],
      }),
    );
  });

  it.each([
    ["", "1:1 the policy must be a mapping"],
    ["[]", "1:1 the policy must be a mapping"],
    ["default: unsigned", "1:1 repositories names no repository"],
    ["repositories: {}", "1:15 repositories names no repository"],
    ["repositories: {a.example/x: &a {signers: *a}}", "1:42 *a stands inside its own value"],
    ["a: 1\n---\nb: 2", "2:1 the file holds several YAML documents"],
    ["repositories: [", "1:16 not YAML: Flow sequence in block collection must be sufficiently indented"],
    [
      `repositories: {a.example/x: ${key}, a.example/x: ${key}}`,
      '1:56 the key "a.example/x" stands twice here',
    ],
    [
      `repositories: {"a.example/x": ${key}, "a.example:443/x": ${key}}`,
      "1:58 a.example/x and a.example:443/x are the same repositories",
    ],
  ])("%j is refused", (text, mistake) => expect(mistakes(text)[0]).toContain(mistake));

  it("is bounded in size and depth", () => {
    const code = (text: string) => {
      try {
        return parse(text);
      } catch (error) {
        return error instanceof ImgmatchError ? error.code : error;
      }
    };
    expect(code("a".repeat(2 * 1024 * 1024))).toBe("INPUT_TOO_LARGE");
    expect(code("[".repeat(100_000))).toBe("INPUT_TOO_LARGE");
  });

  it.each([
    ["team/app", "team is no registry"],
    ["app", "names no registry"],
    ["*", "names no registry"],
    ["registry.example.com*/app", "its registry may be a host"],
    ["*example.com/app", "its registry may be a host"],
    ["registry.*.com/app", "its registry may be a host"],
    ["Registry.example.com/app", "upper-case"],
    ["registry.example.com/", "no repository"],
    ["registry.example.com/app:1.0", "no repository"],
    ["registry.example.com/app@sha256", "no repository"],
    ["https://registry.example.com/app", "its registry may be a host"],
  ])("names no repository by %s", (pattern, why) => {
    expect(mistakes(`repositories: {"${pattern}": ${key}}`).join()).toContain(why);
  });
});

describe("the rule of a repository", () => {
  const policy = (patterns: readonly string[], more = "") =>
    parse(`${more}\nrepositories: {${patterns.map((pattern) => `"${pattern}": ${key}`).join(", ")}}`);
  const ruleOf = (reference: string, ...patterns: string[]) =>
    findRule(policy(patterns), parseImageReference(reference))?.pattern.text;

  it("is the one that says most of it, in whatever order they stand", () => {
    const patterns = [
      "*/*",
      "*/team/*",
      "*.example.com/*",
      "registry.example.com/*",
      "registry.example.com/team/*",
      "registry.example.com/team/app",
    ];
    for (let count = patterns.length; count > 0; count--)
      for (const some of [patterns.slice(0, count), patterns.slice(0, count).reverse()])
        expect(ruleOf("registry.example.com/team/app:1", ...some)).toBe(patterns[count - 1]);
  });

  it("is found however the registry is spelled", () => {
    for (const name of ["", ":443", ":0443", ":80"].map((port) => `Registry.Example.com${port}/x`))
      expect(ruleOf(name, "registry.example.com/*", "*/*")).toBe("registry.example.com/*");
    for (const name of ["127.0.0.1:05199/x", "127.0.0.1:5199/x", "127.0.0.1:0000005199/x"])
      for (const pattern of ["127.0.0.1:5199/*", "127.0.0.1:05199/*"])
        expect(ruleOf(name, pattern, "*/*")).toBe(pattern);
    for (const name of ["[::1]:5000/x", "[0:0:0:0:0:0:0:1]:5000/x", "[0::1]:05000/x"])
      expect(ruleOf(name, "[::1]:5000/*", "*/*")).toBe("[::1]:5000/*");
    for (const host of ["registry-1.docker.io", "Index.Docker.io", "registry.hub.docker.com:443"])
      expect(ruleOf(`${host}/team/app`, "docker.io/team/*", "*/*")).toBe("docker.io/team/*");
    expect(ruleOf("debian:12", "docker.io/library/*")).toBe("docker.io/library/*");
    expect(ruleOf("index.docker.io/team/app", "docker.io/team/*")).toBe("docker.io/team/*");
  });

  it("is asked of no registry with a dot behind its name, which is no reference", () => {
    expect(() => parseImageReference("registry.example.com./x")).toThrow("is not a registry host");
  });

  it("is never that of another registry", () => {
    const foreign = [
      "evil.com/registry.example.com/team/app",
      "registry.example.com.evil.com/team/app",
      "evil.com/x.example.com/team/app",
      "registry.example.com:5000/team/app",
      "registry.example.com:4430/team/app",
      "registry.example.com:08/team/app",
    ];
    for (const name of foreign)
      expect(() => ruleOf(name, "registry.example.com/*", "*.example.com/team/*")).toThrow("has no rule for");
  });

  it("refuses with exit code 6 what no rule names, unless the default allows it", () => {
    const asked = parseImageReference("registry.example.com/other:1");
    expect(() => findRule(policy(["registry.example.com/team/*"]), asked)).toThrow(
      expect.objectContaining({ code: "TRUST_NO_RULE", exitCode: 6 }),
    );
    expect(findRule(policy(["registry.example.com/team/*"], "default: unsigned"), asked)).toBeNull();
  });

  it("refuses where two say as much", () => {
    expect(() =>
      ruleOf("registry.example.com/ab/cd", "registry.example.com/a*d", "registry.example.com/ab*"),
    ).toThrow(expect.objectContaining({ code: "TRUST_POLICY" }));
  });
});

describe("the file of a policy", () => {
  const text = `repositories: {"*/*": ${key}}`;

  it("is refused where others may write it, a folder above, or a key that it names", async () => {
    const folder = makeFolder({ "trust.yaml": text, "a.pub": "key" });
    const file = join(folder, "trust.yaml");
    expect((await readTrustPolicy(file)).rules).toHaveLength(1);
    const at = { file, line: 1 };
    for (const [path, ask] of [
      [file, () => readTrustPolicy(file)],
      [folder, () => readTrustPolicy(file)],
      [join(folder, "a.pub"), () => readPolicySigner({ kind: "key", key: "a.pub", at }, { file }, {})],
    ] as const) {
      chmodSync(path, 0o777);
      await expect(ask()).rejects.toMatchObject({
        code: "TRUST_UNSAFE",
        exitCode: 2,
        problems: [{ at: { file: path }, fix: `chmod go-w ${path}` }],
      });
      chmodSync(path, path === folder ? 0o755 : 0o644);
      await ask();
    }
    // A link in a safe place to one that is not.
    mkdirSync(join(folder, "open"), { mode: 0o777 });
    chmodSync(join(folder, "open"), 0o777);
    writeFileSync(join(folder, "open", "trust.yaml"), text);
    symlinkSync("open/trust.yaml", join(folder, "link.yaml"));
    await expect(readTrustPolicy(join(folder, "link.yaml"))).rejects.toMatchObject({ code: "TRUST_UNSAFE" });
  });

  it(
    "is refused where it is another user's",
    needs(process.getuid?.() === 0 ? null : "not root, who alone can give files away"),
    async () => {
      const file = join(makeFolder({ "trust.yaml": text }), "trust.yaml");
      chownSync(file, 12_345, 12_345);
      await expect(readTrustPolicy(file)).rejects.toMatchObject({ code: "TRUST_UNSAFE" });
    },
  );

  it("that is not there is no policy that asks nothing", async () => {
    const file = join(makeFolder({}), "trust.yaml");
    await expect(readTrustPolicy(file)).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    symlinkSync("nowhere", file);
    await expect(readTrustPolicy(file)).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });

  it("has keys beside it, in the environment, and in itself", async () => {
    const folder = makeFolder({ "trust.yaml": text, "a.pub": "the file's" });
    const file = join(folder, "trust.yaml");
    const read = (name: string, env = {}) =>
      readPolicySigner({ kind: "key", key: name, at: { file, line: 3 } }, { file }, env);
    expect(await read("a.pub")).toMatchObject({ pem: "the file's" });
    expect(await read("env://A", { A: "the variable's" })).toEqual({
      kind: "key",
      name: "env://A",
      pem: "the variable's",
    });
    expect(await read("-----BEGIN PUBLIC KEY-----\n")).toMatchObject({ name: `in ${file}:3` });
    for (const name of ["env://", "env://A", "env://__proto__", "env://A B"])
      await expect(read(name)).rejects.toMatchObject({ code: "KEY_INVALID" });
    await expect(read("b.pub")).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });
});
