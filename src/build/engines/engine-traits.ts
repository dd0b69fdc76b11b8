/** What can be asked of each engine, without loading any. */

import type { LocalEngine } from "../../lock/lock.ts";

export interface EngineTraits {
  /** `--builder`: it has builders with names. */
  readonly builders: boolean;
  /** `--stack`: it keeps a state of its own, which `build --dry-run` compares with. */
  readonly stacks: boolean;
  /** `--cache-from` and `--cache-to`. */
  readonly cache: boolean;
  /** `--secret`. */
  readonly secrets: boolean;
  /** What keeps what it builds, so that it can be used without a push; null for builders that keep it to themselves. */
  readonly keeper: LocalEngine | null;
}

export const engineTraits = {
  docker: { builders: false, stacks: false, cache: true, secrets: true, keeper: "docker" },
  buildx: { builders: true, stacks: false, cache: true, secrets: true, keeper: null },
  podman: { builders: false, stacks: false, cache: false, secrets: true, keeper: "podman" },
  // Its state would keep a secret, and its provider takes no cache.
  pulumi: { builders: false, stacks: true, cache: false, secrets: false, keeper: "docker" },
} as const satisfies Record<string, EngineTraits>;

export type EngineName = keyof typeof engineTraits;
