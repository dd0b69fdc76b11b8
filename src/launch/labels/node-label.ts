/** What a node says of itself to a scheduler. */

/** A label of a node in imgmatch's vocabulary, without the prefix that each system writes before it. */
export interface NodeLabel {
  readonly key: string;
  readonly value: string;
}
