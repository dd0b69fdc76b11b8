/** The right to push: with each request to a repository that the run writes, and before there is anything to push. */

import { type ImageReference, parseImageReference } from "../reference.ts";
import { attempt } from "../../io/attempt.ts";
import type { PushAsker } from "./client.ts";
import { nextUploadUrl, uploadRequest } from "./copy-blob.ts";
import { registryLimits } from "../../io/limits.ts";
import { acceptedTypes } from "../media-types.ts";
import { refused, registryErrors } from "./failure.ts";
import { isTemporaryStatus, RegistryError } from "./registry-error.ts";
import { apiUrl, registryUrl } from "./registry-endpoint.ts";
import { type HttpRequest, type OperationOptions, pullRequest, type Send } from "./transport.ts";

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

export function rightOperations({ send, plainHttp }: OperationOptions): PushAsker {
  async function cancel(of: ImageReference, url: URL): Promise<void> {
    const scope = { repository: of.repository, actions: "delete,pull" } as const;
    await send({ ...uploadRequest(of, "DELETE", url, { once: true }), scope });
  }

  /** ECR cuts the connection of a push to a repository that is not there (aws/containers-roadmap#1970). A look is answered. */
  async function requireRepository(of: ImageReference): Promise<void> {
    const url = registryUrl(of, "manifests", "latest", plainHttp);
    const request = pullRequest(of, url, registryLimits.manifestBytes, { accept: acceptedTypes });
    const response = await send(request).catch(() => null);
    const isUnknown = registryErrors(response?.body ?? Buffer.of()).some(
      ({ code }) => code === "NAME_UNKNOWN",
    );
    if (response?.status === 404 && isUnknown) throw refused(request, response);
  }

  return {
    async requirePush(repository) {
      const url = registryUrl(repository, "blobs", "uploads/", plainHttp);
      const request = uploadRequest(repository, "POST", url, { body: new Uint8Array() });
      const response = await send(request).catch((error: unknown) => {
        if (error instanceof RegistryError && (error.temporary || error.code === "REGISTRY_UNREACHABLE"))
          return null;
        throw error;
      });
      if (response === null) return requireRepository(repository);
      if (isTemporaryStatus(response.status, [])) return;
      if (response.status !== 202) throw refused(request, response);
      const upload = attempt(() => nextUploadUrl(request, response), null);
      // Best effort: registries remove uploads that nobody ends.
      if (upload !== null) await cancel(repository, upload).catch(() => {});
    },
  };
}
