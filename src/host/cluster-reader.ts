/** The port to a cluster's objects: who reads hosts is handed a reader of them, as most hosts are not in a cluster. */

import type { HostFacts } from "../facts/facts.ts";
import type { NamedHost } from "../facts/named-host.ts";
import type { World } from "../io/world.ts";

/** A node of a cluster. */
export interface ClusterNode extends Omit<NamedHost, "name"> {
  /** null for a bare map of labels. */
  readonly name: string | null;
}

/** Reads the nodes of a value, the name of whose file is for messages; null for a value that is no object of a cluster. Throws `FACTS_SCHEMA`. */
export type ReadNodes = (value: unknown, file: string) => Promise<readonly ClusterNode[] | null>;

export interface ClusterReader {
  /** The facts of the one node of a value; null for a value that is no object of a cluster. Throws `FACTS_SCHEMA`. */
  readonly readClusterNode: (value: unknown, file: string) => Promise<HostFacts | null>;
  /** Objects anywhere among the values complete each other. */
  readonly readClusterNodes: (values: readonly unknown[]) => Promise<ReadNodes>;
}

export type HostWorld<Event = never> = World<Event> & ClusterReader;
