/** The right that a request asks for: the one that the request needs, or the right to push where the run writes the repository. */

import { parseImageReference } from "../reference.ts";
import { apiUrl } from "./registry-endpoint.ts";
import type { Send } from "./transport.ts";

/**
 * Asks for the right to push with each request to a repository that the run writes. A registry may show only to those who may push that a
 * repository is not there: to others it answers 401 (Docker Hub, Quay). Nobody else asks for that right: Quay makes the repository by it.
 *
 * @param writes repositories, as `formatRepository` writes them
 */
export function withRightsOfRun(
  send: Send,
  writes: readonly string[],
  plainHttp: (host: string) => boolean,
): Send {
  const keyOf = ({ origin }: URL, repository: string) => `${origin} ${repository}`;
  const written = new Set(
    writes
      .map(parseImageReference)
      .map(({ registry, repository }) => keyOf(apiUrl(registry, plainHttp), repository)),
  );
  return (request) => {
    const { url, scope } = request;
    const isRaised = scope?.actions === "pull" && written.has(keyOf(url, scope.repository));
    return send(isRaised ? { ...request, scope: { ...scope, actions: "pull,push" } } : request);
  };
}
