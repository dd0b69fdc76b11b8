/** What can be asked of each engine, without loading any. */

export interface EngineTraits {
  /** `--builder`: it has builders with names. */
  readonly builders: boolean;
  /** `--stack`: it keeps a state of its own, which `build --dry-run` compares with. */
  readonly stacks: boolean;
  /** `--cache-from` and `--cache-to`. */
  readonly cache: boolean;
  /** `--secret`. */
  readonly secrets: boolean;
  /** What it builds can be used on this machine without a push. */
  readonly local: boolean;
}

export const engineTraits = {
  docker: { builders: false, stacks: false, cache: true, secrets: true, local: true },
  buildx: { builders: true, stacks: false, cache: true, secrets: true, local: false },
  podman: { builders: false, stacks: false, cache: false, secrets: true, local: true },
  // Its state would keep a secret, and its provider takes no cache.
  pulumi: { builders: false, stacks: true, cache: false, secrets: false, local: true },
} as const satisfies Record<string, EngineTraits>;

export type EngineName = keyof typeof engineTraits;
