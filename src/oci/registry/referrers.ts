/** Lists the manifests whose subject is an image, by the referrers API or by the fallback tag. */

import { fieldsOf, isRecord, parseJson, text, textsOf } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import { isDigest, isSize } from "../digest.ts";
import { indexTypes, isMediaType } from "../media-types.ts";
import type { Referrer, ReferrersReader } from "./client.ts";
import { registryUrl } from "./registry-endpoint.ts";
import { malformed, refused, tooLarge } from "./failure.ts";
import { nextPage } from "./tags.ts";
import { type Advising, type HttpResponse, type OperationOptions, pullRequest } from "./transport.ts";

export function referrersOperations({ send, plainHttp }: OperationOptions): ReferrersReader {
  return {
    async readReferrers(repository, subject, { advises = false } = {}) {
      const first = registryUrl(repository, "referrers", subject, plainHttp);
      const found: Referrer[] = [];
      // All pages together have the limit of the tag's manifest.
      let left: number = registryLimits.manifestBytes;
      for (let url: URL | null = first; url !== null; ) {
        const asked = pullRequest(repository, url, left, { accept: indexTypes.oci });
        // Only the first page: a list whose rest is refused is no answer at all.
        const request = advises && url === first ? { ...asked, advises: advising } : asked;
        const response = await send(request);
        if (url === first && (response.status === 404 || isEmptyOfNull(response))) return null;
        if (response.status !== 200) throw refused(request, response);
        const page = parseReferrers(response.body);
        if (page === null) throw malformed(request, "the answer is not an index");
        left -= response.body.byteLength;
        found.push(...page);
        if (found.length > registryLimits.referrers)
          throw tooLarge(request, `more than ${registryLimits.referrers} referrers`);
        url = nextPage(url, response.headers.link);
        if (url !== null && page.length === 0) throw malformed(request, "an empty page has a next one");
      }
      return found;
    },
  };
}

const advising: Advising = {
  on: "attached",
  wants: "an index",
  isAnswer: (response) =>
    response.status === 404 ||
    (response.status === 200 && (parseReferrers(response.body) !== null || isEmptyOfNull(response))),
};

/** Some registries without the API answer `"manifests": null`. */
function isEmptyOfNull({ status, body }: HttpResponse): boolean {
  return status === 200 && fieldsOf(parseJson(body)).manifests === null;
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
