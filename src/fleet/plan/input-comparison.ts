/** One input of an image, then and now. */

const inputNames = [
  "dockerfile",
  "context",
  "args",
  "target",
  "platform",
  "bases",
  "builder",
  "rebuild",
] as const;
export type InputName = (typeof inputNames)[number];

/** One input, then and now: a digest, a text, or null where there is none. */
export interface InputComparison {
  readonly input: InputName;
  /** The argument, or the base image's reference; null where there is one of its kind. */
  readonly name: string | null;
  readonly was: string | null;
  readonly is: string | null;
  /** null when the lock does not say what it was. */
  readonly changed: boolean | null;
}
