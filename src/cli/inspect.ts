/** `imgmatch inspect IMAGE`: what is in an image, read from its files. */

import { join } from "node:path";
import { type ExitCode, exitCodes } from "../errors.ts";
import { inspectionLines } from "./report/inspection.ts";
import type { CommandContext } from "./command-context.ts";
import { ownPlatform, progressTo } from "./open-progress.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { print } from "./print.ts";

export interface InspectFlags extends RegistryAccess {
  /** Reference, image of the engine, archive, layout or folder. */
  readonly image: string;
  readonly platform?: string;
  readonly from?: "engine" | "registry";
  readonly files?: boolean;
  readonly json?: boolean;
  /** False for `--no-cache`. */
  readonly cache?: boolean;
}

export async function inspect(flags: InspectFlags, context: CommandContext): Promise<ExitCode> {
  const [{ inspect: inspectImage }, { cacheFolder, folderCache, noCache }] = await Promise.all([
    import("../inspect/inspect.ts"),
    import("../inspect/image/layer-cache.ts"),
  ]);
  const progress = progressTo(context);
  const name = /^\.{1,2}(\/|$)/.test(flags.image) ? join(context.cwd, flags.image) : flags.image;
  const inspection = await inspectImage(name, {
    env: context.env,
    registry: await registryFor(flags, context),
    platform: flags.platform ?? ownPlatform(),
    cache: flags.cache === false ? noCache : folderCache(cacheFolder(context.env)),
    onProgress: progress.show,
    ...(flags.from === undefined ? {} : { from: flags.from }),
  }).finally(progress.clear);
  const shown = { ...inspection, image: flags.image };
  print(context, flags, shown, (style) => inspectionLines(shown, { allFiles: flags.files === true, style }));
  return exitCodes.ok;
}
