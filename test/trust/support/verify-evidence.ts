/** The verification of evidence for tests, which ask no public sigstore: each identity names its trusted root. */

import type { Subject } from "../../../src/oci/descriptor.ts";
import type { Evidence } from "../../../src/trust/evidence.ts";
import { noPublicRoot } from "../../../src/trust/no-public-root.ts";
import type { TrustedSigner } from "../../../src/trust/trusted-signers.ts";
import { type Verified, verifyEvidence as verifyWith } from "../../../src/trust/verify-evidence.ts";

export function verifyEvidence(
  evidence: readonly Evidence[],
  subject: Subject,
  signers: readonly TrustedSigner[],
): Promise<Verified> {
  return verifyWith(evidence, subject, signers, { publicRoot: noPublicRoot });
}
