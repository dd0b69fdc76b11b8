/** Which image of a fleet this node gets, or why none: what `imgmatch resolve` would say. */

import { ImgmatchError } from "../../errors.ts";
import type { HostFacts } from "../../host/facts.ts";
import type { Lock, LockedManifest } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { nearestFirst } from "../../resolve/nearest.ts";
import { noMatch } from "../../resolve/no-match.ts";
import { type ResolveOptions, resolveImage } from "../../resolve/resolve-image.ts";

export type Choice =
  | {
      readonly ok: true;
      readonly cell: string;
      readonly digest: Digest;
      /** null where the lock does not say: then the registry is asked. */
      readonly manifest: LockedManifest | null;
    }
  | { readonly ok: false; readonly broken: boolean; readonly reason: string };

export type ChooseImage = (lock: Lock, host: HostFacts) => Choice;

/** Remembers the last answer for each fleet: a host changes rarely, and a kubelet asks at every start of a container. */
export function createChooser(options: ResolveOptions): ChooseImage {
  const last = new WeakMap<Lock, { readonly facts: string; readonly choice: Choice }>();
  return (lock, host) => {
    const facts = JSON.stringify(host);
    const before = last.get(lock);
    if (before?.facts === facts) return before.choice;
    const choice = choose(lock, host, options);
    last.set(lock, { facts, choice });
    return choice;
  };
}

function choose(lock: Lock, host: HostFacts, options: ResolveOptions): Choice {
  try {
    const { match, rejected } = resolveImage(lock, host, options);
    if (match === null) throw noMatch(nearestFirst(lock, rejected, host, options));
    const image = lock.images[match.cell];
    // What resolves has been pushed.
    if (image === undefined || image.digest === null) throw new Error(`${match.cell} is not built`);
    return { ok: true, cell: match.cell, digest: image.digest, manifest: image.manifest ?? null };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const [{ code, message, details = [], fix }] = error.problems;
    const parts = [`${code}: ${message}`, ...details.map((line) => line.trim())];
    const reason = `${parts.join("; ")}${fix === undefined ? "" : `; fix: ${fix}`}`;
    return { ok: false, broken: code === "HOST_BROKEN", reason };
  }
}
