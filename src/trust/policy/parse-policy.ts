/** `imgmatch.trust.yaml` → rules, every mistake with its place. Keys are named here, not read. */

import { type Place, type Problem, throwProblems } from "../../errors.ts";
import { isRecord } from "../../input/json.ts";
import { inputLimits } from "../../input/limits.ts";
import type { YamlKind } from "../../input/yaml/yaml-kind.ts";
import { parseYamlSource, type YamlSource } from "../../input/yaml/yaml-source.ts";
import type { NamedSigner, RepositoryPattern, TrustPolicy, TrustRule } from "./policy.ts";
import { moreSpecific, parseRepositoryPattern } from "./repository-pattern.ts";

const code = "TRUST_POLICY";
const policyYaml: YamlKind = { limit: inputLimits.trustPolicy, syntax: code, duplicate: code };

const policyKeys = ["default", "memory", "repositories"];
const ruleKeys = ["signers", "unsigned", "name", "moving", "downgrade"];
const keyKeys = ["key"];
const identityKeys = ["identity", "issuer", "trusted-root"];

type Path = readonly (string | number)[];

/** Throws `TRUST_POLICY` with every mistake, `INPUT_TOO_LARGE`. */
export function parseTrustPolicy(text: string, file: string): TrustPolicy {
  const { source, problems: broken } = parseYamlSource(text, file, policyYaml);
  throwProblems(broken);
  const reader = createReader(source, file);
  const policy = reader.policy(source.data);
  throwProblems(reader.problems);
  return policy;
}

function createReader(source: YamlSource, file: string) {
  const problems: Problem[] = [];
  const report = (path: Path, message: string, fix: string): void => {
    problems.push({ code, message, fix, at: source.placeOf(path) });
  };

  /** The mapping at a path, its unknown keys reported; empty where something else stands. */
  function mapping(value: unknown, path: Path, known: readonly string[]): Readonly<Record<string, unknown>> {
    const keys = `the keys here are ${known.join(", ")}`;
    if (!isRecord(value)) {
      report(path, `${nameOf(path)} must be a mapping`, keys);
      return {};
    }
    for (const key of Object.keys(value).filter((each) => !known.includes(each)))
      problems.push({
        code,
        message: `unknown key ${JSON.stringify(key)} in ${nameOf(path)}`,
        fix: keys,
        at: source.placeOfKey([...path, key]),
      });
    return value;
  }

  function list(value: unknown, path: Path, fix: string): readonly unknown[] {
    if (Array.isArray(value) && value.length > 0) return value;
    report(path, `${nameOf(path)} must be a list that is not empty`, fix);
    return [];
  }

  function someText(value: unknown, path: Path, fix: string): string {
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    report(path, `${nameOf(path)} must be a text that is not empty`, fix);
    return "";
  }

  function choice<const T extends string>(value: unknown, path: Path, words: readonly [T, ...T[]]): T {
    const found = words.find((word) => word === value);
    if (found === undefined)
      report(path, `${nameOf(path)} is one of ${words.join(", ")}`, `write ${words[0]}`);
    return found ?? words[0];
  }

  function policy(data: unknown): TrustPolicy {
    const { default: otherwise = "refuse", memory, repositories } = mapping(data, [], policyKeys);
    const rules = rulesOf(repositories);
    return {
      file,
      rules,
      otherwise: choice(otherwise, ["default"], ["refuse", "unsigned"]),
      memory: memory === undefined ? null : absolutePath(memory, ["memory"]),
    };
  }

  function absolutePath(value: unknown, path: Path): string {
    const folder = someText(value, path, "write /var/lib/imgmatch");
    if (folder !== "" && !folder.startsWith("/"))
      report(path, `${nameOf(path)} must be an absolute path`, "write /var/lib/imgmatch");
    return folder;
  }

  function rulesOf(repositories: unknown): readonly TrustRule[] {
    const path = ["repositories"];
    if (!isRecord(repositories) || Object.keys(repositories).length === 0) {
      const fix = "write repositories: {registry.example.com/team/*: {signers: [{key: cosign.pub}]}}";
      report(path, "repositories names no repository", fix);
      return [];
    }
    const rules = Object.entries(repositories).flatMap(([text, value]) => rule(text, value, [...path, text]));
    for (const [index, one] of rules.entries())
      for (const other of rules.slice(0, index))
        if (meansTheSame(one.pattern, other.pattern))
          problems.push({
            code,
            message: `${one.pattern.text} and ${other.pattern.text} are the same repositories`,
            fix: "keep one",
            at: one.at,
          });
    return rules;
  }

  function rule(text: string, value: unknown, path: Path): readonly TrustRule[] {
    const pattern = parseRepositoryPattern(text);
    const at = source.placeOfKey(path);
    const body = mapping(value, path, ruleKeys);
    const { name, moving = [], downgrade = "allow" } = body;
    const signers = signersOf(body, path);
    const read = {
      at,
      signers,
      name: name === undefined ? null : someText(name, [...path, "name"], "write the matrix's name"),
      moving: Array.isArray(moving)
        ? moving.map((tag, index) => someText(tag, [...path, "moving", index], "write a tag, such as stable"))
        : (report([...path, "moving"], "moving must be a list of tags", "write moving: [stable]"), []),
      downgrade: choice(downgrade, [...path, "downgrade"], ["allow", "refuse"]),
    };
    if (!("wrong" in pattern)) return [{ pattern, ...read }];
    problems.push({
      code,
      message: `${JSON.stringify(text)} is no repository: ${pattern.wrong}`,
      fix: "write it in full with its registry: registry.example.com/team/app, registry.example.com/team/* or docker.io/library/*",
      at,
    });
    return [];
  }

  function signersOf(
    { signers, unsigned }: Readonly<Record<string, unknown>>,
    path: Path,
  ): TrustRule["signers"] {
    const fix = "write signers: [{key: cosign.pub}], or unsigned: allowed";
    if ((signers === undefined) === (unsigned === undefined)) {
      report(path, `${nameOf(path)} needs either signers or unsigned: allowed`, fix);
      return [];
    }
    if (signers === undefined) {
      choice(unsigned, [...path, "unsigned"], ["allowed"]);
      return "unsigned";
    }
    return list(signers, [...path, "signers"], fix).map((each, index) =>
      signer(each, [...path, "signers", index]),
    );
  }

  function signer(value: unknown, path: Path): NamedSigner {
    const at = source.placeOf(path);
    if (isRecord(value) && value.key !== undefined) {
      const { key } = mapping(value, path, keyKeys);
      return { kind: "key", key: someText(key, [...path, "key"], "write the path of cosign.pub"), at };
    }
    const body = mapping(value, path, identityKeys);
    const root = body["trusted-root"];
    return {
      kind: "identity",
      identity: someText(
        body.identity,
        [...path, "identity"],
        "write key: cosign.pub, or whose certificate it is",
      ),
      issuer: someText(
        body.issuer,
        [...path, "issuer"],
        "write who confirms it: https://token.actions.githubusercontent.com",
      ),
      trustedRoot:
        root === undefined
          ? null
          : someText(root, [...path, "trusted-root"], "write the path of trusted_root.json"),
      at,
    };
  }

  return { policy, problems };
}

function nameOf(path: Path): string {
  return path.length === 0 ? "the policy" : path.map(String).join(".");
}

/** Two texts of one pattern: the port 443, which https has anyway. */
function meansTheSame(one: RepositoryPattern, other: RepositoryPattern): boolean {
  return one.host === other.host && one.path === other.path && moreSpecific(one, other) === 0;
}
