/** `imgmatch.trust.yaml` → rules. Reports every mistake with its place. Reads no key. */

import { type Problem, throwProblems } from "../../errors.ts";
import { fieldsOf, isRecord } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { YamlKind } from "../../io/yaml/yaml-data.ts";
import { parseYamlSource, type YamlSource } from "../../io/yaml/yaml-source.ts";
import { type PolicySigner, parseRepositoryPattern, type TrustPolicy, type TrustRule } from "./policy.ts";

const code = "TRUST_POLICY";

const policyYaml: YamlKind = { limit: inputLimits.trustPolicy, syntax: code, duplicate: code };

/** Throws `TRUST_POLICY` with every mistake, `INPUT_TOO_LARGE`. */
export function parseTrustPolicy(text: string, file: string): TrustPolicy {
  const { source, problems: syntax } = parseYamlSource(text, file, policyYaml);
  throwProblems(syntax);
  const problems: Problem[] = [];
  const top: Value = { raw: source.data, path: [], source, problems };
  const member = mapping(top, ["default", "memory", "repositories"]);
  const policy: TrustPolicy = {
    file,
    rules: readRules(member("repositories")),
    otherwise: choice(member("default"), ["unsigned", "refuse"], "refuse"),
    memory: readFolder(member("memory")),
  };
  throwProblems(problems);
  return policy;
}

/** A relative folder would depend on the folder that a job starts in. */
function readFolder(value: Value): string | null {
  const fix = "write /var/lib/imgmatch";
  const folder = ifWritten(value, fix);
  if (folder && !folder.startsWith("/")) report(value, `${nameOf(value)} must be an absolute path`, fix);
  return folder;
}

function readRules(repositories: Value): readonly TrustRule[] {
  const texts = Object.keys(fieldsOf(repositories.raw));
  if (texts.length === 0) {
    const fix = "write repositories: {registry.example.com/team/*: {signers: [{key: cosign.pub}]}}";
    report(repositories, "repositories names no repository", fix);
  }
  const seen = new Map<string, string>();
  const rules = texts.flatMap((text) => readRule(text, memberOf(repositories, text)));
  for (const { pattern, at } of rules) {
    const meaning = `${pattern.host}/${pattern.path}`;
    const other = seen.get(meaning);
    if (other !== undefined)
      report(repositories, `${other} and ${pattern.text} are the same repositories`, "keep one", at);
    seen.set(meaning, pattern.text);
  }
  return rules;
}

const ruleKeys = ["signers", "unsigned", "name", "repository", "downgrade"];

function readRule(text: string, value: Value): readonly TrustRule[] {
  const pattern = parseRepositoryPattern(text);
  const at = value.source.placeOfKey(value.path);
  const member = mapping(value, ruleKeys);
  const read = {
    at,
    signers: isRecord(value.raw) ? readSigners(value) : [],
    name: ifWritten(member("name"), "write the matrix's name"),
    repository: ifWritten(
      member("repository"),
      "write where it was published, without the registry: team/app",
    ),
    downgrade: choice(member("downgrade"), ["allow", "refuse"], "allow"),
  };
  if (!("wrong" in pattern)) return [{ pattern, ...read }];
  report(
    value,
    `${JSON.stringify(text)} is no repository: ${pattern.wrong}`,
    "write it in full: registry.example.com/team/app, registry.example.com/team/* or docker.io/library/*",
    at,
  );
  return [];
}

function readSigners(rule: Value): TrustRule["signers"] {
  const [signers, unsigned] = [memberOf(rule, "signers"), memberOf(rule, "unsigned")];
  const fix = "write signers: [{key: cosign.pub}], or unsigned: allowed";
  if ((signers.raw === undefined) === (unsigned.raw === undefined)) {
    report(rule, `${nameOf(rule)} needs either signers or unsigned: allowed`, fix);
    return [];
  }
  if (signers.raw === undefined) {
    choice(unsigned, ["allowed"], "allowed");
    return "unsigned";
  }
  const items = itemsOf(signers) ?? [];
  if (items.length === 0) report(signers, `${nameOf(signers)} must be a list that is not empty`, fix);
  return items.map(readPolicySigner);
}

function readPolicySigner(value: Value): PolicySigner {
  if (fieldsOf(value.raw).key !== undefined) {
    const key = someText(mapping(value, ["key"])("key"), "write the path of cosign.pub");
    return { kind: "key", key, at: value.source.placeOf(value.path) };
  }
  const member = mapping(value, ["identity", "issuer", "trusted-root"]);
  const who = "write who confirms it: https://token.actions.githubusercontent.com";
  return {
    kind: "identity",
    identity: someText(member("identity"), "write key: cosign.pub, or whose certificate it is"),
    issuer: someText(member("issuer"), who),
    trustedRoot: ifWritten(member("trusted-root"), "write the path of trusted_root.json"),
  };
}

/** A value of a policy with its place: a mistake is reported at the place, and reading goes on. */
interface Value {
  /** undefined if the key is absent. */
  readonly raw: unknown;
  readonly path: readonly (string | number)[];
  readonly source: YamlSource;
  readonly problems: Problem[];
}

function memberOf(value: Value, key: string): Value {
  return { ...value, raw: fieldsOf(value.raw)[key], path: [...value.path, key] };
}

/** null for anything but a list. */
function itemsOf(value: Value): readonly Value[] | null {
  if (!Array.isArray(value.raw)) return null;
  return value.raw.map((raw, index) => ({ ...value, raw, path: [...value.path, index] }));
}

function report(value: Value, message: string, fix: string, at = value.source.placeOf(value.path)): void {
  value.problems.push({ code, message, fix, at });
}

/** Answers with a reader of members, and reports unknown keys. A value of another kind has no members. */
function mapping(value: Value, known: readonly string[]): (key: string) => Value {
  const keys = `the keys here are ${known.join(", ")}`;
  if (!isRecord(value.raw)) report(value, `${nameOf(value)} must be a mapping`, keys);
  for (const key of Object.keys(fieldsOf(value.raw)).filter((each) => !known.includes(each))) {
    const at = value.source.placeOfKey([...value.path, key]);
    report(value, `unknown key ${JSON.stringify(key)} in ${nameOf(value)}`, keys, at);
  }
  return (key) => memberOf(value, key);
}

function someText(value: Value, fix: string): string {
  if (typeof value.raw === "string" && value.raw.trim() !== "") return value.raw.trim();
  report(value, `${nameOf(value)} must be a text that is not empty`, fix);
  return "";
}

function ifWritten(value: Value, fix: string): string | null {
  return value.raw === undefined ? null : someText(value, fix);
}

/** `otherwise` if the key is absent. The fix suggests the last word, which demands most. */
function choice<const T extends string>(value: Value, words: readonly T[], otherwise: T): T {
  const found = value.raw === undefined ? otherwise : words.find((word) => word === value.raw);
  if (found === undefined)
    report(value, `${nameOf(value)} must be ${words.join(" or ")}`, `write ${words.at(-1)}`);
  return found ?? otherwise;
}

function nameOf({ path }: Value): string {
  return path.length === 0 ? "the policy" : path.map(String).join(".");
}
