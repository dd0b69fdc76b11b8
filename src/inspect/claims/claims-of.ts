/** Gathers what names, labels, records and an index's row say of a subject, in one form. */

import { basename, dirname, posix } from "node:path";
import { findMarch, type March, marchNames } from "../../hardware/cpu-marches.ts";
import { formatGpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { partsOfCode } from "../../hardware/ptx-versions.ts";
import { parseRequirement } from "../../lock/parse-requirement.ts";
import { answerOfSide, type BySide, sidesOf } from "../../lock/requirement.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { ImageSurvey } from "../inspection.ts";
import { packageOwners } from "../packages/package-owners.ts";
import { readWheelName, type WheelTags } from "../system-needs.ts";
import type { ClaimFile, VariantFeature } from "./claim-files.ts";
import { normalName } from "./device-packages.ts";
import { levelProperties, linuxName, wheelVariant } from "./wheel-variant.ts";

export interface Claim {
  /** As it is written: `x86_64 :: level :: v3`. */
  readonly text: string;
  /** What says so: a file, a label, the name, the index. */
  readonly by: string;
  /** The files that it is about. */
  readonly isAbout: (path: string) => boolean;
  readonly about: ClaimAbout;
}

export type ClaimAbout =
  /** `allowed`: the features of the march, and the features that the same source claims besides. */
  | { readonly kind: "march"; readonly march: March; readonly allowed: readonly string[] }
  | { readonly kind: "feature"; readonly name: string }
  | { readonly kind: "target"; readonly vendor: GpuVendor; readonly target: string }
  /** Code for GPUs of this compute capability. */
  | { readonly kind: "compute"; readonly least: string }
  | { readonly kind: "driver"; readonly cuda: string }
  | { readonly kind: "toolkit"; readonly version: string }
  /** null: no program of any architecture. */
  | { readonly kind: "architecture"; readonly names: readonly string[] | null }
  | { readonly kind: "libc"; readonly name: string; readonly version: string | null }
  | { readonly kind: "no-gpu-code" }
  | { readonly kind: "unknown"; readonly why: string };

type Said = Pick<Claim, "text" | "about">;

const unknown = (text: string, why = "nobody knows this claim"): Said => ({
  text,
  about: { kind: "unknown", why },
});

/** archspec's names and the compilers': `x86_64_v3`, `neoverse_v2`, `zen4`. */
function marchOf(name: string): March | null {
  const own = name.replaceAll("_", "-").replace(/^x86-64-v1$/, "x86-64");
  return (
    findMarch(name) ??
    findMarch(own) ??
    findMarch(own.replace(/^zen(?=\d)/, "znver").replace(/^znver1?$/, "znver1"))
  );
}

const march = (text: string, found: March | null, beside: readonly string[] = []): Said =>
  found === null
    ? unknown(text, "no table has this CPU")
    : { text, about: { kind: "march", march: found, allowed: [...found.features, ...beside] } };

const cudaTargets = (text: string, word: string): readonly Said[] => {
  const targets = readTargets(word);
  return targets === null
    ? [unknown(text, "no table has this target")]
    : targets.map((target) => ({
        text,
        about: { kind: "target", vendor: "nvidia", target: formatGpuTarget(target) },
      }));
};

/** The properties of a variant. A host needs one value of each feature, so the least value counts. */
function saidByVariant(features: readonly VariantFeature[]): readonly Said[] {
  const switches = (wanted: string) =>
    features.flatMap(({ name }) => {
      const [own, feature = ""] = name.split(" :: ");
      return own === wanted && !levelProperties.has(name) ? [linuxName(feature)] : [];
    });
  return features.flatMap(({ name, values }): readonly Said[] => {
    const [least = ""] = [...values].sort();
    const [namespace = "", feature = ""] = name.split(" :: ");
    const level = levelProperties.get(name);
    if (level !== undefined) return [march(`${name} :: ${least}`, level(least), switches(namespace))];
    const text = `${name} :: ${values.join(" or ")}`;
    if (namespace === "x86_64" || namespace === "aarch64")
      return [{ text, about: { kind: "feature", name: linuxName(feature) } }];
    if (name === "nvidia :: cuda_version_lower_bound")
      return [{ text, about: { kind: "driver", cuda: least } }];
    if (name === "nvidia :: sm_arch")
      return values.flatMap((value) => {
        const [, number, kind] = /^(\d+[af]?)_(real|virtual)$/.exec(value) ?? [];
        return cudaTargets(`${name} :: ${value}`, `${kind === "real" ? "sm" : "compute"}_${number}`);
      });
    if (name === "amd :: gfx_arch")
      return values.map((target) => ({
        text: `${name} :: ${target}`,
        about: { kind: "target", vendor: "amd", target },
      }));
    return [unknown(text)];
  });
}

const ociToElf: Readonly<Record<string, string>> = { amd64: "x86_64", "386": "x86", arm64: "aarch64" };

function saidByTags({ platforms }: WheelTags, hasLevel: boolean): readonly Said[] {
  return platforms.flatMap(({ tag, platform, libc }): readonly Said[] => {
    if (platform === null) return [unknown(tag, "nobody knows this tag")];
    const [system, name = ""] = platform.split("/");
    if (platform === "any") return [{ text: tag, about: { kind: "architecture", names: null } }];
    if (system !== "linux") return [unknown(tag, "files of other systems are not read")];
    const base = findMarch(name === "amd64" ? "x86-64" : name === "arm64" ? "armv8-a" : "");
    return [
      { text: tag, about: { kind: "architecture", names: [ociToElf[name] ?? name] } },
      // A tag promises every CPU of its architecture, unless the variant asks for more.
      ...(base === null || hasLevel ? [] : [march(tag, base)]),
      ...(libc === null ? [] : [{ text: tag, about: { kind: "libc", ...libc } } as const]),
    ];
  });
}

const toolkit = (version: string): Said => ({ text: `CUDA ${version}`, about: { kind: "toolkit", version } });

const saidOfRelease: BySide<readonly Said[]> = {
  nvidia: (needs) => [toolkit(needs.toolkit)],
  // Files do not tell ROCm's release reliably.
  amd: () => [],
};

function saidByRequirement(label: string): readonly Said[] {
  const parsed = parseRequirement(label);
  if (!parsed.ok) return [unknown("dev.imgmatch.requires", `it cannot be read: ${parsed.mistakes[0]}`)];
  const { cpu } = parsed.requires;
  const sides = sidesOf(parsed.requires);
  return [
    march(cpu.march, marchOf(cpu.march), cpu.features),
    ...sides.flatMap((side) => answerOfSide(saidOfRelease, side)),
    ...sides.flatMap(({ vendor, needs }) =>
      needs.code.map((code): Said => {
        return { text: code, about: { kind: "target", vendor, target: partsOfCode(code).target } };
      }),
    ),
  ];
}

/** The CPUs that a reference's name or tag, or a file's name, names as a word of its own. */
function saidByName(name: string): readonly Said[] {
  const words = basename(name).toLowerCase().replaceAll("_", "-");
  const named = marchNames().filter((each) =>
    new RegExp(`(?<![a-z0-9])${each}(?![a-z0-9]|-v\\d|\\.\\d)`).test(words),
  );
  const longest = named.filter((each) => !named.some((other) => other !== each && other.includes(each)));
  return longest.map((each) => march(each, findMarch(each)));
}

export function claimsOf(
  image: OpenedImage,
  { claims, packages }: Pick<ImageSurvey, "claims" | "packages">,
  subject: string,
): readonly Claim[] {
  const everywhere = () => true;
  const of = (said: readonly Said[], by: string, isAbout: Claim["isAbout"] = everywhere) =>
    said.map((each) => ({ ...each, by, isAbout }));
  const { tags, label } = readWheelName(subject);
  const variant = wheelVariant(subject, label, claims);
  const ofVariant = variant?.features == null ? [] : saidByVariant(variant.features);
  const hasLevel = ofVariant.some(({ about }) => about.kind === "march");
  const { labels = {}, start, row = null } = image;
  const level = row?.split("/")[2] ?? image.platform?.split("/")[2];
  const architecture = image.platform?.split("/")[1] ?? "";
  const version = labels["com.nvidia.cuda.version"];
  const [, least] = /(?:^|\s)cuda>=(\d{1,2}\.\d{1,2})/.exec(start?.env.NVIDIA_REQUIRE_CUDA ?? "") ?? [];
  const ownerOf = packageOwners(image, packages);
  return [
    ...(tags === null
      ? of(saidByName(subject), "the name")
      : of(saidByTags(tags, hasLevel), "the tags of its name")),
    ...(variant === null
      ? []
      : variant.features === null
        ? of([unknown(`variant ${variant.label}`, variant.why)], "the label of its name")
        : of(ofVariant, "its variant.json")),
    ...(level === undefined || level === "v8"
      ? []
      : of(
          [march(`variant ${level}`, variantMarch(architecture, level))],
          row === null ? "its configuration" : "the index",
        )),
    ...of(
      labels["dev.imgmatch.requires"] === undefined ? [] : saidByRequirement(labels["dev.imgmatch.requires"]),
      "the label dev.imgmatch.requires",
    ),
    ...(version === undefined || !/^\d{1,2}(\.\d{1,3}){1,2}$/.test(version)
      ? []
      : of([toolkit(version)], "the label com.nvidia.cuda.version")),
    ...(least === undefined
      ? []
      : of([{ text: `cuda>=${least}`, about: { kind: "driver", cuda: least } }], "NVIDIA_REQUIRE_CUDA")),
    ...[...claims].flatMap(([path, claim]) => {
      const isOwn = (name: string) => (file: string) =>
        normalName(ownerOf(file, null).owner.name) === normalName(name);
      const [ofPackage = ""] = basename(dirname(path)).split("-");
      if (claim.kind === "variant")
        return variant !== null || label !== null
          ? []
          : of(saidByVariant(claim.features), path, isOwn(ofPackage));
      if (claim.kind === "kernel")
        return of(saidByKernel(claim), path, (file) => file.startsWith(`${posix.dirname(path)}/`));
      if (claim.kind === "conda")
        return of(
          claim.needs.map(saidByConda),
          path,
          path.includes("conda-meta/") ? isOwn(claim.name) : everywhere,
        );
      return claim.kind === "unread" && variant === null
        ? of([unknown(basename(path), claim.reason)], path)
        : [];
    }),
  ];
}

function variantMarch(architecture: string, level: string): March | null {
  if (architecture === "amd64") return marchOf(`x86_64_${level}`);
  return architecture === "arm64" ? findMarch(`arm${level.replace(/^v(\d+)(?:\.0)?/, "v$1")}-a`) : null;
}

const kernelTargets: Readonly<Record<string, (arch: string) => readonly Said[]>> = {
  cuda: (arch) => cudaTargets(`cuda ${arch}`, arch),
  rocm: (target) => [{ text: `rocm ${target}`, about: { kind: "target", vendor: "amd", target } }],
};

function saidByKernel({ backend, archs }: Extract<ClaimFile, { kind: "kernel" }>): readonly Said[] {
  const targets = kernelTargets[backend];
  if (targets !== undefined && Object.hasOwn(kernelTargets, backend)) return archs.flatMap(targets);
  return backend === "cpu" ? [{ text: "cpu", about: { kind: "no-gpu-code" } }] : [unknown(backend)];
}

/** `__archspec 1 x86_64_v3`, `__archspec=1=x86_64_v3`; `__cuda_arch >=8.0` (conda's documentation, "Virtual packages"). */
function saidByConda(need: string): Said {
  const [, name] = /^__archspec\b[ =*.\d]*[ =]\*?([a-z][a-z0-9_]*)\*?$/.exec(need) ?? [];
  if (name !== undefined) return march(need, marchOf(name));
  const [, least] = /^__cuda_arch *>= *(\d{1,2}\.\d)\b/.exec(need) ?? [];
  return least === undefined ? unknown(need) : { text: need, about: { kind: "compute", least } };
}
