/** imgmatch's own provenance beside an image: as a statement of in-toto, or signed, in a bundle of sigstore. */

import type { Digest } from "../../oci/digest.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { attach, type AttachmentRegistry, type Artifact } from "../attach.ts";
import { bundleAnnotations, bundleType } from "../evidence.ts";
import { statementType } from "../statement.ts";
import type { BuildRecord } from "./build-record.ts";
import { type ProvenanceStatement, writeProvenance } from "./write-provenance.ts";

export interface StatementSigner {
  /** Answers a bundle as JSON. */
  signStatement(statement: object): Promise<string>;
}

export interface AttachOptions {
  /** null: the statement is attached as it is, and who may write to the repository may have written it. */
  readonly signer: StatementSigner | null;
  readonly signal?: AbortSignal | undefined;
}

/** Answers the digest of what was attached. Throws `REGISTRY_…`, and what signing throws. */
export async function attachProvenance(
  record: BuildRecord,
  registry: AttachmentRegistry,
  { signer, signal }: AttachOptions,
): Promise<Digest> {
  const statement = writeProvenance(record);
  const subject = { reference: parseImageReference(record.repository), digest: record.digest };
  const artifact = signer === null ? plain(statement) : await signed(statement, signer);
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

/** As `cosign attest` of cosign 3 does. */
async function signed(statement: ProvenanceStatement, signer: StatementSigner): Promise<Artifact> {
  return {
    artifactType: bundleType,
    content: Buffer.from(await signer.signStatement(statement)),
    annotations: {
      [bundleAnnotations.content]: "dsse-envelope",
      [bundleAnnotations.predicateType]: statement.predicateType,
    },
  };
}
