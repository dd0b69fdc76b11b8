/** Writes SLSA provenance v1 for engines that write none, and attaches it to the image. */

import { ImgmatchError } from "../../errors.ts";
import { type BuildOrigin, type BuildRecord, isCommit } from "../../oci/build-record.ts";
import type { Digest } from "../../oci/digest.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { TryOptions } from "../../oci/registry/try-again.ts";
import { sortedEntries } from "../../io/collections.ts";
import { bundleArtifact } from "../attach.ts";
import {
  type Artifact,
  attach,
  type AttachmentRegistry,
  isAttachmentRefusal,
} from "../../oci/registry/attach.ts";
import type { StatementSigner } from "../sign/signer.ts";
import { statementType, statementVersion } from "../statement.ts";
import {
  buildType,
  dependencyNames,
  imagePurl,
  provenanceTypes,
  fullRepository,
  unnamedBuilder,
} from "./attested-build.ts";

/** An in-toto statement. It leaves out what the record does not know. The same record gives the same text. */
export function writeProvenance(record: BuildRecord) {
  const { repository, digest, fleet, cell, axes, platform, engine, origin, started, finished } = record;
  return {
    _type: statementVersion,
    subject: [{ name: fullRepository(parseImageReference(repository)), digest: { sha256: hexOf(digest) } }],
    predicateType: provenanceTypes.v1,
    predicate: {
      buildDefinition: {
        buildType,
        externalParameters: {
          fleet: fleet.name,
          version: fleet.version,
          matrix: fleet.matrix,
          cell,
          axes: Object.fromEntries(sortedEntries(axes)),
          platform,
          ...parametersOf(record),
        },
        internalParameters: { engine },
        resolvedDependencies: dependenciesOf(record),
      },
      runDetails: {
        builder: {
          id: origin.builder ?? unnamedBuilder,
          ...(origin.program === null ? {} : { version: { imgmatch: origin.program } }),
        },
        metadata: {
          ...(origin.invocation === null ? {} : { invocationId: origin.invocation }),
          startedOn: started.toISOString(),
          finishedOn: finished.toISOString(),
        },
      },
    },
  };
}

function parametersOf({ inputs }: BuildRecord): Readonly<Record<string, unknown>> {
  if (inputs === null) return {};
  const { args, target, rebuild } = inputs;
  return {
    args: Object.fromEntries(sortedEntries(args)),
    ...(target === null ? {} : { target }),
    ...(rebuild === undefined ? {} : { rebuild }),
  };
}

function dependenciesOf({ bases, inputs, inputDigest, platform, origin }: BuildRecord) {
  return [
    ...bases.map(({ ref, digest, local }) => {
      const sha256 = { sha256: hexOf(digest) };
      // The digest is an engine's id, which no registry knows.
      if (local !== undefined) return { name: ref, digest: sha256, annotations: { local } };
      return { name: ref, uri: imagePurl(ref, digest, platform), digest: sha256 };
    }),
    ...sourceOf(origin),
    { name: dependencyNames.inputs, digest: { sha256: hexOf(inputDigest) } },
    ...(inputs === null
      ? []
      : [
          { name: dependencyNames.dockerfile, digest: { sha256: hexOf(inputs.dockerfile) } },
          { name: dependencyNames.context, digest: { sha256: hexOf(inputs.context) } },
        ]),
  ];
}

/** The commit and its repository. A revision that is no commit of git has no digest. */
function sourceOf({ revision, remote, modified }: BuildOrigin) {
  if (!isCommit(revision)) return [];
  return [
    {
      ...(remote === null ? {} : { uri: `git+${remote}@${revision}` }),
      digest: { gitCommit: revision },
      ...(modified === null ? {} : { annotations: { modified } }),
    },
  ];
}

function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}

/**
 * Attaches provenance to an image: unsigned as a statement of in-toto, signed in a bundle of sigstore. Answers the digest of the artifact.
 * Throws `REGISTRY_…`, and the errors of signing.
 */
export async function attachProvenance(
  record: BuildRecord,
  registry: AttachmentRegistry,
  { signer, signal }: Pick<TryOptions, "signal"> & { readonly signer: StatementSigner | null },
): Promise<Digest> {
  const statement = writeProvenance(record);
  const subject = { reference: parseImageReference(record.repository), digest: record.digest };
  const { predicateType } = statement;
  const artifact =
    signer === null ? plain(statement) : bundleArtifact(await signer.signStatement(statement), predicateType);
  try {
    return (await attach(registry, subject, artifact, { signal })).digest;
  } catch (error) {
    if (!isAttachmentRefusal(error)) throw error;
    const [{ code, message }] = error.problems;
    const fix =
      "this registry takes no attached provenance: build with --engine buildx, which writes it into the image's index, or leave out attest";
    throw new ImgmatchError({ code, message, fix }, { cause: error });
  }
}

/** in-toto/attestation, spec/v1/bundle.md does not say how to attach to a registry. Other tools do it so. */
function plain(statement: ReturnType<typeof writeProvenance>): Artifact {
  return {
    artifactType: statementType,
    content: Buffer.from(JSON.stringify(statement)),
    annotations: { "in-toto.io/predicate-type": statement.predicateType },
  };
}
