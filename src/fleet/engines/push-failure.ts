/** Turns an engine's words about a failed push into a problem, and pushes again if the failure may pass. */

import { faultOf } from "../../errors.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { tryAgain, type TryOptions } from "../../oci/registry/try-again.ts";
import type { BuildWatch } from "../../oci/engine/built-image.ts";
import type { Advice } from "./advice.ts";

// The words of Go's HTTP client, of distribution's and of containerd's errors, in which every engine tells what happened.
// Docker 29 leaves the status out of "error from registry": what is no refusal there may pass. A manifest's 400 may be
// about a blob that somebody else is just uploading: see registry/registry-error.ts.
const temporary =
  /HTTP status:? (408|429|5\d\d)|status code (408|429|5\d\d)|unexpected status from \w+ request to \S+: (408|429|5\d\d)|unexpected status from PUT request to \S+\/manifests\/\S+: 400|blob unknown|error from registry: |toomanyrequests|too many requests|connection (reset|refused)|broken pipe|\bEOF\b|i\/o timeout|TLS handshake timeout/i;

/** `name`: what was pushed, from its registry on. */
export function pushFailure(name: string, said: string, advice: Advice): RegistryError {
  const registry = name.slice(0, name.indexOf("/"));
  const [first, ...more] = said.trim().split("\n");
  const what = {
    message: `pushing ${name} failed: ${first}`,
    ...(more.length > 0 && { details: more.slice(0, 9).map((line) => `  ${line}`) }),
  };
  const trust = advice.trust(said, registry);
  if (trust !== null) return new RegistryError({ code: "REGISTRY_UNREACHABLE", ...what, fix: trust });
  if (!isRefusal(said)) {
    return new RegistryError({ code: "REGISTRY_FAILED", ...what }, { temporary: temporary.test(said) });
  }
  const fix = `log in with an account that may push: ${advice.login(registry)}`;
  return new RegistryError({ code: "REGISTRY_AUTH", ...what, fix });
}

/** The registry wants another login. A number alone says nothing: ports and digests have the same digits. */
function isRefusal(said: string): boolean {
  return /unauthorized|denied|authentication required|no basic auth credentials|forbidden|\bstatus(?: code)?:? 40[13]\b/i.test(
    said,
  );
}

/**
 * Engines give up at the first answer of a registry that is no success. Calls `push` until it does not fail with what may pass: only the
 * layers that the registry does not have yet travel again. A login that is refused stays refused. Nobody else may write the name that is
 * pushed.
 */
export async function retryPush<T>(
  push: () => Promise<T>,
  { signal, onLog }: BuildWatch,
  options: Pick<TryOptions, "retries" | "sleep" | "random"> = {},
): Promise<T> {
  const { retries = 3 } = options;
  return tryAgain(push, {
    ...options,
    retries,
    signal,
    onRetry: (error, attempt, waitMs) =>
      onLog(`${faultOf(error)}; try ${attempt + 1} of ${retries + 1} in ${(waitMs / 1000).toFixed(1)} s`),
  });
}
