/** A publisher: the steps of `build --push --index --sign` and of `promote` from their plan on, over an engine that only takes its time. */

import { join } from "node:path";
import { throwProblems } from "../../../src/errors.ts";
import type { Selection } from "../../../src/fleet/cells/select.ts";
import type { Engine } from "../../../src/fleet/engines/engine.ts";
import type { Matrix } from "../../../src/fleet/matrix/matrix.ts";
import { planCells } from "../../../src/fleet/plan/plan-cells.ts";
import { takeOverImages, withoutGone } from "../../../src/fleet/publish/carried-images.ts";
import { planIndexConflicts } from "../../../src/fleet/publish/index-conflicts.ts";
import { promoteChannels } from "../../../src/fleet/publish/promote-channels.ts";
import { publishPlan } from "../../../src/fleet/publish/publication.ts";
import { promoteIndex } from "../../../src/fleet/publish/publish-plan-index.ts";
import type { FleetSigner } from "../../../src/fleet/publish/seal.ts";
import { buildPlan } from "../../../src/fleet/run/build-plan.ts";
import { fetchFleet, fetchLock } from "../../../src/lock/store/fetch-lock.ts";
import { requirePlace } from "../../../src/lock/store/index-place.ts";
import { readLock, readLockIfPresent } from "../../../src/lock/store/lock-file.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { manifestTypes } from "../../../src/oci/media-types.ts";
import { formatRepository, type ImageReference, withTag } from "../../../src/oci/reference.ts";
import { createRegistryClient, type FullRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { manifestOf } from "../../../src/oci/registry/manifests.ts";
import { trustBy } from "../../../src/trust/find-trust.ts";
import { fleetSigning } from "../../../src/trust/sign/sign-fleet.ts";
import type { SignatureFormat } from "../../../src/oci/trust-flags.ts";
import { cellsOf, matrixOf, publicPem, type Release, repository, signer, sourcesOf } from "./fleet.ts";
import type { Simulation } from "./simulation.ts";

export interface Desk {
  readonly simulation: Simulation;
  /** The folder of its checkout; publishers of one machine share one. */
  readonly folder: string;
  readonly release: Release;
  readonly format: SignatureFormat;
  /** The content that its builds begin with, by cell. */
  readonly content: (cell: string) => string;
}

export const trust = (cache: string | null, isForward = false) =>
  trustBy({
    ...{ policies: [], env: {}, cache, refuseDowngrade: isForward ? cache : null },
    signers: [{ kind: "key", name: "world.pub", pem: publicPem }],
    publicRoot: () => Promise.reject(new Error("nobody asks")),
  });

export const lockFileOf = ({ folder }: Pick<Desk, "folder">) => join(folder, "images", "imgmatch.lock.json");

function open({ simulation, format }: Desk) {
  const registry = createRegistryClient({ writes: [formatRepository(repository)] });
  const others = async () => [];
  // What the libraries of signatures do in other turns of the loop is no event.
  const held = {
    ...signer,
    signStatement: (statement: object) => simulation.hold(() => signer.signStatement(statement)),
    signPayload: (payload: Uint8Array) => simulation.hold(() => signer.signPayload(payload)),
  };
  const signing: FleetSigner = fleetSigning(repository, {
    registry,
    signer: held,
    format,
    tell: () => {},
    others,
  });
  return { registry, signing };
}

export async function build(desk: Desk, only: readonly string[], { replace = false } = {}) {
  const { registry, signing } = open(desk);
  const matrix = matrixOf(desk.release);
  const lockFile = lockFileOf(desk);
  const cells = cellsOf(matrix);
  const chosen: readonly Selection[] = only.map((cell) => ({ cell }));
  const plan = async () => {
    const lock = await readLockIfPresent(lockFile);
    return {
      lock,
      plan: planCells(matrix, cells, sourcesOf(matrix, desk.content), {
        lock,
        only: chosen,
        published: true,
      }),
    };
  };
  const first = await plan();
  const { plan: carried, gone } = await takeOverImages(first.plan, {
    lock: first.lock,
    index: true,
    ask: async () => registry,
  });
  if (!replace) throwProblems(await planIndexConflicts(carried, registry));
  const none = new AbortController().signal;
  const summary = await buildPlan(
    carried,
    {
      root: desk.folder,
      cells,
      folderOf: () => ({ dir: desk.folder, listing: { files: [] } as never, named: [] }),
    },
    {
      ...{
        engine: engineOf(desk, registry),
        revision: "",
        onEvent: () => {},
        lockFile,
        drain: none,
        stop: none,
        concurrency: 2,
      },
      builder: { described: "an engine of the world", localEngine: null },
      publishing: { registry, signing, attest: null },
      ...{ examine: null, logFolder: join(desk.folder, "logs"), now: () => new Date() },
    },
  );
  const made = new Set(summary.results.flatMap(({ cell, status }) => (status === "built" ? [cell] : [])));
  const { versions } = first.plan;
  const again = { ...(await plan()).plan, versions };
  const recalled = withoutGone(again, new Map([...gone].filter(([cell]) => !made.has(cell))));
  const publication = await publishPlan(recalled, lockFile, { registry, replace, isPart: true }, signing, {
    onEvent: () => {},
  });
  return { ...summary, ...publication };
}

/** What it builds is the same for the same inputs only now and then. */
function engineOf({ simulation }: Desk, registry: FullRegistryClient): Pick<Engine, "build" | "push"> {
  const made = new Map<string, Buffer>();
  return {
    async build({ labels }) {
      await simulation.sleep(50 + simulation.upTo(3000));
      const content = simulation.chance(0.3) ? "the same" : simulation.random();
      const config = Buffer.from(
        JSON.stringify({ os: "linux", architecture: "amd64", config: { Labels: labels }, content }),
      );
      made.set(digestOf(config), config);
      return { id: digestOf(config), size: config.length };
    },
    async push({ id }, to: ImageReference) {
      const config = made.get(id) ?? Buffer.of();
      const described = {
        mediaType: "application/vnd.oci.image.config.v1+json",
        digest: digestOf(config),
        size: config.length,
      };
      await registry.writeBlob(to, config);
      return registry.writeManifest(to, manifestOf(manifestTypes.oci, { config: described, layers: [] }));
    },
  };
}

export async function moveChannel(desk: Desk, channel: string, { replace = false } = {}) {
  const { registry, signing } = open(desk);
  const matrix: Matrix = matrixOf(desk.release);
  const lockFile = lockFileOf(desk);
  const own = { matrix, lock: await readLock(lockFile), lockFile };
  const fetch = (reference: ImageReference) =>
    fetchLock(reference, { connect: async () => registry, tell: () => {} });
  const means = { registry, fetch, signing, hosts: [] };
  const env = { GITHUB_ACTOR: "somebody" };
  const world = {
    env,
    cwd: desk.folder,
    machinePolicy: "",
    readStdin: async () => "",
    signal: undefined,
    onEvent: () => {},
  };
  const choice = { channel: [channel], replaceIndex: replace, allowLoss: true };
  return promoteChannels(own, null, choice, means, world);
}

/** One version becomes another. */
export async function promote(desk: Desk, from: string, to: string) {
  const { registry, signing } = open(desk);
  const reference = withTag(repository, from);
  const fetched = await fetchFleet(reference, {
    connect: async () => registry,
    tell: () => {},
    trust: trust(null),
  });
  requirePlace(reference, fetched);
  await signing.requireVouched(fetched.lock.indexDigest);
  return promoteIndex(fetched.lock, to, { registry, vouching: signing });
}
