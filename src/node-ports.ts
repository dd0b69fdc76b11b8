/** The defaults of the ports that the commands of a node ask for. A program hands the public root beside them: one for nodes has none. */

import type { ClusterReader } from "./host/cluster-reader.ts";
import type { QuestionPorts } from "./node/question.ts";

const cluster: ClusterReader = {
  readClusterNode: async (...asked) =>
    (await import("./host/kubernetes/read-nodes.ts")).readClusterNode(...asked),
  readClusterNodes: async (...asked) =>
    (await import("./host/kubernetes/read-nodes.ts")).readClusterNodes(...asked),
};

const fleets: Omit<QuestionPorts, "publicRoot"> = {
  readRegistryFleet: async (...asked) =>
    (await import("./trust/registry-fleet.ts")).readRegistryFleet(...asked),
  heldImages: async (...asked) => (await import("./fleet/engines/local-images.ts")).heldImages(...asked),
};

export const nodePorts = { ...cluster, ...fleets };
