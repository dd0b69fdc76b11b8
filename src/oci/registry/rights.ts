/** The right to push: with each request to a repository that the run writes, and before there is anything to push. */

import { type ImageReference, parseImageReference } from "../reference.ts";
import { attempt } from "../../io/attempt.ts";
import type { PushAsker } from "./client.ts";
import { type OperationOptions, taking } from "./ask.ts";
import { nextUploadUrl, uploadStart } from "./copy-blob.ts";
import { acceptedTypes } from "../media-types.ts";
import { RegistryError } from "./registry-error.ts";
import { apiUrl, registryUrl } from "./registry-endpoint.ts";
import { type HttpRequest, requestTo, type Send } from "./transport.ts";

/**
 * Asks for the right to push with each request to a repository that the run writes. A registry may show only to those who may push that a
 * repository is not there: to others it answers 401 (Docker Hub, Quay). Nobody else asks for that right: Quay makes the repository by it.
 */
export function withRightsOfRun(send: Send, isWritten: (request: HttpRequest) => boolean): Send {
  return (request) => {
    const { scope } = request;
    const isRaised = scope?.actions === "pull" && isWritten(request);
    return send(isRaised ? { ...request, scope: { ...scope, actions: "pull,push" } } : request);
  };
}

/**
 * Tells whether a request is to a repository that the run writes.
 *
 * @param writes repositories, as `formatRepository` writes them
 */
export function writtenBy(
  writes: readonly string[],
  plainHttp: (host: string) => boolean,
): (request: HttpRequest) => boolean {
  const keyOf = ({ origin }: URL, repository: string) => `${origin} ${repository}`;
  const written = new Set(
    writes
      .map(parseImageReference)
      .map(({ registry, repository }) => keyOf(apiUrl(registry, plainHttp), repository)),
  );
  return ({ url, scope }) => scope !== undefined && written.has(keyOf(url, scope.repository));
}

export function rightOperations({ ask, plainHttp }: OperationOptions): PushAsker {
  /** ECR cuts the connection of a push to a repository that is not there (aws/containers-roadmap#1970). A look is answered. */
  async function requireRepository(of: ImageReference): Promise<void> {
    const url = registryUrl(of, "manifests", "latest", plainHttp);
    const request = requestTo(of, url, { headers: { accept: acceptedTypes } });
    const failure = await ask(request, taking("a manifest", [200])).catch((error: unknown) => error);
    if (!(failure instanceof RegistryError) || failure.status !== 404) return;
    if (failure.errors.some(({ code }) => code === "NAME_UNKNOWN")) throw failure;
  }

  return {
    async requirePush(repository) {
      const request = uploadStart(repository, plainHttp);
      const begun = await ask(request, taking("an upload", [202])).catch(async (error: unknown) => {
        if (!(error instanceof RegistryError)) throw error;
        if (!error.temporary && error.code !== "REGISTRY_UNREACHABLE") throw error;
        if (error.status === null) await requireRepository(repository);
      });
      const url = begun && attempt(() => nextUploadUrl(request, begun), null);
      if (!url) return;
      const cancel = requestTo(repository, url, { method: "DELETE", actions: "delete,pull", once: true });
      // Best effort: registries remove uploads that nobody ends.
      await ask(cancel, taking("an end", [204])).catch(() => {});
    },
  };
}
