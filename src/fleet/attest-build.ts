/** Attests the images of a plan in their registry: looks for what an engine has attested, or writes and attaches provenance itself. */

import type { StatementSigner } from "../trust/sign/signer.ts";
import { repositoryOfCell } from "./cells/cell-settings.ts";
import type { Attester, PushedBuild } from "./build/publisher.ts";
import type { FleetBuilder } from "./build/fleet-builder.ts";
import { ImgmatchError, InternalError } from "../errors.ts";
import type { LockedAttestation } from "../lock/lock.ts";
import type { Attestations } from "./matrix/matrix.ts";
import { formatImageReference } from "../oci/reference.ts";
import type { Plan, PlannedCell } from "./plan/planned-cell.ts";
import type { AttachmentRegistry } from "../trust/attach.ts";
import type { EvidenceReader } from "../trust/evidence-reader.ts";
import {
  attachProvenance,
  type BuildOrigin,
  type BuildRecord,
  isCommit,
} from "../trust/provenance/write-provenance.ts";
import { findProvenance } from "../trust/provenance/find-provenance.ts";

export interface AttesterOptions {
  readonly registry: AttachmentRegistry & EvidenceReader;
  readonly attests: FleetBuilder["attests"];
  /** The engine, as the lock names it. */
  readonly engine: () => Promise<string>;
  readonly origin: BuildOrigin;
  /** Of statements that imgmatch writes; null: they are attached without a signature. */
  readonly signer: StatementSigner | null;
}

/** undefined where the matrix asks for nothing. */
export function attesterOf({ matrix, cells }: Plan, options: AttesterOptions): Attester | undefined {
  const { attest } = matrix;
  if (attest === null) return undefined;
  const byId = new Map(cells.map((planned) => [planned.cell.id, planned]));
  const { revision } = options.origin;
  const locked: LockedAttestation = {
    matrix: matrix.digest,
    ...(isCommit(revision) ? { revision } : {}),
  };
  return {
    now: () => new Date(),
    async attest(build, { signal, onLog }) {
      const planned = byId.get(build.cell);
      if (planned === undefined) throw new InternalError(`${build.cell} is not in the plan`);
      if (options.attests === "engine") await requireAttested(build, planned, attest.value, options);
      else {
        const record = await recordOf(build, planned, matrix, options);
        const digest = await attachProvenance(record, options.registry, { signer: options.signer, signal });
        onLog(`attached provenance ${digest}${options.signer === null ? "" : ", signed"}`);
      }
      return locked;
    },
  };
}

/** Engines of before attestations take the flag and attest nothing. */
async function requireAttested(
  { pushed }: PushedBuild,
  { cell: { platform } }: PlannedCell,
  { provenance, sbom }: Attestations,
  { registry }: AttesterOptions,
): Promise<void> {
  const { digest } = pushed;
  if (digest === null) throw new InternalError("what was pushed has no digest");
  const findings = await findProvenance(registry, { reference: pushed, digest }, platform);
  const lacks = [
    ...(provenance !== null && !findings?.found.some(({ held }) => held === "index") ? ["provenance"] : []),
    ...(sbom !== null && !findings?.attested.some(isSbom) ? ["an SBOM"] : []),
  ];
  if (lacks.length === 0) return;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `buildx pushed ${formatImageReference(pushed)} without ${lacks.join(" and ")}`,
    fix: "update the builder's BuildKit; a generator has to write its statement to BUILDKIT_SCAN_DESTINATION",
  });
}

/** moby/buildkit, docs/attestations/sbom-protocol.md: SPDX, which is all that it takes. */
function isSbom(predicateType: string): boolean {
  return predicateType.startsWith("https://spdx.dev/Document");
}

async function recordOf(
  { pushed, startedAt, finishedAt }: PushedBuild,
  { cell, inputDigest, inputs, bases }: PlannedCell,
  matrix: Plan["matrix"],
  { engine, origin }: AttesterOptions,
): Promise<BuildRecord> {
  if (pushed.digest === null || inputDigest === null)
    throw new InternalError("what was built has inputs and a digest");
  return {
    repository: repositoryOfCell(matrix, cell),
    digest: pushed.digest,
    fleet: { name: matrix.name, version: matrix.version, matrix: matrix.digest },
    cell: cell.id,
    axes: cell.axes,
    platform: cell.platform,
    inputDigest,
    inputs,
    bases: bases.flatMap(({ used, digest, local }) =>
      digest === null ? [] : [{ ref: used, digest, ...(local && { local }) }],
    ),
    engine: await engine(),
    origin,
    started: startedAt,
    finished: finishedAt,
  };
}
