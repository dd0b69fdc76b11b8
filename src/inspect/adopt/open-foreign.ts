/** Opens an image that others built, and reads its needs: the port of `fleet/adopt.ts`. */

import type { Watching, World } from "../../io/world.ts";
import type { OpenChoice, OpenEvent, Statement } from "../../lock/statement.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { openFromRegistry } from "../image/from-registry.ts";
import { openOptions } from "../open-subject.ts";
import type { LockedCode } from "../../lock/lock.ts";
import { imageBytes, lockedCode } from "../code-bytes.ts";
import { inspectionOf, surveyOf } from "../inspection.ts";
import { type AdoptedImage, adoptedImage } from "./adopted-image.ts";

export interface ForeignRequest {
  /** For messages. */
  readonly name: string;
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">;
  readonly choice: OpenChoice & Statement & Watching<OpenEvent>;
  readonly world: World;
}

/** null if the registry does not have it. Throws as {@link adoptedImage}, and errors of the registry. */
export async function openForeign(
  reference: ImageReference,
  { name, registry, choice, world }: ForeignRequest,
): Promise<(Omit<AdoptedImage, "compiledFor"> & { readonly code: LockedCode }) | null> {
  const options = openOptions(choice, world);
  const opened = await openFromRegistry(registry, reference, options);
  if (opened === null) return null;
  const platform = opened.platform ?? options.platform;
  const image = { ...opened, name, platform };
  const survey = surveyOf(image);
  const { compiledFor: _estimates, ...found } = adoptedImage(image, choice, inspectionOf(image, survey));
  return { ...found, code: lockedCode(imageBytes(image, survey)) };
}
