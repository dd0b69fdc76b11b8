/** The defaults of the ports: what one hall of the program offers to another, loaded where it is asked for. `index.ts` and `cli/` hand them out. */

import type { Adopting } from "./fleet/adopt.ts";
import type { Examining } from "./fleet/audit/image-examiner.ts";
import type { Judging, Sealing } from "./fleet/publish/seal.ts";
import type { HostServices } from "./fleet/host-services.ts";
import { nodePorts } from "./node-ports.ts";
import type { NodePorts } from "./node/question.ts";
import type { RootSource } from "./oci/trust-flags.ts";

const root: RootSource = {
  publicRoot: async () => (await import("./trust/public-root.ts")).publicRoot(),
};

const files: Examining & Adopting = {
  openAuditor: async (options) => (await import("./inspect/audit/image-auditor.ts")).imageAuditor(options),
  openForeign: async (...asked) => (await import("./inspect/adopt/open-foreign.ts")).openForeign(...asked),
};

const sealing: Sealing = {
  openSigner: async (...asked) => (await import("./trust/sign/open-signer.ts")).openSigner(...asked),
  attachProvenance: async (...asked) =>
    (await import("./trust/provenance/write-provenance.ts")).attachProvenance(...asked),
  findAttestations: async (...asked) =>
    (await import("./trust/provenance/find-provenance.ts")).findAttestations(...asked),
};

const judging: Judging = {
  signatureTrustFor: async (demands, world) =>
    (await import("./trust/trust-demands.ts")).signatureTrustFor(demands, { ...world, ...root }),
  verifyProvenance: async (...asked) =>
    (await import("./trust/provenance/verify-provenance.ts")).verifyProvenanceFor(...asked),
};

const hosts: HostServices = {
  writeGuard: async (cell) => (await import("./node/sh/guard-script.ts")).guardScript(cell),
  marchHere: async () => (await import("./host/native-march.ts")).marchHere(),
};

type Ports = NodePorts & HostServices & Examining & Adopting & Sealing & Judging;

export const ports: Ports = { ...nodePorts, ...root, ...files, ...sealing, ...judging, ...hosts };
