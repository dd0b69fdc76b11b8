/** What a fix would change, as data: so that it can be tried before it is offered, and by tests. */

export type Remedy =
  /** Another driver: this version, or with `atLeast` any newer one that still drives the GPUs. */
  | { readonly kind: "driver"; readonly version: string; readonly atLeast: boolean }
  /** A cell that the fleet does not have: the image's own axes with these in place of its own. */
  | { readonly kind: "cell"; readonly axes: Readonly<Record<string, string>> }
  /** A cell that serves where no march is known, of this platform. */
  | { readonly kind: "platform"; readonly platform: string }
  /** Another cell of the lock. */
  | { readonly kind: "take"; readonly cell: string }
  /** The image's own cell, built without these features of its march. */
  | { readonly kind: "without"; readonly march: string; readonly features: readonly string[] }
  | { readonly kind: "features"; readonly features: readonly string[] }
  | { readonly kind: "kernel"; readonly minimum: string }
  | {
      readonly kind: "pins";
      readonly set: Readonly<Record<string, string>>;
      readonly drop: readonly string[];
    }
  | { readonly kind: "option"; readonly leaveOut: "cpuOnly" | "requireGpu" }
  | { readonly kind: "build" };

/** One way to make an image fit. Those of a misfit are alternatives. */
export interface Cure {
  readonly text: string;
  /** null for what only a person can do or know. */
  readonly remedy: Remedy | null;
  /** What to do instead where others built the image, of which there is no cell: `adopt an image for linux/arm64`. */
  readonly adopted?: string;
}
