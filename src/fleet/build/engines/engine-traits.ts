/** The abilities of each engine, without loading any. */

import type { LocalEngine } from "../../../lock/lock.ts";

export interface EngineTraits {
  /** `--builder`: it has builders with names. */
  readonly builders: boolean;
  /** `--stack`: it keeps a state, which `build --dry-run` compares with. */
  readonly stacks: boolean;
  /** `--cache-from` and `--cache-to`. */
  readonly cache: boolean;
  /** `--secret`. */
  readonly secrets: boolean;
  /** `--ssh`. */
  readonly ssh: boolean;
  /** The values of `--network`; null for names of the engine's own. */
  readonly networks: readonly string[] | null;
  /** The engine that keeps its images, so that they can be used without a push; null for builders that keep them to themselves. */
  readonly keeper: LocalEngine | null;
}

const buildKit = {
  ...{ builders: false, stacks: false, cache: true, secrets: true, ssh: true },
  networks: ["default", "none", "host"],
};

export const engineTraits = {
  docker: { ...buildKit, keeper: "docker" },
  buildx: { ...buildKit, builders: true, keeper: null },
  podman: { ...buildKit, cache: false, networks: null, keeper: "podman" },
  // Its state would keep a secret, and its provider takes no cache and no agent; whether it heeds a network nobody has tried.
  pulumi: {
    ...{ ...buildKit, stacks: true, cache: false, secrets: false, ssh: false },
    ...{ networks: ["default"], keeper: "docker" },
  },
} as const satisfies Record<string, EngineTraits>;

export type EngineName = keyof typeof engineTraits;
