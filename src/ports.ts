/** The defaults of the ports: what one hall of the program offers to another, loaded where it is asked for. `index.ts` and `cli/` hand them out. */

import type { Adopting } from "./fleet/adopt.ts";
import type { Examining } from "./fleet/audit/image-examiner.ts";
import type { Judging, Sealing } from "./fleet/publish/seal.ts";
import type { ClusterReader } from "./host/cluster-reader.ts";
import type { QuestionPorts } from "./node/question.ts";

const cluster: ClusterReader = {
  readClusterNode: async (...asked) =>
    (await import("./host/kubernetes/read-nodes.ts")).readClusterNode(...asked),
  readClusterNodes: async (...asked) =>
    (await import("./host/kubernetes/read-nodes.ts")).readClusterNodes(...asked),
};

const fleets: QuestionPorts = {
  readRegistryFleet: async (...asked) =>
    (await import("./trust/registry-fleet.ts")).readRegistryFleet(...asked),
  heldImages: async (...asked) => (await import("./fleet/engines/local-images.ts")).heldImages(...asked),
};

const files: Examining & Adopting = {
  openAuditor: async (options) => (await import("./inspect/audit/image-auditor.ts")).imageAuditor(options),
  openForeign: async (...asked) => (await import("./inspect/adopt/open-foreign.ts")).openForeign(...asked),
};

const sealing: Sealing = {
  openSigner: async (...asked) => (await import("./trust/sign/open-signer.ts")).openSigner(...asked),
  attachProvenance: async (...asked) =>
    (await import("./trust/provenance/write-provenance.ts")).attachProvenance(...asked),
  findProvenance: async (...asked) =>
    (await import("./trust/provenance/find-provenance.ts")).findProvenance(...asked),
};

const judging: Judging = {
  signatureTrustFor: async (...asked) =>
    (await import("./trust/trust-demands.ts")).signatureTrustFor(...asked),
  verifyProvenance: async (...asked) =>
    (await import("./trust/provenance/verify-provenance.ts")).verifyProvenanceFor(...asked),
};

type Ports = ClusterReader & QuestionPorts & Examining & Adopting & Sealing & Judging;

export const ports: Ports = { ...cluster, ...fleets, ...files, ...sealing, ...judging };
