/** The abilities of each engine, without loading any. */

import type { LocalEngine } from "../../lock/lock.ts";

export interface EngineTraits {
  /** `--builder`: it has builders with names. */
  readonly builders: boolean;
  /** `--cache-from` and `--cache-to`. */
  readonly cache: boolean;
  /** The values of `--network`; null for names of the engine's own. */
  readonly networks: readonly string[] | null;
  /** It builds with the front end of `# syntax=`. */
  readonly frontEnds: boolean;
  /** The engine that keeps the images, for use without a push; null for builders that keep them to themselves. */
  readonly localEngine: LocalEngine | null;
}

const networks = ["default", "none", "host"];

export const engineTraits = {
  docker: { builders: false, cache: true, networks, frontEnds: true, localEngine: "docker" },
  buildx: { builders: true, cache: true, networks, frontEnds: true, localEngine: null },
  podman: { builders: false, cache: false, networks: null, frontEnds: false, localEngine: "podman" },
} as const satisfies Record<string, EngineTraits>;

export type EngineName = keyof typeof engineTraits;

export const defaultEngine = "docker" satisfies EngineName;
