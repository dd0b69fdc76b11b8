/** Reads and writes image references, by the grammar of `distribution/reference`. */

import { ImgmatchError } from "../errors.ts";
import { type Digest, isDigest } from "./digest.ts";

export interface ImageReference {
  /** Host with optional port; `docker.io` if the text names none. */
  readonly registry: string;
  /** Path inside the registry, `library/debian` for `debian`. */
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: Digest | null;
}

const dockerHub = "docker.io";
// The name that Docker Hub had before; old configurations still carry it.
const legacyDockerHub = "index.docker.io";
const officialPrefix = "library/";
const longestRepository = 255;

const hostComponent = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const hostPattern = new RegExp(
  `^(?:${hostComponent}(?:\\.${hostComponent})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`,
);
const plainName = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/i;
const pathComponent = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const repositoryPattern = new RegExp(`^${pathComponent}(?:/${pathComponent})*$`);
const tagPattern = /^\w[\w.-]{0,127}$/;
// RFC 1035, 2.3.4.
const longestHost = 253;
const longestShown = 300;
const longestLabel = 63;
const bareIdentifierPattern = /^[a-f0-9]{64}$/;

/**
 * Reads an image reference as `docker pull` does: `debian` is `docker.io/library/debian`. A missing tag stays null.
 * Throws `REFERENCE_INVALID`. Grammar: github.com/distribution/reference, `regexp.go` and `normalize.go`; digests are sha256 only.
 *
 * @example
 * parseImageReference("localhost:5000/team/app:1.0");
 * // { registry: "localhost:5000", repository: "team/app", tag: "1.0", digest: null }
 */
export function parseImageReference(text: string): ImageReference {
  if (text === "") fail(text, "it is empty");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) fail(text, "it begins like a URL", "leave out the scheme");
  const at = text.indexOf("@");
  const nameAndTag = at < 0 ? text : text.slice(0, at);
  const digest = at < 0 ? null : checkDigest(text, text.slice(at + 1));
  // Docker takes 64 hexadecimal digits for an image id.
  if (bareIdentifierPattern.test(nameAndTag)) fail(text, "64 hexadecimal digits are an image id, not a name");

  const { registry, rest } = splitRegistry(nameAndTag);
  const colon = rest.indexOf(":");
  const repository = colon < 0 ? rest : rest.slice(0, colon);
  checkHost(text, registry);
  checkRepository(text, repository);
  const tag = colon < 0 ? null : checkTag(text, rest.slice(colon + 1));
  return { registry, repository, tag, digest };
}

/** True if a text names a repository without tag and digest. */
export function isRepository(text: string): boolean {
  try {
    const { tag, digest } = parseImageReference(text);
    return tag === null && digest === null;
  } catch {
    return false;
  }
}

/** True if a text can be a repository in a registry's addresses, without the registry. */
export function isRepositoryPath(text: string): boolean {
  return repositoryPattern.test(text) && text.length <= longestRepository;
}

export function isTag(text: string): boolean {
  return tagPattern.test(text);
}

/**
 * The shortest text that {@link parseImageReference} reads back as the same reference, as Docker prints it: `debian:12`,
 * `registry.example.com/app@sha256:…`.
 */
export function formatImageReference(reference: ImageReference): string {
  const tag = reference.tag === null ? "" : `:${reference.tag}`;
  const digest = reference.digest === null ? "" : `@${reference.digest}`;
  return `${formatRepository(reference)}${tag}${digest}`;
}

/** Adds the tag `latest` to a reference without tag and digest, as `docker pull` does. */
export function withDefaultTag(reference: ImageReference): ImageReference {
  return reference.tag === null && reference.digest === null ? { ...reference, tag: "latest" } : reference;
}

/** True if an engine takes a text for an image's id, whole or shortened. */
export function isImageId(text: string): boolean {
  return /^(sha256:)?[0-9a-f]{12,64}$/.test(text);
}

/** The same image under another tag, without digest. Throws `REFERENCE_INVALID`. */
export function withTag(reference: ImageReference, tag: string): ImageReference {
  return { ...reference, tag: checkTag(`${formatRepository(reference)}:${tag}`, tag), digest: null };
}

/** The same reference with a digest. The tag stays. Throws `REFERENCE_INVALID`. */
export function withDigest(reference: ImageReference, digest: string): ImageReference {
  return { ...reference, digest: checkDigest(`${formatRepository(reference)}@${digest}`, digest) };
}

function splitRegistry(name: string): { registry: string; rest: string } {
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  const remainder = name.slice(slash + 1);
  if (first === dockerHub || first === legacyDockerHub) {
    return { registry: dockerHub, rest: remainder.includes("/") ? remainder : officialPrefix + remainder };
  }
  if (slash < 0) return { registry: dockerHub, rest: officialPrefix + name };
  return isRegistry(first) ? { registry: first, rest: remainder } : { registry: dockerHub, rest: name };
}

/** True if the first part of a name is a host. Upper case means a host too, as no repository has it. */
function isRegistry(first: string): boolean {
  return first === "localhost" || /[.:]/.test(first) || first.toLowerCase() !== first;
}

/** The repository, as {@link formatImageReference} writes it. */
export function formatRepository({ registry, repository }: ImageReference): string {
  if (registry !== dockerHub) return `${registry}/${repository}`;
  const official = repository.startsWith(officialPrefix) ? repository.slice(officialPrefix.length) : "";
  const familiar = official === "" || official.includes("/") ? repository : official;
  const slash = familiar.indexOf("/");
  const first = slash < 0 ? "" : familiar.slice(0, slash);
  // Without docker.io such a name would mean another registry, or an image id. Docker drops it all the same.
  const ambiguous = isRegistry(first) || bareIdentifierPattern.test(familiar);
  return ambiguous ? `${dockerHub}/${familiar}` : familiar;
}

/**
 * The grammar accepts impossible hosts: `256.1.1.1`, a port of 99999. So the URL standard, too, must read the text as a host, and as the same
 * host: it reads `1.2.3` as 1.2.0.3. Older releases of Node read no host in wrong Punycode such as `xn--a`.
 */
function checkHost(text: string, registry: string): void {
  if (!hostPattern.test(registry)) fail(text, `${quote(registry)} is not a registry host`);
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(registry) ?? [];
  if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535))
    fail(text, `${port} is not a port`, "a port is a number from 1 to 65535");
  if (host.length > longestHost || host.split(".").some((label) => label.length > longestLabel)) {
    const limit = `${longestHost} characters in all and ${longestLabel} between dots`;
    fail(text, `its registry host has ${host.length} characters`, `a host has at most ${limit}`);
  }
  // A name in plain letters needs no check: only a number as last part makes an IPv4 address (URL standard, host parsing).
  if (plainName.test(host) && !/xn--/i.test(host)) return;
  const address = `https://${host}/`;
  const read = URL.canParse(address) ? new URL(address).hostname : null;
  // One IPv6 address has many spellings.
  if (read === null || (!host.startsWith("[") && read !== host.toLowerCase()))
    fail(text, `${quote(host)} is not a registry host`, "use a name, or an IP address written in full");
}

function checkRepository(text: string, repository: string): void {
  const shown = quote(text.includes(repository) ? repository : repository.slice(officialPrefix.length));
  if (repository.toLowerCase() !== repository) {
    fail(text, `the repository ${shown} has upper-case letters`, "write it in lower case");
  }
  if (!repositoryPattern.test(repository)) {
    fail(
      text,
      `${shown} is not a repository`,
      "use lower-case letters and digits, joined by one of . _ __ - and divided by /",
    );
  }
  if (repository.length > longestRepository) {
    fail(
      text,
      `the repository has ${repository.length} characters, at most ${longestRepository} are allowed`,
    );
  }
}

function checkTag(text: string, tag: string): string {
  if (tagPattern.test(tag)) return tag;
  const length = tag.length > 128 ? ` of ${tag.length} characters` : "";
  return fail(
    text,
    `${quote(tag)} is not a tag${length}`,
    "a tag has 1 to 128 of the characters A-Z a-z 0-9 _ . - and does not begin with . or -",
  );
}

function checkDigest(text: string, digest: string): Digest {
  if (isDigest(digest)) return digest;
  return fail(
    text,
    `${quote(digest)} is not a digest`,
    "a digest is sha256: and 64 lower-case hexadecimal digits",
  );
}

function quote(text: string): string {
  return JSON.stringify(text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`);
}

function fail(text: string, what: string, fix = "write it as registry/repository:tag"): never {
  throw new ImgmatchError({
    code: "REFERENCE_INVALID",
    message: `${quote(text)} is not an image reference: ${what}`,
    fix,
  });
}
