/** What opening an image shows of what was declared: what it does without, and what is not true. Pure. */

import type { Problem } from "../../errors.ts";
import type { CpuArchitecture } from "../../hardware/cpu-marches.ts";
import { type Measured, measuredRules, type Requirement } from "../../hardware/requirement.ts";
import { describeBeyond } from "./cpu-lies.ts";
import { beyondDeclared, unusedFeatures } from "./cpu-use.ts";
import { driverLies } from "./driver-lies.ts";
import { codeLies, mayHideCode } from "./gpu-lies.ts";
import { type BaseOrigin, originOf } from "./origin.ts";
import { toolkitLies } from "./toolkit-lies.ts";
import { floorOf } from "./driver-floor-of.ts";
import { inspectionOf } from "../inspection.ts";
import type { OpenedImage } from "../image/opened-image.ts";

export interface AuditRequest {
  readonly base: BaseOrigin;
  /** What was declared. */
  readonly requires: Requirement;
  /** CPU features that the base is declared to need (`cpuFloor`), Linux names. */
  readonly floor: readonly string[];
  /** `linux/amd64`. */
  readonly platform: string;
}

export interface ImageAudit {
  readonly measured: Measured;
  /** `AUDIT_…`: what is declared and not true. What is unknown, or could not be opened, is never here. */
  readonly lies: readonly Problem[];
  /** What may be right, and should be looked at by somebody. */
  readonly notes: readonly Problem[];
}

/**
 * @example
 * const audit = auditImage(opened, { base: { kind: "none" }, requires, floor: [], platform: "linux/amd64" });
 * audit.measured.cpu.unused; // ["tsxldtrk", "waitpkg"]
 */
export function auditImage(opened: OpenedImage, request: AuditRequest): ImageAudit {
  const { requires, floor } = request;
  const inspection = inspectionOf(opened);
  const origin = originOf(opened, inspection, request.base);
  const architecture = architectureOf(request.platform);
  const beyond = (files: typeof origin.own) =>
    architecture === null ? [] : beyondDeclared(files, requires.cpu, floor, architecture);
  const unused = architecture === null ? [] : unusedFeatures(origin, requires.cpu, floor, architecture);
  const { cuda } = requires;
  const driver = floorOf(inspection);
  const code = cuda === null ? { lies: [], notes: [] } : codeLies(cuda, inspection, origin);
  const toolkit = cuda === null ? { lies: [], notes: [] } : toolkitLies(cuda, origin);
  const found = inspection.gpu?.targets.map(({ target }) => target) ?? [];
  return {
    measured: {
      rules: measuredRules,
      cpu: { unused },
      cuda:
        cuda === null
          ? null
          : {
              // Where something could hide, what was declared may be in it.
              code: [...new Set([...found, ...(mayHideCode(inspection, origin) ? cuda.code : [])])].sort(),
              minimum: driver?.minimum ?? null,
            },
    },
    lies: [
      ...describeBeyond(beyond(origin.own), requires.cpu, "own"),
      ...code.lies,
      ...toolkit.lies,
      ...(cuda === null ? [] : driverLies(cuda, inspection, driver)),
    ],
    notes: [...describeBeyond(beyond(origin.base), requires.cpu, "base"), ...code.notes, ...toolkit.notes],
  };
}

const architectures: readonly CpuArchitecture[] = ["amd64", "arm64", "ppc64le"];

function architectureOf(platform: string): CpuArchitecture | null {
  return architectures.find((each) => each === platform.split("/")[1]) ?? null;
}
