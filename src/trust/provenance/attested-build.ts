/** Reads the claims of a statement of provenance: imgmatch's, BuildKit's, or another tool's. A claim that it does not make is null. */

import { attempt } from "../../io/attempt.ts";
import { fieldsOf, isRecord, text, textsOf } from "../../io/json.ts";
import { attestedArgs, describingArgs, inputsLabel } from "../../oci/build-words.ts";
import { type Digest, isDigest } from "../../oci/digest.ts";
import { formatRepository, type ImageReference, parseImageReference } from "../../oci/reference.ts";
import type { Statement } from "../statement.ts";

/** The words of SLSA provenance that imgmatch writes and reads (slsa.dev, spec v1.0 and v0.2, "Provenance"). */
export const provenanceTypes = {
  v1: "https://slsa.dev/provenance/v1",
  /** The version that BuildKit writes unless it is told otherwise. */
  v02: "https://slsa.dev/provenance/v0.2",
} as const;

/** The type of imgmatch's predicates: docs/trust.md has each field. */
export const buildType = "https://imgmatch.dev/provenance/build/v1";

/** The types of BuildKit's predicates, of provenance v0.2 and v1 (moby/buildkit, docs/attestations/slsa-definitions.md). */
const buildkitTypes: readonly string[] = [
  "https://mobyproject.org/buildkit@v1",
  "https://github.com/moby/buildkit/blob/master/docs/attestations/slsa-definitions.md",
];

/** The builder of a build outside a CI. */
export const unnamedBuilder = "https://imgmatch.dev/builder/unnamed";

/** Names of dependencies that are no images. */
export const dependencyNames = { inputs: "inputs", context: "context", dockerfile: "dockerfile" } as const;

export interface AttestedBuild {
  /** The author. `other`: another tool, of which only the subject is read. */
  readonly builtBy: "imgmatch" | "buildkit" | "other";
  readonly buildType: string;
  /** Digests of the images that it is about. */
  readonly subjects: readonly Digest[];
  readonly inputDigest: Digest | null;
  readonly bases: readonly AttestedBase[];
  readonly fleet: string | null;
  readonly matrix: Digest | null;
  readonly cell: string | null;
  readonly axes: Readonly<Record<string, string>> | null;
  readonly platform: string | null;
  readonly revision: string | null;
  readonly remote: string | null;
  readonly engine: string | null;
  /** URI of the builder. */
  readonly builder: string | null;
}

export interface AttestedBase {
  readonly digest: Digest;
  /** The name of the image; null if only an engine had it. */
  readonly image: PurlImage | null;
}

/** null for a statement of another type. */
export function readProvenance({ predicateType, subjects, predicate }: Statement): AttestedBuild | null {
  if (predicateType === provenanceTypes.v1) return { ...readV1(predicate), subjects };
  if (predicateType === provenanceTypes.v02) return { ...readV02(predicate), subjects };
  return null;
}

type Read = Omit<AttestedBuild, "subjects">;

const nothing: Omit<Read, "builtBy" | "buildType"> = {
  inputDigest: null,
  bases: [],
  fleet: null,
  matrix: null,
  cell: null,
  axes: null,
  platform: null,
  revision: null,
  remote: null,
  engine: null,
  builder: null,
};

function readV1(predicate: unknown): Read {
  const { buildDefinition, runDetails } = fieldsOf(predicate);
  const definition = fieldsOf(buildDefinition);
  const type = text(definition.buildType) ?? "";
  const builder = text(fieldsOf(fieldsOf(runDetails).builder).id) || null;
  const dependencies = dependenciesIn(definition.resolvedDependencies);
  if (buildkitTypes.includes(type)) {
    // It names no platform but the builder's.
    const { request } = fieldsOf(definition.externalParameters);
    return ofBuildkit(type, dependencies, fieldsOf(request).args, builder);
  }
  if (type !== buildType) return { ...nothing, builtBy: "other", buildType: type, builder };
  const said = fieldsOf(definition.externalParameters);
  const source = dependencies.find(({ commit }) => commit !== null);
  return {
    builtBy: "imgmatch",
    buildType: type,
    inputDigest: dependencies.find(({ name }) => name === dependencyNames.inputs)?.sha256 ?? null,
    bases: dependencies.flatMap(({ isBase, sha256, image }) =>
      isBase && sha256 !== null ? [{ digest: sha256, image }] : [],
    ),
    fleet: text(said.fleet),
    matrix: isDigest(said.matrix) ? said.matrix : null,
    cell: text(said.cell),
    axes: isRecord(said.axes) ? textsOf(said.axes) : null,
    platform: text(said.platform),
    revision: source?.commit ?? null,
    remote: source?.uri?.replace(/^git\+/, "").replace(/@[0-9a-f]+$/, "") ?? null,
    engine: text(fieldsOf(definition.internalParameters).engine),
    builder,
  };
}

function readV02(predicate: unknown): Read {
  const { buildType, materials, invocation, builder } = fieldsOf(predicate);
  const said = text(buildType) ?? "";
  const id = text(fieldsOf(builder).id) || null;
  if (!buildkitTypes.includes(said)) return { ...nothing, builtBy: "other", buildType: said, builder: id };
  const { parameters, environment } = fieldsOf(invocation);
  return {
    ...ofBuildkit(said, dependenciesIn(materials), fieldsOf(parameters).args, id),
    platform: text(fieldsOf(environment).platform),
  };
}

/** Mode `min` has no arguments. */
function ofBuildkit(
  type: string,
  dependencies: ReturnType<typeof dependenciesIn>,
  args: unknown,
  builder: string | null,
): Read {
  const given = textsOf(args);
  const inputs = given[`label:${inputsLabel}`];
  const matrix = given[`build-arg:${attestedArgs.matrix}`];
  return {
    ...nothing,
    builtBy: "buildkit",
    buildType: type,
    bases: dependencies.flatMap(({ sha256, image }) =>
      sha256 !== null && image !== null ? [{ digest: sha256, image }] : [],
    ),
    inputDigest: isDigest(inputs) ? inputs : null,
    matrix: isDigest(matrix) ? matrix : null,
    cell: given[`build-arg:${attestedArgs.cell}`] ?? null,
    revision: given[`build-arg:${describingArgs.revision}`] || null,
    builder,
  };
}

function dependenciesIn(list: unknown) {
  return (Array.isArray(list) ? list : []).map((item) => {
    const { name, uri, digest, annotations } = fieldsOf(item);
    const { sha256, gitCommit } = fieldsOf(digest);
    const image = readImagePurl(text(uri) ?? "");
    const found = `sha256:${text(sha256)}`;
    return {
      name: text(name),
      uri: text(uri),
      sha256: isDigest(found) ? found : null,
      commit: text(gitCommit),
      image,
      isBase: image !== null || text(fieldsOf(annotations).local) !== null,
    };
  });
}

/** `pkg:docker/nvidia/cuda@12.8.1-base?digest=sha256:…&platform=linux%2Famd64` */
export function imagePurl(ref: string, digest: Digest, platform: string): string {
  const reference = parseImageReference(ref);
  const { tag } = reference;
  const path = formatRepository(reference).split("/").map(encodeURIComponent).join("/");
  const version = tag === null ? "" : `@${encodeURIComponent(tag)}`;
  return `pkg:docker/${path}${version}?digest=${digest}&platform=${encodeURIComponent(platform)}`;
}

export interface PurlImage {
  /** Without tag and digest. */
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: Digest | null;
}

/** null for another URI. */
export function readImagePurl(uri: string): PurlImage | null {
  const [, path = "", version, query = ""] =
    /^pkg:docker\/([^@?#]+)(?:@([^?#]+))?(?:\?([^#]*))?$/.exec(uri) ?? [];
  const name = attempt(() => decodeURIComponent(path), "");
  const tag = version === undefined ? null : attempt(() => decodeURIComponent(version), "");
  const reference = attempt(() => parseImageReference(tag === null ? name : `${name}:${tag}`), null);
  if (reference === null) return null;
  const digest = new URLSearchParams(query).get("digest");
  return { repository: fullRepository(reference), tag, digest: isDigest(digest) ? digest : null };
}

/** With its registry, whatever was left out of the name. */
export function fullRepository({
  registry,
  repository,
}: Pick<ImageReference, "registry" | "repository">): string {
  return `${registry}/${repository}`;
}
