/** A registry behind a network with faults: each request is an event, what becomes of it is drawn, and each write of a tag is on record. */

import { EventEmitter } from "node:events";
import { type ClientRequest, type RequestOptions, STATUS_CODES } from "node:http";
import { Readable } from "node:stream";
import type { Digest } from "../../../src/oci/digest.ts";
import { type Asked, createStore, type Reply } from "../../fleet/publish/support/quirky-registry.ts";
import type { Program, Simulation } from "./simulation.ts";

/** From a request to its effect. A publisher looks again where a look took half of its 5 s, so a write may take the other half. */
const longestMs = 2300;
const longestLagMs = 4000;

/** What a client gets: an answer, a part of an answer, or none. */
type Said = Reply | { readonly half: Reply } | "refused" | "nothing";

interface Doing {
  readonly simulation: Simulation;
  readonly serve: () => Reply;
  readonly serveLater: () => void;
  /** The answer of a copy of the registry that has not heard of what was just written; null where it says the same. */
  readonly stale: () => Reply | null;
}

const refusal = (status: number, headers = {}): Reply => ({ status, headers, body: { errors: [] } });
const trouble = ({ simulation }: Doing): Reply => refusal(simulation.pick(500, 502, 503, 504));
const missing: Reply = { status: 404, body: { errors: [{ code: "MANIFEST_UNKNOWN", message: "not here" }] } };

function after(doIt: () => unknown, said: Said): Said {
  doIt();
  return said;
}

/** What may become of a request; null: nothing. */
const effects = {
  "429": () => refusal(429),
  "429 with Retry-After": ({ simulation }: Doing) =>
    refusal(429, { "retry-after": String(Math.ceil(simulation.upTo(8))) }),
  "5xx": trouble,
  "5xx after it was done": (doing: Doing) => after(doing.serve, trouble(doing)),
  "reset before it was done": () => "cut",
  "reset after it was done": ({ serve }: Doing) => after(serve, "cut"),
  "reset, and done later": ({ serveLater }: Doing) => after(serveLater, "cut"),
  "no answer": ({ simulation, serve }: Doing) => after(() => simulation.chance(0.5) && serve(), "nothing"),
  "cut answer": ({ serve }: Doing) => ({ half: serve() }),
  "stale tag": ({ stale }: Doing) => stale(),
  "stale list of tags": ({ stale }: Doing) => stale(),
  "stale list of signatures": ({ stale }: Doing) => stale(),
  "not there yet": ({ stale }: Doing) => stale(),
} satisfies Record<string, (doing: Doing) => Said | null>;

export type Fault = keyof typeof effects;
export const faults = Object.keys(effects) as readonly Fault[];

/** What a tag has held: null where it was removed. */
export interface Written {
  readonly at: number;
  readonly digest: Digest | null;
  readonly by: Program | null;
}

export interface Weather {
  /** The part of requests that a fault meets, and that take long. */
  badness: number;
  slow: number;
  readonly faults: readonly Fault[];
  /** Nothing listens between these times. */
  outage: readonly [from: number, to: number];
}

export type WorldRegistry = ReturnType<typeof createWorldRegistry>;

export function createWorldRegistry(simulation: Simulation, weather: Weather, answersReferrers: boolean) {
  const store = createStore({ answersReferrers });
  const history = new Map<string, Written[]>();
  /** When each manifest came. */
  const arrived = new Map<string, number>();
  const isYoung = (at = 0) => simulation.now - at < longestLagMs;

  function serve(asked: Asked, by: Program): Reply {
    const reply = store.serve(asked);
    const isChange = asked.kind === "manifests" && (asked.method === "PUT" || asked.method === "DELETE");
    if (!isChange || reply === "cut" || reply.status >= 300) return reply;
    const key = `${asked.repository}:${asked.name}`;
    const isTag = !asked.name.startsWith("sha256:");
    const digest = isTag ? (store.tags.get(key) ?? null) : (asked.name as Digest);
    if (digest !== null && !arrived.has(digest)) arrived.set(digest, simulation.now);
    if (!isTag) return reply;
    history.set(key, [...(history.get(key) ?? []), { at: simulation.now, digest, by }]);
    simulation.note(`registry ${key} := ${digest?.slice(7, 15)} (${by.name})`);
    return reply;
  }

  const stale: Readonly<Partial<Record<Fault, (asked: Asked, by: Program) => Reply | null>>> = {
    "stale tag"(asked, by) {
      const written = history.get(`${asked.repository}:${asked.name}`) ?? [];
      const last = written.at(-1);
      // Who writes a tag sees the writes of others: where a registry hides them, no protocol over it can keep them.
      const isHidden = by.name.startsWith("publisher") && last?.by !== by;
      if (asked.kind !== "manifests" || last === undefined || !isYoung(last.at) || isHidden) return null;
      const digest = written.at(-2)?.digest ?? null;
      return digest === null ? missing : store.serve({ ...asked, name: digest });
    },
    "stale list of tags"(asked) {
      const reply = store.serve(asked);
      if (asked.kind !== "tags" || reply === "cut") return null;
      const at = simulation.now - simulation.upTo(longestLagMs);
      const { tags, name } = reply.body as { readonly name: string; readonly tags: readonly string[] };
      const known = tags.filter(
        (tag) => history.get(`${name}:${tag}`)?.findLast((each) => each.at <= at)?.digest,
      );
      return known.length === tags.length ? null : { status: 200, body: { name, tags: known } };
    },
    "stale list of signatures"(asked) {
      const reply = store.serve(asked);
      if (asked.kind !== "referrers" || reply === "cut" || reply.status !== 200) return null;
      const { manifests, ...head } = reply.body as {
        readonly manifests: readonly { readonly digest: string }[];
      };
      const known = manifests.filter(({ digest }) => !isYoung(arrived.get(digest)));
      return known.length === manifests.length ? null : { ...reply, body: { ...head, manifests: known } };
    },
    "not there yet": ({ kind, name }) =>
      kind === "manifests" && arrived.has(name) && isYoung(arrived.get(name)) ? missing : null,
  };

  /** Draws what becomes of a request, and says it when it is so. */
  function take(asked: Asked, by: Program, say: (said: Said) => void): void {
    const drawn =
      simulation.chance(weather.badness) && weather.faults.length > 0
        ? simulation.pick(...(weather.faults as [Fault]))
        : null;
    const isSlow = simulation.chance(weather.slow);
    if (isSlow) simulation.see("slow");
    const thereMs = 1 + simulation.upTo(isSlow ? longestMs : 20);
    const backMs = 1 + simulation.upTo(isSlow ? 5000 : 20);
    const doing: Doing = {
      simulation,
      serve: () => serve(asked, by),
      serveLater: () => simulation.after(simulation.upTo(longestMs - thereMs), () => serve(asked, by), null),
      stale: () =>
        drawn !== null && (asked.method === "GET" || asked.method === "HEAD")
          ? (stale[drawn]?.(asked, by) ?? null)
          : null,
    };
    const [from, to] = weather.outage;
    const isOut = simulation.now >= from && simulation.now < to;
    const arrive = (): void => {
      const faulty: Said | null = isOut ? "refused" : drawn === null ? null : effects[drawn](doing);
      const said = faulty ?? doing.serve();
      const name = faulty === null ? null : isOut ? "nothing listens" : drawn;
      if (name !== null) simulation.see(name);
      const shown = name ?? (typeof said === "object" && "status" in said ? said.status : said);
      simulation.note(
        `${by.name} ${asked.method} ${asked.kind}/${asked.name.replace(/sha256[:-](.{8}).{56}/, "$1")} → ${shown}`,
      );
      if (said !== "nothing") simulation.after(backMs, () => say(said), by);
    };
    simulation.after(isOut ? 1 : thereMs, arrive, null);
  }

  return {
    store,
    /** By `repository:tag`, in the order in which they took effect. */
    history,
    ask: (url: URL, options: RequestOptions) =>
      new Outgoing(url, options, simulation, take) as unknown as ClientRequest,
  };
}

type Take = (asked: Asked, by: Program, say: (said: Said) => void) => void;

/** A request as the transport makes one. */
class Outgoing extends EventEmitter {
  writableEnded = false;
  readonly #chunks: Uint8Array[] = [];
  readonly #send: (body: Buffer) => void;
  #isOver = false;

  constructor(
    url: URL,
    { method = "GET", headers = {} }: RequestOptions,
    simulation: Simulation,
    take: Take,
  ) {
    super();
    const [, repository = "", kind = "", name = ""] =
      /^\/v2\/(.+?)\/(manifests|blobs|tags|referrers)\/(.+)$/.exec(url.pathname) ?? [];
    const asked = { method, url, repository, kind, name, headers: headers as Asked["headers"] };
    const by = simulation.program();
    this.#send = (body) => take({ ...asked, body }, by, (said) => this.#isOver || this.#answer(method, said));
  }

  write(part: Uint8Array): boolean {
    this.#chunks.push(part);
    return true;
  }

  end(part?: Uint8Array): void {
    if (part !== undefined) this.#chunks.push(part);
    this.writableEnded = true;
    this.#send(Buffer.concat(this.#chunks));
  }

  destroy(): void {
    this.#isOver = true;
  }

  #answer(method: string, said: Said): boolean {
    const fail = (code: string) => this.emit("error", networkError(code));
    const isHalf = typeof said === "object" && "half" in said;
    const reply = isHalf ? said.half : said;
    if (reply === "refused") return fail("ECONNREFUSED");
    if (typeof reply === "string") return fail("ECONNRESET");
    const { status, headers = {}, body = "" } = reply;
    const bytes = Buffer.isBuffer(body)
      ? body
      : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const incoming = new Readable({ read() {} });
    const lengths = { "content-length": String(bytes.length) };
    Object.assign(incoming, {
      statusCode: status,
      statusMessage: STATUS_CODES[status],
      headers: { ...lengths, ...headers },
    });
    this.emit("response", incoming);
    const sent =
      method === "HEAD" ? bytes.subarray(0, 0) : isHalf ? bytes.subarray(0, bytes.length / 2) : bytes;
    if (sent.length > 0) incoming.push(sent);
    if (isHalf && method !== "HEAD") incoming.destroy(networkError("ECONNRESET"));
    else incoming.push(null);
    return true;
  }
}

function networkError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
