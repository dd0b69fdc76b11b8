/** The options that `build` and `publish` share, and their parts: below the face each function takes the part that it reads. */

import type { Watching } from "../io/world.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import type { SignerChoice } from "../oci/trust-flags.ts";
import type { EngineChoice } from "./engines/engine-choice.ts";
import type { BaseChoice, FleetChoice, FleetPlace } from "./open/fleet-choice.ts";
import type { LocalBaseChoice } from "./open/prepare-build.ts";
import type { FleetBuildEvent } from "./run/build-events.ts";

export interface BuildChoice extends FleetChoice, EngineChoice, SignerChoice, Watching<FleetBuildEvent> {
  /** Cells at one time. Default: as many as this machine has processors, up to 16. */
  readonly concurrency?: number;
  /** After so many failed cells no other begins. Default: no limit. */
  readonly maxFailures?: number;
  /** Minutes that the build of one cell may take. Default: no limit. */
  readonly cellTimeout?: number;
  /** Let the version's index say something else than it does now. */
  readonly replaceIndex?: boolean;
}

/** The pace of the builds. */
export type BuildPace = Pick<BuildChoice, "concurrency" | "maxFailures" | "cellTimeout">;

const accessFlags = { ca: true, plainHttp: true, timeout: true } as const;

export function splitBuildOptions(options: BuildChoice & LocalBaseChoice) {
  return {
    place: partOf<FleetPlace>(options, {
      matrix: true,
      lock: true,
      registry: true,
      only: true,
      buildArg: true,
    }),
    bases: partOf<BaseChoice>(options, { ...accessFlags, cache: true, replaceBase: true, offline: true }),
    engine: partOf<EngineChoice & LocalBaseChoice>(options, {
      ...{ engine: true, builder: true, localBases: true, cacheFrom: true, cacheTo: true },
      ...{ secret: true, ssh: true, network: true, ca: true },
    }),
    pace: partOf<BuildPace>(options, { concurrency: true, maxFailures: true, cellTimeout: true }),
    access: partOf<RegistryAccess>(options, accessFlags),
    signer: partOf<SignerChoice>(options, {
      ...{ sign: true, signKey: true, signFormat: true, identityToken: true },
      ...{ fulcioUrl: true, rekorUrl: true, timestampUrl: true, signRoot: true },
    }),
  };
}

/** `flags` names each flag of the part: one that is forgotten does not compile. */
function partOf<Part>(options: Part, flags: Readonly<Record<keyof Part, true>>): Part {
  const given = (Object.keys(flags) as (keyof Part)[]).filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]])) as Part;
}
