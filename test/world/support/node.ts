/** A node that chooses its image: by `resolve`, or through the mirror on its loopback. */

import { ImgmatchError } from "../../../src/errors.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { fetchLock } from "../../../src/lock/store/fetch-lock.ts";
import { nodeMirror } from "../../../src/node/mirror/node-mirror.ts";
import { formatRepository, withTag } from "../../../src/oci/reference.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import type { ProblemCode } from "../../../src/problem-codes.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { repository } from "./fleet.ts";
import { trust } from "./publisher.ts";
import type { Simulation } from "./simulation.ts";

/** Answers the digest of the image that the node starts; null where none fits. Throws where it starts none. */
export type Choose = (tag: string) => Promise<string | null>;

/** As `resolve --key world.pub --cache FOLDER --timeout 5`, with `--no-downgrade` where `isForward`. */
export function resolver(simulation: Simulation, host: HostFacts, cache: string, isForward: boolean): Choose {
  const registry = createRegistryClient({ patienceMs: 5000, retries: 1 });
  const tell = (line: string) =>
    simulation.see(line.startsWith("answered from the cache") ? "an answer from a cache" : "a line");
  return async (tag) => {
    const demands = { cache, trust: trust(cache, isForward), tell };
    const lock = await fetchLock(withTag(repository, tag), { connect: async () => registry, ...demands });
    return digestIn(resolveImage(lock, host).match?.reference);
  };
}

const digestIn = (reference: string | undefined) => reference?.slice(reference.indexOf("@") + 1) ?? null;

/** A runtime that pulls through `serve`, which alone it asks. */
export async function throughMirror(simulation: Simulation, host: HostFacts, cache: string): Promise<Choose> {
  const { answer } = await nodeMirror({
    ...{ references: [formatRepository(repository)], lock: null, cache, blobs: "redirect", api: null },
    prober: { ask: async () => ({ ok: true, facts: host }), stuck: () => 0 },
    ...{ question: {}, registry: {}, failClosed: true, trust: trust(cache), policy: null },
    log: ({ message }) =>
      String(message).includes("read before") && simulation.see("a mirror's answer of before"),
  });
  const path = repository.repository;
  return async (tag) => {
    const caller = { authorization: null, wantsBody: true, range: undefined };
    const said = await answer({ kind: "tag", namespace: null, repository: path, tag }, caller);
    if (said.outcome === "no-match") return null;
    const code = /^[A-Z_]+/.exec(said.reason ?? "")?.[0];
    if (said.status !== 200)
      throw new ImgmatchError({
        code: (code ?? "INDEX_NOT_FOUND") as ProblemCode,
        message: `${said.outcome}: ${said.reason}`,
      });
    return said.digest ?? null;
  };
}
