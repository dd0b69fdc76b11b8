/** A host of a list, with its name. */

import type { HostFacts } from "./facts.ts";

/** Of an object of a cluster. */
export type Labels = Readonly<Record<string, string>>;

export interface NamedHost {
  /** For people: the name of the file, of the node, or of the place in the text, `nodes.jsonl:3`. */
  readonly name: string;
  readonly facts: HostFacts;
  /** The digests of each image on the host, if the source is a Kubernetes node with a list of images. */
  readonly images?: readonly (readonly string[])[];
  /** imgmatch's labels of a Kubernetes node, without their prefix. */
  readonly labels?: Labels;
}
