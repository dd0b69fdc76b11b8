/** Asks a registry. A request decides or advises, and this file alone says what a refusal means for each. */

import type { AdviceOptions } from "./client.ts";
import { malformed, refused } from "./failure.ts";
import { RegistryError } from "./registry-error.ts";
import type { HttpRequest, HttpResponse, Send } from "./transport.ts";

/** What goes on without an answer, as users are told. */
const goesOn = {
  tags: "does not list tags: imgmatch asks for each tag, and publishers wait longer for each other",
  mount: "mounts no blobs: they are sent",
  attached: "does not tell all that is attached to images: signatures are looked for in other places",
} as const;

export interface ExpectedAnswer<T> {
  /** Words for what `read` takes. */
  readonly wants: string;
  /** The value of an answer; undefined for a response that is none. */
  readonly read: (response: HttpResponse) => T | undefined;
  /** What may be done without. */
  readonly on?: keyof typeof goesOn;
}

/** Throws a {@link RegistryError} for anything but an answer. Null is a refusal that `onRefusal` has got. */
export interface Ask {
  <T>(request: HttpRequest, expected: ExpectedAnswer<T>): Promise<T>;
  <T>(request: HttpRequest, expected: ExpectedAnswer<T>, advice: AdviceOptions): Promise<T | null>;
}

export interface OperationOptions {
  readonly ask: Ask;
  readonly plainHttp: (host: string) => boolean;
}

/**
 * Sends, and reads the answer. A registry that is in trouble has not refused. A 401 is a refusal only if the registry has answered a deciding
 * request of the same login and repository: else the login is wrong.
 *
 * @param tell gets a line for each refusal that the work goes on without
 */
export function asking(send: Send, tell: (line: string) => void = () => {}): Ask {
  const answered = new Set<string>();
  return async <T>(
    request: HttpRequest,
    { wants, read, on }: ExpectedAnswer<T>,
    { onRefusal }: AdviceOptions = {},
  ) => {
    const { url, scope } = request;
    const place = `${url.origin} ${scope?.repository}`;
    const refuse = (error: RegistryError, why: number | string, isRefusal: boolean): null => {
      if (onRefusal === undefined || !isRefusal) throw error;
      if (on !== undefined) tell(`${url.host} ${goesOn[on]} (${why})`);
      onRefusal(error);
      return null;
    };
    let response: HttpResponse;
    try {
      response = await send(request);
    } catch (error) {
      if (!(error instanceof RegistryError) || error.code !== "REGISTRY_AUTH") throw error;
      return refuse(error, 401, answered.has(place)) as T;
    }
    const { status } = response;
    if (onRefusal === undefined && (status < 400 || status === 404)) answered.add(place);
    const value = read(response);
    if (value !== undefined) return value;
    if (status < 300)
      return refuse(malformed(request, `the answer is not ${wants}`), `not ${wants}`, true) as T;
    const error = refused(request, response);
    const isTrouble = error.temporary || (status >= 500 && status !== 501);
    return refuse(error, status, status === 401 ? answered.has(place) : !isTrouble) as T;
  };
}

/** For what can be done without in silence, or with no more than the line that `tell` gets. */
export const goOn: AdviceOptions = { onRefusal: () => {} };

/** Takes these statuses, whatever comes with them. */
export function taking(
  wants: string,
  statuses: readonly number[],
  on?: keyof typeof goesOn,
): ExpectedAnswer<HttpResponse> {
  const read = (response: HttpResponse) => (statuses.includes(response.status) ? response : undefined);
  return { wants, read, ...(on && { on }) };
}
