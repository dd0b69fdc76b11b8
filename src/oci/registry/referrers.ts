/** Lists the manifests whose subject is an image, by the referrers API or by the fallback tag. */

import type { OperationOptions } from "./ask.ts";
import { fieldsOf, isRecord, parseJson, text, textsOf } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import { isDigest, isSize } from "../digest.ts";
import { indexTypes, isMediaType } from "../media-types.ts";
import type { Referrer, ReferrersReader } from "./client.ts";
import { pagesOf } from "./pages.ts";
import { registryUrl } from "./registry-endpoint.ts";
import { requestTo } from "./transport.ts";

const list = {
  on: "attached",
  wants: "an index",
  // Some registries without the API answer `"manifests": null`.
  read: (body: Uint8Array) =>
    fieldsOf(parseJson(body)).manifests === null ? null : (parseReferrers(body) ?? undefined),
  keyOf: ({ digest }: Referrer) => digest,
  // All pages together have the limit of the tag's manifest.
  most: {
    pages: registryLimits.referrers,
    pageBytes: registryLimits.manifestBytes,
    bytes: registryLimits.manifestBytes,
    entries: registryLimits.referrers,
  },
} as const;

export function referrersOperations({ ask, plainHttp }: OperationOptions): ReferrersReader {
  return {
    async readReferrers(repository, subject, advice) {
      const url = registryUrl(repository, "referrers", subject, plainHttp);
      const first = requestTo(repository, url, { headers: { accept: indexTypes.oci } });
      let found: readonly Referrer[] | null = null;
      for await (const page of pagesOf(ask, first, list, advice)) found = [...(found ?? []), ...page];
      return found;
    },
  };
}

/** Reads an index of referrers, and leaves out entries that are no descriptors. null if it is no index. */
export function parseReferrers(bytes: Uint8Array): readonly Referrer[] | null {
  const json = parseJson(bytes);
  if (!isRecord(json) || !Array.isArray(json.manifests)) return null;
  return json.manifests.flatMap((entry): readonly Referrer[] => {
    const { digest, mediaType, size, artifactType, annotations } = fieldsOf(entry);
    if (!isDigest(digest) || !isMediaType(mediaType) || !isSize(size)) return [];
    return [{ digest, mediaType, size, artifactType: text(artifactType), annotations: textsOf(annotations) }];
  });
}
