/** Reads the files in which a package says what it is for. Each is a claim from outside: read by a grammar, within bounds, and never believed. */

import { isRecord } from "../../io/json.ts";

export type ClaimFile =
  | VariantClaim
  /** The packages with GPU code that it wants beside it. */
  | { readonly kind: "devices"; readonly packages: readonly DevicePackage[] }
  /** A kernel of Hugging Face's Hub: `cuda` with `9.0a`. */
  | { readonly kind: "kernel"; readonly backend: string; readonly archs: readonly string[] }
  /** What a conda package needs of a machine: `__archspec 1 x86_64_v3`. */
  | { readonly kind: "conda"; readonly name: string; readonly needs: readonly string[] }
  /** Not understood, and why. */
  | { readonly kind: "unread"; readonly reason: string };

/** What a variant wheel says of itself (PEP 825). */
export interface VariantClaim {
  readonly kind: "variant";
  readonly label: string;
  readonly features: readonly VariantFeature[];
}

/** A package with the code of another one for a target of AMD's. */
export interface DevicePackage {
  readonly name: string;
  readonly target: string;
}

export interface VariantFeature {
  /** `x86_64 :: level`. */
  readonly name: string;
  /** A host needs one of them. */
  readonly values: readonly string[];
}

type Verdict = "true" | "too narrow" | "too wide" | "not provable";

/** A claim, held against the files. */
export interface ClaimAnswer {
  /** What says so: a file, a label, the name, the index. */
  readonly by: string;
  readonly claim: string;
  readonly verdict: Verdict;
  /** What the files show; empty for a true claim. */
  readonly found: string;
  /** The file that shows it; null for all together. */
  readonly file: string | null;
}

/** The largest that is known has 2 KB. */
export const maxClaim = 2 ** 20;
/** Namespaces, features and values together. */
const maxWords = 10_000;

const word = /^[a-z0-9_]{1,128}$/;
const valueWord = /^[a-z0-9_.]{1,128}$/;
export const variantLabel = /^[0-9a-z_.]{1,128}$/;

const unread = (reason: string): ClaimFile => ({ kind: "unread", reason });

/**
 * `variant.json` of a wheel: exactly one label, and its properties (PEP 825, "Variant metadata"). Other keys say how an installer chooses among
 * variants. A schema of another major is not understood.
 */
export function readVariant(json: unknown): ClaimFile {
  if (!isRecord(json) || !isRecord(json.variants)) return unread("it names no variants");
  const [, major = "0"] = /\/v(\d+)(?:\.\d+)*\.json$/.exec(String(json.$schema ?? "")) ?? [];
  if (Number(major) > 1) return unread(`its schema is of version ${major}`);
  const entries = Object.entries(json.variants);
  const [[label, namespaces] = ["", null]] = entries;
  if (entries.length !== 1 || !variantLabel.test(label))
    return unread("it does not name exactly one variant");
  const found: VariantFeature[] = [];
  let words = 0;
  for (const [namespace, features] of Object.entries(isRecord(namespaces) ? namespaces : { "": null })) {
    if (!word.test(namespace) || !isRecord(features)) return unread("a namespace is not understood");
    for (const [feature, values] of Object.entries(features)) {
      const isKnown = word.test(feature) && Array.isArray(values) && values.length > 0;
      if (!isKnown || !values.every((value) => typeof value === "string" && valueWord.test(value)))
        return unread(`a feature of ${namespace} is not understood`);
      words += values.length + 2;
      found.push({ name: `${namespace} :: ${feature}`, values });
    }
    if (words > maxWords) return unread(`it has more than ${maxWords} properties`);
  }
  return { kind: "variant", label, features: found };
}

/**
 * Lines of `METADATA` as rocm-kpack writes them: a device package for an extra `device-gfx942`, or for the variant property
 * `amd :: gfx_arch :: gfx942` (PyPA specifications, "Core metadata", Requires-Dist).
 */
const devicePackage =
  /^Requires-Dist: *([\w.-]{1,128})\b[^;\n]{0,256};[^\n]{0,64}"(?:device-|amd :: gfx_arch :: )(gfx[0-9a-f]{1,16})"/gm;

function readDevices(text: string): ClaimFile | null {
  const packages = new Map<string, DevicePackage>();
  for (const [, name = "", target = ""] of text.matchAll(devicePackage)) {
    packages.set(`${name} ${target}`, { name, target });
    if (packages.size > maxWords) return unread(`it names more than ${maxWords} packages`);
  }
  return packages.size === 0 ? null : { kind: "devices", packages: [...packages.values()] };
}

const arch = /^[\w.+:-]{1,32}$/;

/** `build/VARIANT/metadata.json` (Hugging Face, kernels, "Kernel requirements"). null for one without a backend. */
function readKernel(value: unknown): ClaimFile | null {
  if (!isRecord(value) || !isRecord(value.backend)) return null;
  const { type, archs = [] } = value.backend;
  const isList = Array.isArray(archs) && archs.length <= maxWords;
  if (typeof type !== "string" || !word.test(type) || !isList) return unread("its backend is not understood");
  const isArch = (each: unknown): each is string => typeof each === "string" && arch.test(each);
  return archs.every(isArch)
    ? { kind: "kernel", backend: type, archs }
    : unread("its archs are not understood");
}

/** `index.json` of a package and `conda-meta/NAME.json` of a prefix. null for one that needs nothing of a CPU or a GPU. */
function readCondaNeeds(value: unknown): ClaimFile | null {
  if (!isRecord(value) || typeof value.name !== "string" || !Array.isArray(value.depends)) return null;
  const needs = value.depends.filter(
    (each) => typeof each === "string" && /^__(?:archspec|cuda_arch)\b[ -~]{0,128}$/.test(each),
  );
  if (needs.length === 0 || needs.length > maxWords || value.name.length > 128) return null;
  return { kind: "conda", name: value.name, needs };
}

type Read = (text: string) => ClaimFile | null;

const json =
  (read: (value: unknown) => ClaimFile | null): Read =>
  (text) => {
    try {
      return read(JSON.parse(text));
    } catch {
      return unread("not JSON");
    }
  };

const claimFiles: readonly (readonly [RegExp, Read])[] = [
  [/(?:^|\/)[^/]+\.dist-info\/variant\.json$/, json(readVariant)],
  [/(?:^|\/)[^/]+\.dist-info\/METADATA$/, readDevices],
  [/(?:^|\/)build\/[^/]+\/metadata\.json$/, json(readKernel)],
  [/(?:^|\/)conda-meta\/[^/]+\.json$|(?:^|!\/)info\/index\.json$/, json(readCondaNeeds)],
];

/** The reader of such a file by its path, in an archive too; null for any other file. It answers null where a file claims nothing. */
export function claimReader(path: string): ((bytes: Uint8Array) => ClaimFile | null) | null {
  const read = claimFiles.find(([pattern]) => pattern.test(path))?.[1];
  if (read === undefined) return null;
  return (bytes) =>
    bytes.length > maxClaim
      ? unread(`longer than ${maxClaim} bytes`)
      : read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"));
}
