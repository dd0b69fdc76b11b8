/** The provenance that imgmatch writes for engines that write none: SLSA provenance v1 in a statement of in-toto. */

import type { LockedBase, LockedInputs } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { sortedEntries } from "../../io/collections.ts";
import { type Artifact, attach, type AttachmentRegistry, bundleArtifact } from "../attach.ts";
import type { StatementSigner } from "../sign/signer.ts";
import { statementType } from "../statement.ts";
import {
  buildType,
  dependencyNames,
  imagePurl,
  provenanceTypes,
  fullRepository,
  statementVersion,
  unnamedBuilder,
} from "./attested-build.ts";

/** An in-toto statement: what is signed, and what is attached. */
export interface ProvenanceStatement {
  readonly _type: typeof statementVersion;
  readonly subject: readonly [{ readonly name: string; readonly digest: { readonly sha256: string } }];
  readonly predicateType: typeof provenanceTypes.v1;
  readonly predicate: Readonly<Record<string, unknown>>;
}

interface Dependency {
  readonly name?: string;
  readonly uri?: string;
  readonly digest: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** Says nothing that is not in the record: what is unknown there is left out. The same record gives the same text. */
export function writeProvenance(record: BuildRecord): ProvenanceStatement {
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

function dependenciesOf({
  bases,
  inputs,
  inputDigest,
  platform,
  origin,
}: BuildRecord): readonly Dependency[] {
  return [
    ...bases.map(({ ref, digest, local }): Dependency => {
      const sha256 = { sha256: hexOf(digest) };
      // An engine's id of an image: no registry knows it.
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

/** The commit, and where it is from. A revision that is no commit of git is no digest of anything. */
function sourceOf({ revision, remote, modified }: BuildOrigin): readonly Dependency[] {
  if (!isCommit(revision)) return [];
  return [
    {
      ...(remote === null ? {} : { uri: `git+${remote}@${revision}` }),
      digest: { gitCommit: revision },
      ...(modified === null ? {} : { annotations: { modified } }),
    },
  ];
}

/** SHA-1 or SHA-256, as git writes it. */
export function isCommit(revision: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(revision);
}

function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}

interface AttachOptions {
  /** null: the statement is attached as it is, and who may write to the repository may have written it. */
  readonly signer: StatementSigner | null;
  readonly signal?: AbortSignal | undefined;
}

/**
 * imgmatch's own provenance beside an image: as a statement of in-toto, or signed, in a bundle of sigstore. Answers the digest of what was
 * attached. Throws `REGISTRY_…`, and what signing throws.
 */
export async function attachProvenance(
  record: BuildRecord,
  registry: AttachmentRegistry,
  { signer, signal }: AttachOptions,
): Promise<Digest> {
  const statement = writeProvenance(record);
  const subject = { reference: parseImageReference(record.repository), digest: record.digest };
  const { predicateType } = statement;
  const artifact =
    signer === null ? plain(statement) : bundleArtifact(await signer.signStatement(statement), predicateType);
  return attach(registry, subject, artifact, { signal });
}

/** in-toto/attestation, spec/v1/bundle.md has no word on registries: this is how others attach what BuildKit puts into the index. */
function plain(statement: ProvenanceStatement): Artifact {
  return {
    artifactType: statementType,
    content: Buffer.from(JSON.stringify(statement)),
    annotations: { "in-toto.io/predicate-type": statement.predicateType },
  };
}

/** A build that imgmatch has just done, for its provenance. Unknown is null, and left out of the statement. */
export interface BuildRecord {
  /** Of the image as the registry has it. */
  readonly repository: string;
  readonly digest: Digest;
  readonly fleet: { readonly name: string; readonly version: string; readonly matrix: Digest };
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly inputDigest: Digest;
  readonly inputs: LockedInputs | null;
  readonly bases: readonly LockedBase[];
  /** The engine, as the lock has it: `docker 28.2.2`. */
  readonly engine: string;
  readonly origin: BuildOrigin;
  readonly started: Date;
  readonly finished: Date;
}

/** The machine and the sources of a build. All of it is said by the machine that builds. */
export interface BuildOrigin {
  /** Version of imgmatch. */
  readonly program: string | null;
  /** Commit of the sources; empty where there is none. */
  readonly revision: string;
  /** Whether files differ from that commit; null is unknown. */
  readonly modified: boolean | null;
  /** URL of the sources' repository, without credentials. */
  readonly remote: string | null;
  /** URI of who runs the build, and of this run of it, as a CI names them. */
  readonly builder: string | null;
  readonly invocation: string | null;
}
