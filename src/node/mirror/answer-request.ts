/** Request → answer: the tag of a fleet is the manifest of this node's image, and everything else is the registry's affair. */

import { exitCodes, ImgmatchError } from "../../errors.ts";
import type { HostFacts } from "../../host/facts.ts";
import type { FindTrust } from "../../lock/index-trust.ts";
import type { Lock, LockedManifest } from "../../lock/lock.ts";
import { vouchForTag } from "../../lock/vouch-for-image.ts";
import type { Digest } from "../../oci/digest.ts";
import { type ImageReference, withDigest, withTag } from "../../oci/reference.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/registry/client.ts";
import { Challenged, type ForwardingClient } from "../../oci/registry/forwarding-client.ts";
import { partsOf } from "../../oci/registry/platform-image.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { plainRegistry } from "../../oci/registry/registry-endpoint.ts";
import { remember } from "../../io/collections.ts";
import { noMatch } from "../../resolve/nearest.ts";
import { resolveImage, type ResolveImageOptions } from "../../resolve/resolve-image.ts";
import { isOfHost } from "../../resolve/verdict.ts";
import type { AnswerBlob } from "./answer-blob.ts";
import { createRecent, type FleetSource } from "./fleet-source.ts";
import type { Probed } from "./host-prober.ts";
import { type Answer, type Caller, ociError } from "./mirror-answer.ts";
import type { MirrorRequest, NamedRequest } from "./parse-request.ts";

export interface MirrorOptions {
  readonly fleets: readonly FleetSource[];
  /** This host as it is now. Rejects never. */
  readonly probe: () => Promise<Probed>;
  readonly choose: ChooseImage;
  /** The registry as this caller may read it. */
  readonly readerFor: (authorization: string | null) => ForwardingClient;
  readonly answerBlob: AnswerBlob;
  /** A host that no image fits, or that is broken, gets no image, and other tags are passed on: the mirror is the only one asked. */
  readonly failClosed: boolean;
  /**
   * The signers that have to vouch for other tags of the fleets' repositories, and for those of other repositories, if they are passed on.
   */
  readonly trust: FindTrust | null;
  readonly policy: FindTrust | null;
  /** Callers log in here as they would there: the registry's own challenge greets them. */
  readonly passesLogins: boolean;
}

type Question = Extract<MirrorRequest, NamedRequest> | { readonly kind: "base" };

export type AnswerRequest = (request: Question, caller: Caller) => Promise<Answer>;

/** Manifests that anybody may read, by digest; their sizes are bounded, so their number bounds the memory. */
const mostKept = 64;

const longestKept = 256 * 1024;

const mostInside = 4096;

export function createAnswers(options: MirrorOptions): AnswerRequest {
  const kept = createRecent<Manifest>(mostKept);
  const digests = new WeakMap<Lock, ReadonlySet<string | null>>();
  /** Digests inside images that are indexes: a client that got such an image asks for those by digest. */
  const inside = createRecent<true>(mostInside);

  function hasImage(fleet: FleetSource, digest: Digest): boolean {
    if (inside.get(nameOf(withDigest(referenceTo(fleet), digest)))) return true;
    return fleet.locks().some((lock) => {
      const digestsOf = () => new Set(Object.values(lock.images).map((image) => image.digest));
      return remember(digests, lock, digestsOf).has(digest);
    });
  }

  /** null where the registry does not have it. A manifest that needed a login is not kept for others. */
  async function read(reference: ImageReference, authorization: string | null): Promise<Manifest | null> {
    const key = nameOf(reference);
    const before = reference.digest === null ? undefined : kept.get(key);
    if (before !== undefined) return before;
    const manifest = await options.readerFor(authorization).readManifest(reference);
    const isPublic = authorization === null && reference.digest !== null;
    if (manifest !== null && reference.digest !== null)
      for (const digest of partsOf(manifest)) inside.set(nameOf(withDigest(reference, digest)), true);
    if (manifest !== null && isPublic && manifest.size <= longestKept) kept.set(key, manifest);
    return manifest;
  }

  async function manifest(
    reference: ImageReference,
    asked: Caller,
    outcome: "image" | "content" | "passed-on",
    known: ManifestDescriptor | null = null,
  ): Promise<Answer> {
    const { authorization, wantsBody } = asked;
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

  /** Another tag than a fleet's: who is refused here asks nobody else. */
  async function passOn(tagged: ImageReference, trust: FindTrust | null, asked: Caller): Promise<Answer> {
    const registry = options.readerFor(asked.authorization);
    const vouched = trust === null ? tagged : await vouchForTag(tagged, { registry, trust });
    return manifest(vouched, asked, "passed-on");
  }

  async function ownImage(fleet: FleetSource, lock: Lock, probed: Probed, asked: Caller): Promise<Answer> {
    const choice = probed.ok ? options.choose(lock, probed.facts) : { ...probed, broken: true };
    if (!choice.ok) return noImage(choice, options.failClosed);
    const { digest } = choice;
    const known = choice.manifest === null ? null : { ...choice.manifest, digest };
    return manifest(withDigest(referenceTo(fleet), digest), asked, "image", known);
  }

  async function answer(request: Question, asked: Caller): Promise<Answer> {
    if (request.kind === "base") return greeting(options, asked);
    const fleets = options.fleets.filter((each) => isAskedFor(each, request));
    const [fleet] = fleets;
    const registries = new Set(fleets.map(({ registry }) => registry));
    if (registries.size > 1)
      return notServed(`${request.repository} is in ${[...registries].join(" and ")}: ns= must say which`);
    if (fleet === undefined) {
      const registry = options.fleets.find((each) => isNamespace(request, each))?.registry;
      if (options.failClosed && request.kind === "tag" && registry !== undefined)
        return passOn({ ...request, registry, digest: null }, options.policy, asked);
      return notServed("this mirror has no fleet of this name");
    }
    if (request.kind === "blob") return options.answerBlob(referenceTo(fleet), request.digest, asked);
    if (request.kind === "manifest") {
      return fleets.some((each) => hasImage(each, request.digest))
        ? manifest(withDigest(referenceTo(fleet), request.digest), asked, "content")
        : notServed("this is no image of a fleet that was asked for");
    }
    // Host and registry are asked at the same time: together they may take longer than the answer has.
    const probing = options.probe();
    for (const each of fleets) {
      const lock = await each.lockOf(request.tag, asked.authorization);
      if (lock !== null) return ownImage(each, lock, await probing, asked);
    }
    if (options.failClosed)
      return passOn(withTag(referenceTo(fleet), request.tag), options.trust ?? options.policy, asked);
    return notServed("this tag is no version of a fleet");
  }

  return (request, caller) => answer(request, caller).catch((error: unknown) => refusal(error));
}

/**
 * Answers the first request of a client. A registry that is away cannot be asked for a login, and an index that was read before needs none.
 */
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

/** Without the tag. */
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

/** Whether the runtime means this registry, however it spells it. */
function isNamespace({ namespace }: NamedRequest, { registry }: FleetSource): boolean {
  return namespace !== null && plainRegistry(namespace) === plainRegistry(registry);
}

function noImage({ broken, reason }: Extract<Choice, { ok: false }>, failClosed: boolean): Answer {
  const outcome = broken ? "host-broken" : "no-match";
  return failClosed
    ? ociError(403, "DENIED", outcome, reason)
    : ociError(404, "MANIFEST_UNKNOWN", outcome, reason);
}

function notServed(reason: string): Answer {
  return ociError(404, "MANIFEST_UNKNOWN", "not-served", reason);
}

/** Never 429, which clients wait for: 503 sends them to the next host at once. */
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

/** Which image of a fleet this node gets, or why none: what `imgmatch resolve` would say. */
type Choice =
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
export function createChooser(options: ResolveImageOptions): ChooseImage {
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

function choose(lock: Lock, host: HostFacts, options: ResolveImageOptions): Choice {
  try {
    const { match, rejected } = resolveImage(lock, host, options);
    if (match === null) throw noMatch(lock, rejected, host, options);
    const image = lock.images[match.cell];
    // An image that resolves has been pushed.
    if (image === undefined || image.digest === null) throw new Error(`${match.cell} is not built`);
    return { ok: true, cell: match.cell, digest: image.digest, manifest: image.manifest ?? null };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const [{ code, message, details = [], fix }] = error.problems;
    const parts = [`${code}: ${message}`, ...details.map((line) => line.trim())];
    const reason = `${parts.join("; ")}${fix === undefined ? "" : `; fix: ${fix}`}`;
    return { ok: false, broken: isOfHost(code), reason };
  }
}
