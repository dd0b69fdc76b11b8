/** `imgmatch adopt REF…`: images that others built become rows of a lock. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { lockPath } from "../lock/lock.ts";
import { describeMeasured } from "../resolve/describe-measured.ts";
import type { CommandContext } from "./command-context.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { ownPlatform, progressTo } from "./open-progress.ts";
import { print } from "./print.ts";

export interface AdoptFlags extends RegistryAccess {
  readonly references: readonly string[];
  readonly lock?: string;
  readonly axis: readonly string[];
  readonly tagPattern?: string;
  readonly march?: string;
  readonly without: readonly string[];
  readonly cuda?: string;
  readonly platform?: string;
  readonly publishTo?: string;
  readonly name?: string;
  readonly fleetVersion?: string;
  readonly json?: boolean;
}

export async function adopt(flags: AdoptFlags, context: CommandContext): Promise<ExitCode> {
  const [{ adoptImages }, { cacheFolder, folderCache }] = await Promise.all([
    import("../fleet/adopt-images.ts"),
    import("../inspect/image/layer-cache.ts"),
  ]);
  const { march, without, cuda, tagPattern, name, fleetVersion, publishTo } = flags;
  const progress = progressTo(context);
  const lockFile = flags.lock ?? lockPath;
  const adopted = await adoptImages(flags.references, {
    registry: await registryFor(flags, context),
    lockFile,
    platform: flags.platform ?? ownPlatform(),
    cache: folderCache(cacheFolder(context.env)),
    onProgress: progress.show,
    signal: context.signal,
    onCopy: (from, to) => {
      progress.clear();
      context.err(`copying ${from} to ${to}\n`);
    },
    axes: flags.axis,
    statement: {
      ...(march === undefined ? {} : { march }),
      without,
      ...(cuda === undefined ? {} : { cuda }),
    },
    ...(tagPattern === undefined ? {} : { tagPattern }),
    ...(publishTo === undefined ? {} : { publishTo }),
    ...(name === undefined ? {} : { name }),
    ...(fleetVersion === undefined ? {} : { version: fleetVersion }),
  }).finally(progress.clear);
  const shown = { schemaVersion: 1, lock: lockFile, adopted };
  print(context, flags, shown, () =>
    adopted.flatMap(({ cell, image, notes }) => [
      `${cell}  ${image.platform}  CUDA ${image.requires.cuda?.toolkit ?? "none"}  CPU ${
        describeMeasured(image) ?? `stated: ${image.requires.cpu.march}`
      }`,
      ...notes.map((note) => `  note: ${note}`),
    ]),
  );
  if (flags.json !== true) context.err(`in ${lockFile}; next: imgmatch publish, or imgmatch resolve\n`);
  return exitCodes.ok;
}
