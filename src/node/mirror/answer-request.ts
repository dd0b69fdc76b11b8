/** Answers requests: a fleet's tag with the manifest of this node's image, and everything else as the registry would. */

import { ImgmatchError } from "../../errors.ts";
import { exitCodes } from "../../problem-codes.ts";
import type { HostFacts } from "../../facts/facts.ts";
import type { FindTrust } from "../../lock/store/index-trust.ts";
import type { Lock, LockedManifest } from "../../lock/lock.ts";
import { vouchForTag } from "../../lock/store/vouch-for-image.ts";
import type { Digest } from "../../oci/digest.ts";
import { type ImageReference, withDigest, withTag } from "../../oci/reference.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/descriptor.ts";
import { Challenged, type ForwardingClient } from "../../oci/registry/forwarding-client.ts";
import { partsOf } from "../../oci/registry/platform-image.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { plainRegistry } from "../../oci/registry/registry-endpoint.ts";
import { remember } from "../../io/collections.ts";
import { noMatch } from "../../resolve/nearest.ts";
import { rankImages, type ResolveImageOptions } from "../../resolve/resolve-image.ts";
import { isOfHost } from "../../resolve/verdict.ts";
import type { AnswerBlob } from "./answer-blob.ts";
import { createRecent, type FleetSource } from "./fleet-source.ts";
import type { Probed } from "./host-prober.ts";
import { type Answer, type Caller, ociError } from "./mirror-answer.ts";
import type { MirrorRequest, NamedRequest } from "./parse-request.ts";

export interface MirrorOptions {
  readonly fleets: readonly FleetSource[];
  /** This host as it is now. Never rejects. */
  readonly probe: () => Promise<Probed>;
  readonly choose: ChooseImage;
  /** The registry, by the caller's login. */
  readonly readerFor: (authorization: string | null) => ForwardingClient;
  readonly answerBlob: AnswerBlob;
  /** The runtime asks only this mirror: a host that is broken or fits no image gets none, and other tags are passed on. */
  readonly failClosed: boolean;
  /** The required signers in the fleets' repositories; null for none. */
  readonly trust: FindTrust | null;
  /** The required signers of other repositories, by policy; null for none. */
  readonly policy: FindTrust | null;
  /** Clients get the registry's own challenge, and log in by it. */
  readonly passesLogins: boolean;
}

type ServedRequest = Extract<MirrorRequest, NamedRequest> | { readonly kind: "base" };

export type AnswerRequest = (request: ServedRequest, caller: Caller) => Promise<Answer>;

/** The cache of public manifests. Number and size bound its memory. */
const mostKept = 64;
const longestKept = 256 * 1024;

const mostInside = 4096;

export function createAnswers(options: MirrorOptions): AnswerRequest {
  const kept = createRecent<Manifest>(mostKept);
  const digests = new WeakMap<Lock, ReadonlySet<string | null>>();
  /** Digests inside images that are indexes: the client of such an image asks for them next. */
  const inside = createRecent<true>(mostInside);

  function hasImage(fleet: FleetSource, digest: Digest): boolean {
    if (inside.get(nameOf(withDigest(referenceTo(fleet), digest)))) return true;
    return fleet.locks().some((lock) => {
      const digestsOf = () => new Set(Object.values(lock.images).map((image) => image.digest));
      return remember(digests, lock, digestsOf).has(digest);
    });
  }

  /** null if the registry does not have it. Only manifests that need no login are cached. */
  async function read(reference: ImageReference, authorization: string | null): Promise<Manifest | null> {
    const key = nameOf(reference);
    const cached = reference.digest === null ? undefined : kept.get(key);
    if (cached !== undefined) return cached;
    const manifest = await options.readerFor(authorization).readManifest(reference);
    const isPublic = authorization === null && reference.digest !== null;
    if (manifest !== null && reference.digest !== null)
      for (const digest of partsOf(manifest)) inside.set(nameOf(withDigest(reference, digest)), true);
    if (manifest !== null && isPublic && manifest.size <= longestKept) kept.set(key, manifest);
    return manifest;
  }

  async function manifest(
    reference: ImageReference,
    caller: Caller,
    outcome: "image" | "content" | "passed-on",
    known: ManifestDescriptor | null = null,
  ): Promise<Answer> {
    const { authorization, wantsBody } = caller;
    const found = wantsBody
      ? await read(reference, authorization)
      : (known ?? (await options.readerFor(authorization).findManifest(reference)));
    if (found === null)
      return ociError(404, "MANIFEST_UNKNOWN", "not-served", "the registry does not have this manifest");
    return {
      status: 200,
      outcome,
      headers: { "content-type": found.mediaType, "docker-content-digest": found.digest },
      body: "bytes" in found ? (found as Manifest).bytes : "",
      length: found.size,
      digest: found.digest,
    };
  }

  /** Passes on a tag that is not a fleet's, for clients that ask nobody else. */
  async function passOn(tagged: ImageReference, trust: FindTrust | null, caller: Caller): Promise<Answer> {
    const registry = options.readerFor(caller.authorization);
    const vouched = trust === null ? tagged : await vouchForTag(tagged, { registry, trust });
    return manifest(vouched, caller, "passed-on");
  }

  async function nodeImage(fleet: FleetSource, lock: Lock, probed: Probed, caller: Caller): Promise<Answer> {
    const choice = probed.ok ? options.choose(lock, probed.facts) : { ...probed, broken: true };
    if (!choice.ok) return noImage(choice, options.failClosed);
    const { digest } = choice;
    const known = choice.manifest === null ? null : { ...choice.manifest, digest };
    return manifest(withDigest(referenceTo(fleet), digest), caller, "image", known);
  }

  async function answer(request: ServedRequest, caller: Caller): Promise<Answer> {
    if (request.kind === "base") return greeting(options, caller);
    const fleets = options.fleets.filter((each) => isAskedFor(each, request));
    const [fleet] = fleets;
    const registries = new Set(fleets.map(({ registry }) => registry));
    if (registries.size > 1)
      return notServed(`${request.repository} is in ${[...registries].join(" and ")}: ns= must say which`);
    if (fleet === undefined) {
      const registry = options.fleets.find((each) => isNamespace(request, each))?.registry;
      if (options.failClosed && request.kind === "tag" && registry !== undefined)
        return passOn({ ...request, registry, digest: null }, options.policy, caller);
      return notServed("this mirror has no fleet of this name");
    }
    if (request.kind === "blob") return options.answerBlob(referenceTo(fleet), request.digest, caller);
    if (request.kind === "manifest") {
      return fleets.some((each) => hasImage(each, request.digest))
        ? manifest(withDigest(referenceTo(fleet), request.digest), caller, "content")
        : notServed("this is no image of a fleet that was asked for");
    }
    // One after the other, host and registry may miss the deadline.
    const probing = options.probe();
    for (const each of fleets) {
      const lock = await each.lockOf(request.tag, caller.authorization);
      if (lock !== null) return nodeImage(each, lock, await probing, caller);
    }
    if (options.failClosed)
      return passOn(withTag(referenceTo(fleet), request.tag), options.trust ?? options.policy, caller);
    return notServed("this tag is no version of a fleet");
  }

  return (request, caller) => answer(request, caller).catch((error: unknown) => refusal(error));
}

/** Answers the first request of a client. If the registry is away, the client gets no challenge: a fleet that was read before needs none. */
async function greeting(
  { fleets, passesLogins, readerFor }: MirrorOptions,
  { authorization }: Caller,
): Promise<Answer> {
  const [registry, ...others] = new Set(fleets.map((fleet) => fleet.registry));
  if (passesLogins && registry !== undefined && others.length === 0) {
    try {
      await readerFor(authorization).knock(registry);
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
    }
  }
  const headers = { "content-type": "application/json", "docker-distribution-api-version": "registry/2.0" };
  return { status: 200, outcome: "health", headers, body: "{}" };
}

function nameOf({ registry, repository, digest }: ImageReference): string {
  return `${registry}/${repository}@${digest}`;
}

function referenceTo({ registry, repository }: FleetSource): ImageReference {
  return { registry, repository, tag: null, digest: null };
}

function isAskedFor(fleet: FleetSource, request: NamedRequest): boolean {
  return (
    fleet.repository === request.repository && (request.namespace === null || isNamespace(request, fleet))
  );
}

/** Compares registries, however the runtime spells them. */
function isNamespace({ namespace }: NamedRequest, { registry }: FleetSource): boolean {
  return namespace !== null && plainRegistry(namespace) === plainRegistry(registry);
}

function noImage({ broken, reason }: Extract<ImageOfHost, { ok: false }>, failClosed: boolean): Answer {
  const outcome = broken ? "host-broken" : "no-match";
  return failClosed
    ? ociError(403, "DENIED", outcome, reason)
    : ociError(404, "MANIFEST_UNKNOWN", outcome, reason);
}

function notServed(reason: string): Answer {
  return ociError(404, "MANIFEST_UNKNOWN", "not-served", reason);
}

/** 503 sends clients to the next host at once. They would wait after a 429. */
function refusal(error: unknown): Answer {
  if (error instanceof Challenged) {
    const headers = error.challenge === null ? {} : { "www-authenticate": error.challenge };
    return ociError(401, "UNAUTHORIZED", "login", "the registry asks for a login", headers);
  }
  if (!(error instanceof ImgmatchError)) throw error;
  const [{ code, message }] = error.problems;
  if (error instanceof RegistryError && error.status === 403)
    return ociError(403, "DENIED", "login", `${code}: ${message}`);
  if (error.exitCode === exitCodes.conflict)
    return ociError(403, "DENIED", "not-trusted", `${code}: ${message}`);
  if (code === "INDEX_NOT_FOUND") return notServed(message);
  return ociError(503, "UNAVAILABLE", "unavailable", `${code}: ${message}`);
}

/** The answer of `imgmatch resolve` for a fleet. */
type ImageOfHost =
  | {
      readonly ok: true;
      readonly cell: string;
      readonly digest: Digest;
      /** null if the lock does not have it: the registry does. */
      readonly manifest: LockedManifest | null;
    }
  | { readonly ok: false; readonly broken: boolean; readonly reason: string };

export type ChooseImage = (lock: Lock, host: HostFacts) => ImageOfHost;

/** Caches the last choice for each fleet: a host rarely changes, and a kubelet asks at every start of a container. */
export function createChooser(options: ResolveImageOptions): ChooseImage {
  const last = new WeakMap<Lock, { readonly facts: string; readonly choice: ImageOfHost }>();
  return (lock, host) => {
    const facts = JSON.stringify(host);
    const cached = last.get(lock);
    if (cached?.facts === facts) return cached.choice;
    const choice = choose(lock, host, options);
    last.set(lock, { facts, choice });
    return choice;
  };
}

function choose(lock: Lock, host: HostFacts, options: ResolveImageOptions): ImageOfHost {
  try {
    const ranking = rankImages(lock, host, options);
    const [match] = ranking.ranked;
    if (match === undefined) throw noMatch(lock, ranking, options);
    const { image } = match;
    if (image.digest === null) throw new Error(`${match.cell} is not built`);
    return { ok: true, cell: match.cell, digest: image.digest, manifest: image.manifest ?? null };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const [{ code, message, details = [], fix }] = error.problems;
    const parts = [`${code}: ${message}`, ...details.map((line) => line.trim())];
    const reason = `${parts.join("; ")}${fix === undefined ? "" : `; fix: ${fix}`}`;
    return { ok: false, broken: isOfHost(code), reason };
  }
}
