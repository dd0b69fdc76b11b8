/** Attests how pushed images were built: the engine attests while it pushes, or imgmatch attests afterwards. */

import type { FleetSigner, Sealing } from "./seal.ts";
import { ImgmatchError, InternalError, type Problem, throwProblems } from "../../errors.ts";
import { firstOf } from "../../io/table.ts";
import type { LockedAttestation } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import type { AttachmentRegistry } from "../../oci/registry/attach.ts";
import type { EvidenceReader } from "../../oci/registry/client.ts";
import { type BuildOrigin, type BuildRecord, isCommit } from "../../oci/build-record.ts";
import type { BuildSummary } from "../engines/built-cell.ts";
import type { Engine } from "../engines/engine.ts";
import type { BuildWatch } from "../../oci/engine/built-image.ts";
import type { FleetSources } from "../engines/jobs.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import type { Attestations, Located, Matrix } from "../matrix/matrix.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";

export interface PushedBuild {
  readonly cell: string;
  /** Names the image by its digest. */
  readonly reference: ImageReference;
  readonly digest: Digest;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** Throws where it cannot attest. Answers the lock's record of it. */
export type AttestImage = (build: PushedBuild, watch: BuildWatch) => Promise<LockedAttestation>;

export interface AttesterOptions extends Pick<Engine, "attests"> {
  readonly registry: AttachmentRegistry & EvidenceReader;
  readonly builder: string;
  readonly origin: BuildOrigin;
  /** Signs the statements of imgmatch; null: they are attached without a signature. */
  readonly signer: Pick<FleetSigner, "signStatement"> | null;
  readonly sealing: Pick<Sealing, "attachProvenance" | "findAttestations">;
}

/** null where the matrix asks for no attestation. */
export function imageAttester({ matrix, cells }: Plan, options: AttesterOptions): AttestImage | null {
  const { attest } = matrix;
  if (attest === null) return null;
  const byId = new Map(cells.map((planned) => [planned.cell.id, planned]));
  const { registry, attests, signer, sealing, origin } = options;
  const { revision } = origin;
  const locked: LockedAttestation = {
    matrix: matrix.digest,
    ...(isCommit(revision) ? { revision } : {}),
  };
  return async (build, { signal, onLog }) => {
    const planned = byId.get(build.cell);
    if (planned === undefined) throw new InternalError(`${build.cell} is not in the plan`);
    if (attests) await requireAttested(build, planned, attest.value, options);
    else {
      const record = recordOf(build, planned, matrix, options);
      const digest = await sealing.attachProvenance(record, registry, { signer, signal });
      onLog(`attached provenance ${digest}${signer === null ? "" : ", signed"}`);
    }
    return locked;
  };
}

/** An engine that is older than attestations takes the flag and attests nothing. */
async function requireAttested(
  { reference, digest }: PushedBuild,
  { cell: { platform } }: PlannedCell,
  { provenance, sbom }: Attestations,
  { registry, sealing }: AttesterOptions,
): Promise<void> {
  const { found = [], attested = [] } =
    (await sealing.findAttestations(registry, { reference, digest }, platform)) ?? {};
  const lacks = [
    ...(provenance !== null && found.length === 0 ? ["provenance"] : []),
    ...(sbom !== null && !attested.some(isSbom) ? ["an SBOM"] : []),
  ];
  if (lacks.length === 0) return;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `buildx pushed ${formatImageReference(reference)} without ${lacks.join(" and ")}`,
    fix: "update the builder's BuildKit; a generator has to write its statement to BUILDKIT_SCAN_DESTINATION",
  });
}

/** moby/buildkit, docs/attestations/sbom-protocol.md: SPDX, the only kind it takes. */
function isSbom(predicateType: string): boolean {
  return predicateType.startsWith("https://spdx.dev/Document");
}

function recordOf(
  { digest, startedAt, finishedAt }: PushedBuild,
  { cell, inputDigest, inputs, bases }: PlannedCell,
  matrix: Plan["matrix"],
  { builder, origin }: AttesterOptions,
): BuildRecord {
  if (inputDigest === null) throw new InternalError(`${cell.id} was built without inputs`);
  return {
    repository: repositoryOfCell(matrix, cell),
    digest,
    fleet: { name: matrix.name, version: matrix.version, matrix: matrix.digest },
    cell: cell.id,
    axes: cell.axes,
    platform: cell.platform,
    inputDigest,
    inputs,
    bases: bases.flatMap(({ used, digest, local }) =>
      digest === null ? [] : [{ ref: used, digest, ...(local && { local }) }],
    ),
    engine: builder,
    origin,
    started: startedAt,
    finished: finishedAt,
  };
}

/** Throws `ATTEST_UNSUPPORTED` for what this engine cannot attest, or would publish with it. */
export function requireAttestable(
  { attest }: Pick<Matrix, "attest">,
  { attests }: Pick<Engine, "attests">,
  { passedArgs = {} }: Pick<FleetSources, "passedArgs">,
): void {
  if (attest === null) return;
  throwProblems(attests ? leaks(attest, passedArgs) : unsupported(attest));
}

function unsupported({ value, at }: Located<Attestations>): Problem[] {
  if (value.sbom === null) return [];
  return [
    {
      code: "ATTEST_UNSUPPORTED",
      message: "attest.sbom needs a BuildKit that attests, and this engine has none",
      fix: "build with --engine buildx and a builder of BuildKit 0.11 or newer (docker buildx create), or leave out attest.sbom",
      at,
    },
  ];
}

/** Mode `max` repeats every build argument, and everybody who can pull can read it. */
function leaks({ value, at }: Located<Attestations>, args: Readonly<Record<string, string>>): Problem[] {
  if (value.provenance !== "max") return [];
  const names = Object.keys(args).filter((name) => /\/\/[^/@]*@/.test(args[name] ?? ""));
  return names.map((name) => ({
    code: "ATTEST_UNSUPPORTED",
    message: `the build argument ${name} has a password, and provenance: max would publish it`,
    fix: "write provenance: min, or give the builder a proxy without a password",
    at,
  }));
}

/**
 * `PROVENANCE_MISSING` for images from the lock or the registry, if no build of this lock has attested them. The registry is not asked:
 * `verify --provenance` does that.
 */
export function unattestedImages(
  { matrix, cells }: Plan,
  { results }: Pick<BuildSummary, "results">,
): readonly Problem[] {
  if (matrix.attest === null) return [];
  const kept = cells.filter(
    ({ action, locked }) => action === "keep" && locked?.digest && locked.attested === undefined,
  );
  const adopted = results.filter((result) => result.status === "built" && result.how === "adopted");
  const names = [...kept.map(({ cell }) => cell.id), ...adopted.map(({ cell }) => cell)].sort();
  if (names.length === 0) return [];
  return [
    {
      code: "PROVENANCE_MISSING",
      message: `${names.length === 1 ? "1 image was" : `${names.length} images were`} there already, and no build of this lock has attested ${names.length === 1 ? "it" : "them"}: ${firstOf(names, 5)}`,
      fix: "imgmatch verify --provenance lists those with provenance; build --no-cache --push builds them again under new tags",
    },
  ];
}
