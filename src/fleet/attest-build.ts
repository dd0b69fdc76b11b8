/** Attests the images of a plan in their registry, by the engine or by imgmatch: nothing is left out in silence, before a build or after it. */

import type { StatementSigner } from "../trust/sign/signer.ts";
import { repositoryOfCell } from "./cells/cell-settings.ts";
import type { Attester, PushedBuild } from "./build/publisher.ts";
import type { BuildSummary, FleetBuilder, FleetSources } from "./build/fleet-builder.ts";
import { ImgmatchError, InternalError, type Problem, throwProblems } from "../errors.ts";
import { firstOf } from "../io/table.ts";
import type { LockedAttestation } from "../lock/lock.ts";
import type { Attestations, Located, Matrix } from "./matrix/matrix.ts";
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
  readonly engine: () => Promise<string>;
  readonly origin: BuildOrigin;
  /** Of statements that imgmatch writes; null: they are attached without a signature. */
  readonly signer: StatementSigner | null;
}

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

/** Throws `ATTEST_UNSUPPORTED`: never is anything left out in silence. */
export function requireAttestable(
  { attest }: Pick<Matrix, "attest">,
  { attests }: Pick<FleetBuilder, "attests">,
  { passedArgs = {} }: Pick<FleetSources, "passedArgs">,
): void {
  if (attest === null) return;
  throwProblems([
    ...unsupported(attest, attests),
    ...(attests === "engine" ? leaks(attest, passedArgs) : []),
  ]);
}

function unsupported({ value, at }: Located<Attestations>, attests: FleetBuilder["attests"]): Problem[] {
  const code = "ATTEST_UNSUPPORTED";
  const fix =
    "build with --engine buildx and a builder of BuildKit 0.11 or newer (docker buildx create), or leave out attest";
  if (attests === "nobody")
    return [{ code, message: "the stack of --engine pulumi gives images their tags unattested", fix, at }];
  if (attests === "engine" || value.sbom === null) return [];
  return [
    {
      code,
      message: "attest.sbom needs a BuildKit that attests, and this engine has none",
      fix: `${fix}.sbom`,
      at,
    },
  ];
}

/** Mode `max` repeats every build argument, and what is attested can be read by all who can pull. */
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
 * `PROVENANCE_MISSING` for those that the lock kept or the registry had already, if no build of this lock has attested them. The registry is
 * not asked: `verify --provenance` does that.
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
