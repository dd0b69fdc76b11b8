/** Requests that only advise: where the registry refuses one, the work goes on without its answer. */

import { malformed, refused, registryErrors } from "./failure.ts";
import { isTemporaryStatus, RegistryError } from "./registry-error.ts";
import type { Advising, HttpResponse, Send } from "./transport.ts";

/** What goes on without an answer, as users are told. */
const goesOn = {
  tags: "does not list tags: tags are asked for one by one, and publishers wait longer for each other",
  mount: "mounts no blobs: they are sent",
  attached: "does not tell all that is attached to images: signatures are looked for in other places",
} satisfies Record<Advising["on"], string>;

/**
 * Throws a {@link RegistryError} that is a `refusal` where the registry refuses to advise, and tells it. A registry that is in trouble has
 * not refused. Nor has 401, unless the registry has answered a deciding request of the same login and repository: else the login is wrong.
 */
export function withAdvice(send: Send, tell: (line: string) => void): Send {
  const answered = new Set<string>();
  return async (request) => {
    const { advises, url, scope } = request;
    const place = `${url.origin} ${scope?.repository}`;
    const refuse = (error: RegistryError, why: number | string): RegistryError => {
      if (advises !== undefined) tell(`${url.host} ${goesOn[advises.on]} (${why})`);
      return Object.assign(error, { refusal: true });
    };
    let response: HttpResponse;
    try {
      response = await send(request);
    } catch (error) {
      const isLogin = error instanceof RegistryError && error.code === "REGISTRY_AUTH";
      throw isLogin && advises !== undefined && answered.has(place) ? refuse(error, 401) : error;
    }
    const { status } = response;
    if (advises === undefined) {
      if (status < 400 || status === 404) answered.add(place);
      return response;
    }
    if (advises.isAnswer(response) || !isRefusal(response, answered.has(place))) return response;
    const error =
      status < 300 ? malformed(request, `the answer is not ${advises.wants}`) : refused(request, response);
    throw refuse(error, status < 300 ? `not ${advises.wants}` : status);
  };
}

function isRefusal({ status, body }: HttpResponse, isKnown: boolean): boolean {
  if (status === 401) return isKnown;
  return (status < 500 || status === 501) && !isTemporaryStatus(status, registryErrors(body));
}

/** Answers `without` where the registry has refused to advise. */
export async function unlessRefused<T, Without>(
  asked: Promise<T>,
  without: (why: RegistryError) => Without,
): Promise<T | Without> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RegistryError && error.refusal) return without(error);
    throw error;
  }
}
