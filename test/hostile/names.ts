/** The attacks' names, in the groups that share a process. Who only starts attacks loads none of what they attack. */

/** Of what a host says, and of locks. */
export const readingNames = [
  "cpuinfo",
  "files",
  "smiQuery",
  "smiList",
  "smiTable",
  "facts",
  "lock",
  "kubernetesNode",
] as const;
/** Of who opens images. Those that may ask for a window of zstd stand last: the most memory only grows. */
export const openingNames = [
  "program",
  "gpuCode",
  "amdCode",
  "claims",
  "zip",
  "packedLayer",
  "layer",
  "image",
] as const;
/** Of what commands print. */
export const printingNames = [
  "answersToLock",
  "answersToFacts",
  "answersToIndex",
  "answersToLabels",
] as const;

export type ReadingName = (typeof readingNames)[number];
export type OpeningName = (typeof openingNames)[number];
export type PrintingName = (typeof printingNames)[number];
export type AttackName = ReadingName | OpeningName | PrintingName;
