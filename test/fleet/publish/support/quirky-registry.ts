/** A registry in memory that speaks HTTP as real registries do: one quirk each, as its users reported it. */

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Digest } from "../../../../src/oci/digest.ts";
import { digestOf } from "../../../../src/oci/digest-of.ts";
import { emptyType, indexTypes } from "../../../../src/oci/media-types.ts";
import { basicHeader } from "../../../../src/oci/registry/credential.ts";

/** For those registries that ask for one. */
export const login = { kind: "password", username: "builder", password: "open-sesame" } as const;
/** For one that stores a token of its own in place of a password. */
export const identity = { username: "00000000-0000-0000-0000-000000000000", token: "refresh-me" } as const;

export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly repository: string;
  readonly kind: string;
  /** Tag, digest, or the rest of an upload's path. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** `cut`: the connection breaks. */
export type Reply =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | "cut";

/** Answers in the registry's place, or lets it `serve`. */
export type Quirk = (asked: Asked, serve: (other?: Partial<Asked>) => Reply) => Reply | Promise<Reply>;

interface Stored {
  readonly bytes: Buffer;
  readonly mediaType: string;
}

/** The registry sorts tags, follows `n` and `last`, removes tags, and has blobs where they were sent to or mounted. */
export function createStore({ answersReferrers = true } = {}) {
  const tags = new Map<string, Digest>();
  const manifests = new Map<string, Stored>();
  const blobs = new Map<string, Buffer>();
  const places = new Set<string>();
  const uploads = new Map<string, Buffer[]>();
  let last = 0;
  const error = (status: number, code: string): Reply => ({
    status,
    body: { errors: [{ code, message: code }] },
  });

  function serveManifest({ method, repository, name, headers, body }: Asked): Reply {
    const key = `${repository}:${name}`;
    const isDigest = name.startsWith("sha256:");
    if (method === "PUT") {
      const digest = digestOf(body);
      manifests.set(digest, { bytes: body, mediaType: headers["content-type"] ?? "" });
      if (!isDigest) tags.set(key, digest);
      return { status: 201, headers: { "docker-content-digest": digest } };
    }
    if (method === "DELETE")
      return isDigest
        ? error(405, "UNSUPPORTED")
        : tags.delete(key)
          ? { status: 202 }
          : error(404, "MANIFEST_UNKNOWN");
    const digest = isDigest ? name : (tags.get(key) ?? "");
    const found = manifests.get(digest);
    if (found === undefined) return error(404, "MANIFEST_UNKNOWN");
    return {
      status: 200,
      headers: { "content-type": found.mediaType, "docker-content-digest": digest },
      body: found.bytes,
    };
  }

  function serveBlob({ method, url, repository, name, body }: Asked): Reply {
    const location = (id: string) => ({ location: `/v2/${repository}/blobs/uploads/${id}` });
    if (!name.startsWith("uploads/")) {
      const found = places.has(`${repository} ${name}`) ? blobs.get(name) : undefined;
      return found === undefined ? error(404, "BLOB_UNKNOWN") : { status: 200, body: found };
    }
    if (method === "POST") {
      const [mounted, from] = ["mount", "from"].map((name) => url.searchParams.get(name));
      if (places.has(`${from} ${mounted}`)) {
        places.add(`${repository} ${mounted}`);
        return { status: 201 };
      }
      uploads.set(String(++last), []);
      return { status: 202, headers: location(String(last)) };
    }
    const id = name.slice("uploads/".length);
    const parts = uploads.get(id);
    if (parts === undefined) return error(404, "BLOB_UPLOAD_UNKNOWN");
    if (method === "DELETE") return { status: 204 };
    parts.push(body);
    const received = parts.reduce((sum, { length }) => sum + length, 0);
    if (method === "PATCH")
      return { status: 202, headers: { ...location(id), range: `0-${Math.max(0, received - 1)}` } };
    const whole = Buffer.concat(parts);
    if (digestOf(whole) !== url.searchParams.get("digest")) return error(400, "DIGEST_INVALID");
    return { status: 201, headers: { "docker-content-digest": keepBlob(repository, whole) } };
  }

  function keepBlob(repository: string, bytes: Buffer): Digest {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    places.add(`${repository} ${digest}`);
    return digest;
  }

  function serveTags({ url, repository }: Asked): Reply {
    const all = [...tags.keys()].flatMap((key) =>
      key.startsWith(`${repository}:`) ? key.slice(repository.length + 1) : [],
    );
    const rest = all.sort().filter((tag) => tag > (url.searchParams.get("last") ?? ""));
    const page = rest.slice(0, Number(url.searchParams.get("n") ?? rest.length));
    const next = `</v2/${repository}/tags/list?n=${page.length}&last=${page.at(-1)}>; rel="next"`;
    return {
      status: 200,
      headers: page.length < rest.length ? { link: next } : {},
      body: { name: repository, tags: page },
    };
  }

  function serveReferrers({ name }: Asked): Reply {
    if (!answersReferrers) return { status: 404 };
    const found = [...manifests].flatMap(([digest, { bytes, mediaType }]) => {
      const { subject, artifactType, annotations } = JSON.parse(bytes.toString());
      return subject?.digest === name
        ? [{ digest, mediaType, size: bytes.length, artifactType, annotations }]
        : [];
    });
    const body = { schemaVersion: 2, mediaType: indexTypes.oci, manifests: found };
    return { status: 200, headers: { "content-type": indexTypes.oci }, body };
  }

  const kinds: Readonly<Record<string, (asked: Asked) => Reply>> = {
    manifests: serveManifest,
    blobs: serveBlob,
    tags: serveTags,
    referrers: serveReferrers,
  };
  /** Engines look first whether it is a registry. */
  const serveOther = ({ url }: Asked): Reply => ({ status: url.pathname === "/v2/" ? 200 : 404 });
  return {
    tags,
    manifests,
    blobs,
    keepBlob,
    serve: (asked: Asked) => (kinds[asked.kind] ?? serveOther)(asked),
  };
}

export interface QuirkyRegistry {
  readonly host: string;
  readonly asked: readonly Asked[];
  readonly store: ReturnType<typeof createStore>;
  stop(): Promise<void>;
}

export async function startQuirkyRegistry(quirk: Quirk, store = createStore()): Promise<QuirkyRegistry> {
  const log: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const { method = "", url: path = "" } = request;
      const url = new URL(path, `http://${request.headers.host}`);
      const [, repository = "", kind = "", name = ""] =
        /^\/v2\/(.+?)\/(manifests|blobs|tags|referrers)\/(.+)$/.exec(url.pathname) ?? [];
      const headers = request.headers as Asked["headers"];
      const asked = { method, url, repository, kind, name, headers, body: Buffer.concat(chunks) };
      log.push(asked);
      const reply = await quirk(asked, (other = {}) => store.serve({ ...asked, ...other }));
      if (reply === "cut") return request.socket.destroy();
      const { body = "" } = reply;
      const bytes = Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
      const length = "transfer-encoding" in (reply.headers ?? {}) ? {} : { "content-length": bytes.length };
      return response
        .writeHead(reply.status, { ...length, ...reply.headers })
        .end(method === "HEAD" ? undefined : bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    host: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    asked: log,
    store,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const refuse = (status: number, code = "UNKNOWN"): Reply => ({
  status,
  body: { errors: [{ code, message: `no: ${code}` }] },
});
/** Follows to a page for people, as proxies with a login of their own do. */
const loginPage =
  (applies: (asked: Asked) => boolean): Quirk =>
  (asked, serve) => {
    if (asked.url.pathname === "/login") return html;
    return applies(asked) ? { status: 307, headers: { location: "/login" } } : serve();
  };
const html: Reply = { status: 200, headers: { "content-type": "text/html" }, body: "<html>Sign in</html>" };
const isTag = ({ kind, name }: Asked) => kind === "manifests" && !name.startsWith("sha256:");
const isWrite = ({ method }: Asked) => method === "PUT" || method === "DELETE";
const jsonOf = (body: Buffer) => JSON.parse(body.toString() || "{}");

/** Answers so where `applies`. */
const where =
  (applies: (asked: Asked) => boolean, reply: Reply): Quirk =>
  (asked, serve) =>
    applies(asked) ? reply : serve();
const referrers = (reply: Reply) => where(({ kind }) => kind === "referrers", reply);
const tagsList = (reply: Reply) => where(({ kind }) => kind === "tags", reply);
const mount = (reply: Reply) => where(({ url }) => url.searchParams.has("mount"), reply);
const manifestsWith = (applies: (json: ReturnType<typeof jsonOf>) => boolean, reply: Reply) =>
  where(
    (asked) => asked.kind === "manifests" && asked.method === "PUT" && applies(jsonOf(asked.body)),
    reply,
  );

/** For a while after it was written, a digest is not there, or a tag reads as before. */
function late(ms: number, of: "digests" | "tags"): () => Quirk {
  return () => {
    const before = new Map<string, { readonly until: number; readonly old: Reply }>();
    return (asked, serve) => {
      const { method, kind, name, body } = asked;
      if (kind !== "manifests") return serve();
      const key = of === "digests" && method === "PUT" ? digestOf(body) : name;
      if (method === "PUT" && isTag({ ...asked, name: key }) === (of === "tags") && !before.has(key))
        before.set(key, { until: Date.now() + ms, old: serve({ method: "GET", name: key }) });
      const known = before.get(key);
      return method !== "PUT" && known !== undefined && Date.now() < known.until ? known.old : serve();
    };
  };
}

/** A tag that exists is never written or removed (ECR answers 400, Harbor 412). */
const immutable =
  (status: number, code: string, message: string): Quirk =>
  (asked, serve) => {
    const exists = isTag(asked) && isWrite(asked) && serve({ method: "GET" });
    return exists && exists !== "cut" && exists.status === 200
      ? { status, body: { errors: [{ code, message }] } }
      : serve();
  };

const without =
  (...names: readonly string[]): Quirk =>
  (asked, serve) => {
    const reply = serve();
    if (reply === "cut" || asked.kind !== "manifests") return reply;
    const headers = Object.fromEntries(
      Object.entries(reply.headers ?? {}).filter(([name]) => !names.includes(name)),
    );
    return {
      ...reply,
      headers: names.includes("content-length") ? { ...headers, "transfer-encoding": "chunked" } : headers,
    };
  };

/**
 * Asks for a token that has the right: `needed` names it for a request, and `grants` are the rights of a scope that the token gets
 * (distribution, docs/spec/auth/token.md).
 */
function tokens(
  needed: (asked: Asked) => string,
  grants: (repository: string, actions: readonly string[]) => boolean,
  isLogin: (asked: Asked) => boolean = () => true,
): Quirk {
  return (asked, serve) => {
    const { url, method, headers, repository } = asked;
    if (url.pathname === "/token") {
      if (!isLogin(asked)) return refuse(401, "UNAUTHORIZED");
      const granted = (method === "POST" ? new URLSearchParams(asked.body.toString()) : url.searchParams)
        .getAll("scope")
        .flatMap((scopes) => scopes.split(" "))
        .flatMap((scope) => {
          const [, name = "", actions = ""] = /^repository:(.+):(.+)$/.exec(scope) ?? [];
          return grants(name, actions.split(",")) ? actions.split(",").map((each) => `${name} ${each}`) : [];
        });
      const token = Buffer.from(granted.join("\n")).toString("hex");
      return { status: 200, body: method === "POST" ? { access_token: token } : { token } };
    }
    const given = Buffer.from(headers.authorization?.replace(/^Bearer /, "") ?? "", "hex").toString();
    const right = needed(asked);
    if (
      headers.authorization !== undefined &&
      (repository === "" || given.split("\n").includes(`${repository} ${right}`))
    )
      return serve();
    const scope = repository === "" ? "" : `,scope="repository:${repository}:${right}"`;
    const challenge = `Bearer realm="http://${headers.host}/token",service="registry"${scope}`;
    return {
      ...(refuse(401, "UNAUTHORIZED") as object),
      status: 401,
      headers: { "www-authenticate": challenge },
    };
  };
}

const rightOf = ({ method }: Asked) => (method === "GET" || method === "HEAD" ? "pull" : "push");

/** Each quirk with where it was reported; see docs/registry.md. */
export const quirks = {
  none: () => (_, serve) => serve(),
  // helm#31567, binderhub#1664: who may only pull gets no token for what is not there, and a push makes it
  "401 for a new repository": () => {
    const made = new Set<string>();
    return tokens(rightOf, (repository, actions) => {
      if (actions.includes("push")) made.add(repository);
      return made.has(repository);
    });
  },
  // argocd-image-updater#473
  "tags/list with metadata_read": () =>
    tokens(
      (asked) => (asked.kind === "tags" ? "metadata_read" : rightOf(asked)),
      () => true,
    ),
  // go-containerregistry#421, #1078: Azure gives a refresh token for the name of zeros
  "an identity token": () =>
    tokens(
      rightOf,
      () => true,
      ({ method, body, headers }) =>
        method === "POST"
          ? new URLSearchParams(body.toString()).get("refresh_token") === identity.token
          : headers.authorization === basicHeader(identity.username, identity.token),
    ),
  // sdk-container-builds#527
  "Basic alone": () => (asked, serve) =>
    asked.headers.authorization === basicHeader(login.username, login.password)
      ? serve()
      : { status: 401, headers: { "www-authenticate": 'Basic realm="Sonatype Nexus Repository Manager"' } },
  // opa#6728: the storage refuses a login beside the signature
  "blobs elsewhere": () => (asked, serve) => {
    const { url, headers, kind, method, name, repository } = asked;
    const [, of, signed] = /^\/signed\/(.+)\/(sha256:[0-9a-f]{64})$/.exec(url.pathname) ?? [];
    if (signed !== undefined)
      return headers.authorization === undefined
        ? serve({ kind: "blobs", name: signed, repository: of ?? "" })
        : { status: 400, body: "<Error><Code>InvalidArgument</Code></Error>" };
    if (headers.authorization === undefined)
      return { status: 401, headers: { "www-authenticate": 'Basic realm="r"' } };
    if (kind !== "blobs" || method !== "GET" || name.startsWith("uploads/")) return serve();
    const location = `http://localhost:${new URL(`http://${headers.host}`).port}/signed/${repository}/${name}?X-Amz-Signature=a`;
    return { status: 307, headers: { location } };
  },
  // sigstore/cosign#2973
  "403 for a missing tag": () => (asked, serve) => {
    const reply = serve();
    const isMissing = isTag(asked) && !isWrite(asked) && reply !== "cut" && reply.status === 404;
    return isMissing ? refuse(403, "UNAUTHORIZED") : reply;
  },
  // go-containerregistry#1962, quay/quay#3071, oras-go#633
  ...Object.fromEntries(
    [400, 403, 404, 405, 406, 410, 501].map((status) => [
      `referrers ${status}`,
      () => referrers(refuse(status)),
    ]),
  ),
  "referrers html": () => loginPage(({ kind }) => kind === "referrers"),
  "referrers null": () => referrers({ status: 200, body: { schemaVersion: 2, manifests: null } }),
  "referrers of another API": () => referrers({ status: 200, body: { referrers: [] } }),
  // sigstore-js#1183
  "referrers always empty": () => (asked, serve) => {
    const { kind, method, body } = asked;
    const type = { "content-type": indexTypes.oci };
    if (kind === "referrers")
      return { status: 200, headers: type, body: { schemaVersion: 2, manifests: [] } };
    const reply = serve();
    const isAttached = kind === "manifests" && method === "PUT" && jsonOf(body).subject !== undefined;
    return reply === "cut" || !isAttached
      ? reply
      : { ...reply, headers: { ...reply.headers, "oci-subject": jsonOf(body).subject.digest } };
  },
  // aicr#1957, zui#475, buildx#3047: the type of the empty configuration, entries of others
  "referrers of all kinds": () => (asked, serve) => {
    const reply = serve();
    if (asked.kind !== "referrers" || reply === "cut") return reply;
    const { manifests, ...list } = reply.body as { readonly manifests: readonly object[] };
    const digest = digestOf("others");
    const platform = { os: "unknown", architecture: "unknown" };
    const others = [
      { mediaType: "application/vnd.other+json", digest, size: 2, artifactType: "application/vnd.other" },
      { mediaType: indexTypes.oci, digest, size: 2, platform },
      { mediaType: "application/vnd.other+json" },
      null,
    ];
    const untold = manifests.map((each) => ({ ...each, artifactType: emptyType, annotations: undefined }));
    return { ...reply, body: { ...list, manifests: [...others, ...untold] } };
  },
  // oras#2148
  "sha256-<hex> is the image": () => (asked, serve) => {
    if (asked.kind === "referrers") return refuse(404);
    const [, hex] = /^sha256-([0-9a-f]{64})$/.exec(asked.name) ?? [];
    if (!isTag(asked) || hex === undefined) return serve();
    if (asked.method === "PUT") return refuse(400, "DIGEST_INVALID");
    return serve({ name: `sha256:${hex}` });
  },
  // distribution#4927, buildkit#7007
  "a subject is unknown": () =>
    manifestsWith(({ subject }) => subject !== undefined, refuse(400, "MANIFEST_BLOB_UNKNOWN")),
  // containers-roadmap#2783, falcoctl#302
  ...Object.fromEntries(
    [400, 405, 415].map((status) => [
      `artifactType ${status}`,
      () =>
        manifestsWith(({ artifactType }) => artifactType !== undefined, refuse(status, "MANIFEST_INVALID")),
    ]),
  ),
  // Azure/acr#880, helm#31348
  "digests are late": late(700, "digests"),
  "tags are late": late(700, "tags"),
  // buildkit#2004
  ...Object.fromEntries(
    [401, 403, 405].map((status) => [`tags/list ${status}`, () => tagsList(refuse(status))]),
  ),
  "tags/list html": () => tagsList(html),
  "tags/list 404": () => tagsList(refuse(404, "NAME_UNKNOWN")),
  "tags/list without last": () => (asked, serve) => {
    asked.url.searchParams.delete("last");
    asked.url.searchParams.delete("n");
    return serve();
  },
  // regclient#272: Quay knows neither `n` nor `last`, and its pages go on by a token of its own
  "tags/list by next_page": () => (asked, serve) => {
    const { url, kind, repository } = asked;
    if (kind !== "tags") return serve();
    const from = Number(url.searchParams.get("next_page") ?? 0);
    url.search = "";
    const reply = serve();
    if (reply === "cut") return reply;
    const { tags } = reply.body as { readonly tags: readonly string[] };
    const next = `</v2/${repository}/tags/list?next_page=${from + 2}>; rel="next"`;
    const headers: Record<string, string> = from + 2 < tags.length ? { link: next } : {};
    return { status: 200, headers, body: { tags: tags.toReversed().slice(from, from + 2) } };
  },
  "tags/list cut": () => (asked, serve) => {
    const reply = serve();
    if (asked.kind !== "tags" || reply === "cut") return reply;
    const { tags } = reply.body as { readonly tags: readonly string[] };
    return { status: 200, body: { tags: tags.slice(0, 1) } };
  },
  // containers-roadmap#1931, singularity#734
  "no docker-content-digest": () => without("docker-content-digest"),
  "no content-length": () => without("content-length"),
  "HEAD 405": () => where(({ kind, method }) => kind === "manifests" && method === "HEAD", refuse(405)),
  "PUT 202": () => (asked, serve) => {
    const reply = serve();
    return reply !== "cut" && asked.kind === "manifests" && reply.status === 201
      ? { ...reply, status: 202 }
      : reply;
  },
  // digital-twins#434
  "500 that was done": () => {
    const seen = new Set<string>();
    return (asked, serve) => {
      const reply = serve();
      if (!isTag(asked) || asked.method !== "PUT" || seen.has(asked.name)) return reply;
      seen.add(asked.name);
      return refuse(500);
    };
  },
  // docker-cache#829
  "429 now and then": () => {
    let count = 0;
    return (asked, serve) =>
      asked.kind === "manifests" && ++count % 5 === 0 ? refuse(429, "TOOMANYREQUESTS") : serve();
  },
  "no removal": () => where(({ method }) => method === "DELETE", refuse(405, "UNSUPPORTED")),
  // buildkit#3776, harbor#9427
  "immutable as ECR": () =>
    immutable(400, "TAG_INVALID", "The tag cannot be overwritten because the tag is immutable."),
  "immutable as Harbor": () =>
    immutable(412, "PRECONDITION", "Failed to process request due to '1.0' configured as immutable."),
} satisfies Readonly<Record<string, () => Quirk>>;

const unknownRepository = refuse(404, "NAME_UNKNOWN");

/** Registries that take no fleet. */
export const closedQuirks = {
  // sinker#55
  "no repository": () => where(({ repository }) => repository !== "", unknownRepository),
  // containers-roadmap#1970
  "no repository, and a cut": () => (asked, serve) =>
    asked.repository === "" ? serve() : rightOf(asked) === "push" ? "cut" : unknownRepository,
  // buildx#3630
  "429 for an hour": () => (asked, serve) =>
    asked.kind === "manifests"
      ? {
          status: 429,
          headers: { "retry-after": "3600" },
          body: { errors: [{ code: "TOOMANYREQUESTS", message: "limit" }] },
        }
      : serve(),
  // none is known: docker-library/docker#454
  "no empty index": () =>
    manifestsWith(({ manifests }) => manifests?.length === 0, refuse(400, "MANIFEST_INVALID")),
  // none is known: zui#475
  "no unknown/unknown": () =>
    manifestsWith(
      ({ manifests }) => /"unknown"/.test(JSON.stringify(manifests ?? null)),
      refuse(400, "MANIFEST_INVALID"),
    ),
} satisfies Readonly<Record<string, () => Quirk>>;

const mebibyte = 1024 * 1024;

/** Those of uploads. A chunk is a PATCH with a range. */
export const uploadQuirks = {
  none: () => (_, serve) => serve(),
  // rust-oci-client#35: GHCR
  "chunks of at most 4 MiB, and no whole": () => (asked, serve) => {
    const message = "the request body is too large and exceeds the maximum permissible limit of 4.00MiB";
    const isTooLong = asked.method === "PATCH" && asked.body.length > 4 * mebibyte;
    return isTooLong ? { status: 416, body: { errors: [{ code: "UNKNOWN", message }] } } : serve();
  },
  "chunks of at most 4 MiB": () =>
    where(
      ({ headers, body }) => headers["content-range"] !== undefined && body.length > 4 * mebibyte,
      refuse(416),
    ),
  "413 for more than 8 MiB": () =>
    where(({ method, body }) => method === "PATCH" && body.length > 8 * mebibyte, refuse(413)),
  "a cut after 8 MiB": () =>
    where(({ method, body }) => method === "PATCH" && body.length > 8 * mebibyte, "cut"),
  // distribution-spec#391
  "chunks of at least 10 MiB": () => {
    const short = new Set<string>();
    return (asked, serve) => {
      const isChunk = asked.headers["content-range"] !== undefined;
      if (asked.method === "PATCH" && !isChunk && asked.body.length > 8 * mebibyte) return refuse(413);
      // Only the last one may be shorter.
      if (isChunk && short.has(asked.name)) return refuse(416);
      if (isChunk && asked.body.length < 10 * mebibyte) short.add(asked.name);
      const reply = serve();
      if (asked.method !== "POST" || reply === "cut") return reply;
      return { ...reply, headers: { ...reply.headers, "oci-chunk-min-length": String(10 * mebibyte) } };
    };
  },
  // containers-roadmap#2831
  "a range that stands still": () => {
    const ranges = new Map<string, string>();
    return (asked, serve) => {
      const reply = serve();
      if (reply === "cut" || asked.method !== "PATCH") return reply;
      const range = ranges.get(asked.name) ?? reply.headers?.range ?? "";
      ranges.set(asked.name, range);
      return { ...reply, headers: { ...reply.headers, range } };
    };
  },
  "a location with a query": () => (_, serve) => {
    const reply = serve();
    const location = reply === "cut" ? undefined : reply.headers?.location;
    if (reply === "cut" || location === undefined) return reply;
    return { ...reply, headers: { ...reply.headers, location: `${location}?_state=ab%2Fc%3D` } };
  },
  // kaniko#1177
  "mount 202": () => (asked, serve) => {
    asked.url.searchParams.delete("mount");
    return serve();
  },
  ...Object.fromEntries(
    [401, 403, 404, 405].map((status) => [`mount ${status}`, () => mount(refuse(status))]),
  ),
} satisfies Readonly<Record<string, () => Quirk>>;

/** Waits before each answer, for races. */
export function slowly(quirk: Quirk, random: () => number): Quirk {
  return async (asked, serve) => {
    await sleep(random() * 4);
    return quirk(asked, serve);
  };
}
