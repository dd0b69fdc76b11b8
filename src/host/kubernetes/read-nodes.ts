/** Reads the facts of Kubernetes nodes: the port of `host/cluster-reader.ts`. */

import type { ClusterReader } from "../cluster-reader.ts";
import { ownLabels, readCluster, readKubernetesNode, readKubernetesNodes } from "./cluster-objects.ts";
import { factsOfNode } from "./node-facts.ts";

export const readClusterNode: ClusterReader["readClusterNode"] = async (value, file) => {
  const node = readKubernetesNode(value, file);
  return node === null ? null : factsOfNode(node);
};

export const readClusterNodes: ClusterReader["readClusterNodes"] = async (values) => {
  const cluster = readCluster(values);
  return async (value, file) => {
    const nodes = readKubernetesNodes(value, file, cluster);
    if (nodes === null) return null;
    return Promise.all(
      nodes.map(async (node) => ({
        name: node.name,
        facts: await factsOfNode(node),
        labels: ownLabels(node.labels),
        ...(node.images === null ? {} : { images: node.images }),
      })),
    );
  };
};
