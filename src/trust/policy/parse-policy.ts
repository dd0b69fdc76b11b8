/** `imgmatch.trust.yaml` → rules, every mistake with its place. Keys are named here, not read. */

import { type Place, type Problem, throwProblems } from "../../errors.ts";
import { isRecord } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { YamlKind } from "../../io/yaml/yaml-data.ts";
import { parseYamlSource, type YamlSource } from "../../io/yaml/yaml-source.ts";
import { type PolicySigner, parseRepositoryPattern, type TrustPolicy, type TrustRule } from "./policy.ts";

const code = "TRUST_POLICY";

const policyYaml: YamlKind = { limit: inputLimits.trustPolicy, syntax: code, duplicate: code };

/** Throws `TRUST_POLICY` with every mistake, `INPUT_TOO_LARGE`. */
export function parseTrustPolicy(text: string, file: string): TrustPolicy {
  const { source, problems } = parseYamlSource(text, file, policyYaml);
  throwProblems(problems);
  const reader = createPolicyReader(source);
  const {
    default: otherwise = "refuse",
    memory,
    repositories,
  } = reader.mapping(source.data, [], ["default", "memory", "repositories"]);
  const policy: TrustPolicy = {
    file,
    rules: readRules(repositories, reader),
    otherwise: reader.choice(otherwise, ["default"], ["unsigned", "refuse"]),
    memory: memory === undefined ? null : readFolder(memory, ["memory"], reader),
  };
  throwProblems(reader.problems);
  return policy;
}

/** A relative one would be another for every folder that a job starts in. */
function readFolder(value: unknown, path: PolicyPath, reader: PolicyReader): string {
  const folder = reader.someText(value, path, "write /var/lib/imgmatch");
  if (folder !== "" && !folder.startsWith("/"))
    reader.report(path, `${nameOf(path)} must be an absolute path`, "write /var/lib/imgmatch");
  return folder;
}

function readRules(repositories: unknown, reader: PolicyReader): readonly TrustRule[] {
  const path = ["repositories"];
  const texts = isRecord(repositories) ? Object.keys(repositories) : [];
  if (texts.length === 0) {
    const fix = "write repositories: {registry.example.com/team/*: {signers: [{key: cosign.pub}]}}";
    reader.report(path, "repositories names no repository", fix);
    return [];
  }
  const rules = texts.flatMap((text) => {
    const at = [...path, text];
    return readRule(text, (repositories as Record<string, unknown>)[text], at, reader);
  });
  const seen = new Map<string, string>();
  for (const { pattern, at } of rules) {
    const meaning = `${pattern.host}/${pattern.path}`;
    const other = seen.get(meaning);
    if (other !== undefined)
      reader.reportAt(at, `${other} and ${pattern.text} are the same repositories`, "keep one");
    seen.set(meaning, pattern.text);
  }
  return rules;
}

const ruleKeys = ["signers", "unsigned", "name", "repository", "moving", "downgrade"];

function readRule(
  text: string,
  value: unknown,
  path: PolicyPath,
  reader: PolicyReader,
): readonly TrustRule[] {
  const pattern = parseRepositoryPattern(text);
  const at = reader.placeOfKey(path);
  const body = reader.mapping(value, path, ruleKeys);
  const { name, repository, moving = [], downgrade = "allow" } = body;
  const from = "write where it was published, without the registry: team/app";
  const read = {
    at,
    signers: isRecord(value) ? readSigners(body, path, reader) : [],
    name: name === undefined ? null : reader.someText(name, [...path, "name"], "write the matrix's name"),
    repository: repository === undefined ? null : reader.someText(repository, [...path, "repository"], from),
    moving: readTags(moving, [...path, "moving"], reader),
    downgrade: reader.choice(downgrade, [...path, "downgrade"], ["allow", "refuse"]),
  };
  if (!("wrong" in pattern)) return [{ pattern, ...read }];
  reader.reportAt(
    at,
    `${JSON.stringify(text)} is no repository: ${pattern.wrong}`,
    "write it in full: registry.example.com/team/app, registry.example.com/team/* or docker.io/library/*",
  );
  return [];
}

function readTags(value: unknown, path: PolicyPath, reader: PolicyReader): readonly string[] {
  if (Array.isArray(value))
    return value.map((tag, index) => reader.someText(tag, [...path, index], "write a tag, such as stable"));
  reader.report(path, `${nameOf(path)} must be a list of tags`, "write moving: [stable]");
  return [];
}

function readSigners(
  { signers, unsigned }: Readonly<Record<string, unknown>>,
  path: PolicyPath,
  reader: PolicyReader,
): TrustRule["signers"] {
  const fix = "write signers: [{key: cosign.pub}], or unsigned: allowed";
  if ((signers === undefined) === (unsigned === undefined)) {
    reader.report(path, `${nameOf(path)} needs either signers or unsigned: allowed`, fix);
    return [];
  }
  if (signers === undefined) {
    reader.choice(unsigned, [...path, "unsigned"], ["allowed"]);
    return "unsigned";
  }
  const place = [...path, "signers"];
  if (Array.isArray(signers) && signers.length > 0)
    return signers.map((each, index) => readPolicySigner(each, [...place, index], reader));
  reader.report(place, `${nameOf(place)} must be a list that is not empty`, fix);
  return [];
}

function readPolicySigner(value: unknown, path: PolicyPath, reader: PolicyReader): PolicySigner {
  const at = reader.placeOf(path);
  const text = (member: unknown, key: string, fix: string): string =>
    reader.someText(member, [...path, key], fix);
  if (isRecord(value) && value.key !== undefined) {
    const { key } = reader.mapping(value, path, ["key"]);
    return { kind: "key", key: text(key, "key", "write the path of cosign.pub"), at };
  }
  const body = reader.mapping(value, path, ["identity", "issuer", "trusted-root"]);
  const root = body["trusted-root"];
  return {
    kind: "identity",
    identity: text(body.identity, "identity", "write key: cosign.pub, or whose certificate it is"),
    issuer: text(body.issuer, "issuer", "write who confirms it: https://token.actions.githubusercontent.com"),
    trustedRoot:
      root === undefined ? null : text(root, "trusted-root", "write the path of trusted_root.json"),
    at,
  };
}

/** Values of a policy with their places: each mistake is reported where it stands, and reading goes on. */
type PolicyPath = readonly (string | number)[];

type PolicyReader = ReturnType<typeof createPolicyReader>;

function createPolicyReader({ placeOf, placeOfKey }: YamlSource) {
  const problems: Problem[] = [];
  const reportAt = (at: Place, message: string, fix: string) => problems.push({ code, message, fix, at });
  const report = (path: PolicyPath, message: string, fix: string) => reportAt(placeOf(path), message, fix);
  return {
    ...{ problems, report, reportAt, placeOf, placeOfKey },
    /** The mapping, its unknown keys reported; empty where something else stands. */
    mapping(value: unknown, path: PolicyPath, known: readonly string[]): Readonly<Record<string, unknown>> {
      const keys = `the keys here are ${known.join(", ")}`;
      if (!isRecord(value)) {
        report(path, `${nameOf(path)} must be a mapping`, keys);
        return {};
      }
      for (const key of Object.keys(value).filter((each) => !known.includes(each)))
        reportAt(placeOfKey([...path, key]), `unknown key ${JSON.stringify(key)} in ${nameOf(path)}`, keys);
      return value;
    },
    someText(value: unknown, path: PolicyPath, fix: string): string {
      if (typeof value === "string" && value.trim() !== "") return value.trim();
      report(path, `${nameOf(path)} must be a text that is not empty`, fix);
      return "";
    },
    /** The first word where none of them stands; what is suggested is the last, which asks for most. */
    choice<const T extends string>(value: unknown, path: PolicyPath, words: readonly [T, ...T[]]): T {
      const found = words.find((word) => word === value);
      if (found === undefined)
        report(path, `${nameOf(path)} must be ${words.join(" or ")}`, `write ${words.at(-1)}`);
      return found ?? words[0];
    },
  };
}

function nameOf(path: PolicyPath): string {
  return path.length === 0 ? "the policy" : path.map(String).join(".");
}
