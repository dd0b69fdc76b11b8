/** What an engine says of a push that failed → the problem that a person reads. */

import { ImgmatchError } from "../../errors.ts";
import type { Advice } from "./advice.ts";

/** `name`: what was pushed, from its registry on. */
export function pushFailure(name: string, words: string, advice: Advice): ImgmatchError {
  const registry = name.slice(0, name.indexOf("/"));
  const message = `pushing ${name} failed: ${words}`;
  const trust = advice.trust(words, registry);
  if (trust !== null) return new ImgmatchError({ code: "REGISTRY_UNREACHABLE", message, fix: trust });
  if (!isRefusal(words)) return new ImgmatchError({ code: "REGISTRY_FAILED", message });
  const fix = `log in with an account that may push: docker login ${registry}`;
  return new ImgmatchError({ code: "REGISTRY_AUTH", message, fix });
}

/** Whether the registry wants another login. A number alone says nothing: ports and digests have the same digits. */
export function isRefusal(words: string): boolean {
  return /unauthorized|denied|authentication required|no basic auth credentials|forbidden|\bstatus(?: code)?:? 40[13]\b/i.test(
    words,
  );
}
