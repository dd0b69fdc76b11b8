/** Compares the declared requirement of an image with its files: unused features, and declarations that are not true. Pure. */

import type { Problem } from "../../errors.ts";
import type { CpuArchitecture } from "../../hardware/cpu-marches.ts";
import { count } from "../../io/table.ts";
import {
  answerOfSide,
  type BySide,
  type CpuRequirement,
  measuredRules,
  noGpus,
  sidesOf,
} from "../../lock/requirement.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { DeclaredImage, ImageAudit } from "../../lock/image-audit.ts";
import { type ImageInspection, inspectionOf } from "../inspection.ts";
import { auditAmd } from "./amd-audit.ts";
import { type BeyondDeclared, beyondDeclared, compiledOf, ignoresMarch, unusedFeatures } from "./cpu-use.ts";
import { andMore, type Findings, type GpuAudit, shown } from "./gpu-lies.ts";
import { auditNvidia } from "./nvidia-audit.ts";
import { type BaseOrigin, type ImageOrigin, originOf } from "./origin.ts";
import { toldFeature } from "../../hardware/cpu-features.ts";

export interface AuditRequest extends Omit<DeclaredImage, "base"> {
  readonly base: BaseOrigin;
}

/** The audit of each vendor's side. */
const auditOf: BySide<GpuAudit, [ImageInspection, ImageOrigin]> = { nvidia: auditNvidia, amd: auditAmd };

/**
 * @example
 * const audit = auditImage(opened, { base: { kind: "none" }, requires, floor: [], platform: "linux/amd64" });
 * audit.measured.cpu.unused; // ["movdir64b", "movdiri"]
 */
export function auditImage(
  opened: OpenedImage,
  request: AuditRequest,
  inspection = inspectionOf(opened),
): ImageAudit {
  const { requires, floor } = request;
  const origin = originOf(opened, inspection, request.base);
  const architecture = architectureOf(request.platform);
  const beyond = (files: typeof origin.own) =>
    architecture === null ? [] : beyondDeclared(files, requires.cpu, floor, architecture);
  const own = describeBeyond(beyond(origin.own), requires.cpu);
  const unused = architecture === null ? [] : unusedFeatures(origin, requires.cpu, floor, architecture);
  const isIgnored = architecture !== null && ignoresMarch(origin, requires.cpu, architecture);
  const gpus = sidesOf(requires).map((side) => answerOfSide(auditOf, side, inspection, origin));
  const code = gpus.map((each) => each.code);
  // A library without the code is told before another toolkit or driver.
  const rest = gpus.map((each) => each.rest).reverse();
  return {
    measured: {
      rules: measuredRules,
      cpu: { unused, ...(isIgnored && { own: "baseline" }) },
      ...noGpus,
      ...Object.fromEntries(gpus.flatMap(({ measured }) => Object.entries(measured))),
    },
    lies: [...own.lies, ...code.flatMap(({ lies }) => lies), ...rest.flatMap(({ lies }) => lies)],
    notes: [
      ...own.notes,
      ...describeBase(beyond(origin.base), requires.cpu),
      ...code.flatMap(({ notes }) => notes),
      ...rest.flatMap(({ notes }) => notes),
    ],
    effect: {
      code: codeDigest(origin),
      layers: opened.diffIds === null ? null : digestOf(opened.diffIds.join("\n")),
      settings: opened.settings ?? null,
      ignoresMarch: isIgnored,
      uncompiled: gpus.flatMap(({ uncompiled }) => uncompiled),
    },
  };
}

/** Without the distribution's packages: they change from day to day, whatever the cell. */
function codeDigest(origin: ImageOrigin): Digest | null {
  const compiled = compiledOf(origin);
  const read = new Set(origin.own.map(({ path }) => path));
  if (compiled.length === 0 || origin.ownUnopened.some(({ path }) => !read.has(path))) return null;
  return digestOf(
    [...origin.base, ...compiled].map(({ path, checksums }) => `${path}\n${checksums.sha256}\n`).join(""),
  );
}

const architectures: readonly CpuArchitecture[] = ["amd64", "arm64", "ppc64le"];

function architectureOf(platform: string): CpuArchitecture | null {
  return architectures.find((each) => each === platform.split("/")[1]) ?? null;
}

/** A proved need is a lie of the declaration, an estimate is for a person to look at. */
function describeBeyond(found: readonly BeyondDeclared[], { march }: CpuRequirement): Findings {
  const isProved = ({ file, features }: BeyondDeclared) =>
    features.some((name) => file.answer?.features[name] === "needed");
  const fix = (features: string) =>
    `compile it with march.flags of the template's view, or give the cell a march that has ${features}`;
  return {
    lies: describeFiles(found.filter(isProved), (path, features) => ({
      code: "AUDIT_CPU_BEYOND_MARCH",
      message: `${path} needs ${features}, which ${march} does not have`,
      fix: fix(features),
    })),
    notes: describeFiles(
      found.filter((each) => !isProved(each)),
      (path, features) => ({
        code: "AUDIT_CPU_COMPILED_FOR",
        message: `${path} was compiled for ${features}, which ${march} does not have, and shows no sign of asking the CPU`,
        fix: fix(features),
      }),
    ),
  };
}

function describeBase(found: readonly BeyondDeclared[], { march }: CpuRequirement): readonly Problem[] {
  return describeFiles(found, (path, features) => ({
    code: "AUDIT_BASE_BEYOND_MARCH",
    message: `${path} of the base image was compiled for ${features}, which ${march} does not have, and shows no sign of asking the CPU`,
    fix: `give the cuda value a cpuFloor that has ${features}, or a base without this file`,
  }));
}

/** One problem for the image, with the files and the number of instructions in each. */
function describeFiles(
  found: readonly BeyondDeclared[],
  describe: (path: string, features: string) => Problem,
): readonly Problem[] {
  const [first] = found;
  if (first === undefined) return [];
  const features = [...new Set(found.flatMap((each) => each.features))].sort();
  const problem = describe(`${first.file.path}${andMore(found)}`, features.map(toldFeature).join(", "));
  return [{ ...problem, details: found.slice(0, shown).map(describeFile) }];
}

function describeFile({ file, features }: BeyondDeclared): string {
  const counts = features.map((name) => {
    const found = file.cpu?.features[name]?.instructions ?? 0;
    return found === 0
      ? `${toldFeature(name)} by its note`
      : `${toldFeature(name)} in ${count(found, "instruction")}`;
  });
  return `    ${file.path}: ${counts.join(", ")}`;
}
