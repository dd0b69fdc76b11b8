/** Bases that are in no registry: what the plan, the build and the lock say of them. */

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lockEntryOf, lockOf } from "../../../src/fleet/engines/built-cell.ts";
import { isReady, jobOf } from "../../../src/fleet/engines/jobs.ts";
import { bakeJobs } from "../../../src/fleet/export-bake.ts";
import { declaredImages } from "../../../src/fleet/audit/declared-image.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { type FleetPlanOptions, planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { localBases, publishedOnLocal } from "../../../src/fleet/plan/local-bases.ts";
import { movableBases, withUpdatedBases } from "../../../src/fleet/plan/registry-view.ts";
import { makeFolder } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const root = makeFolder({
  "matrix.yaml": matrixText(
    "template: Dockerfile\nargs: { M: '{{march.flags}}' }\naxes: { march: [x86-64-v2] }",
  ),
  Dockerfile: "FROM debian:12 AS build\nARG M\nRUN echo $M\nFROM own/base\nCOPY --from=build /a /a\n",
});
const fromRegistry = async (ref: string) => (ref === "debian:12" ? digest("d") : null);

async function planned(options: Partial<FleetPlanOptions> = {}) {
  const fleet = await openFleet(join(root, "matrix.yaml"));
  const plan = await planFleet(fleet, { lock: null, findBaseDigest: fromRegistry, ...options });
  const [cell] = plan.cells;
  if (cell === undefined) throw new Error("no cell");
  return { fleet, plan, cell };
}

const held = (character: string) => async () => ({ engine: "docker", id: digest(character) }) as const;

async function built(character = "e"): Promise<Lock> {
  const { plan, cell } = await planned({ findLocalBase: held(character) });
  if (!isReady(cell)) throw new Error("not ready");
  const result = {
    digest: null,
    manifest: null,
    blobs: null,
    buildMs: null,
    image: { id: digest("1"), size: 1 },
    measured: null,
  };
  const builder = { described: "docker 28", localEngine: "docker" } as const;
  const image = lockEntryOf(cell, result, builder, "2026-01-01T00:00:00Z");
  return parseLock(formatLock(lockOf(plan.matrix, { [cell.cell.id]: image })), "lock");
}

describe("a base that no registry has", () => {
  test("is asked of the engine only when it may be, and after the registries", async () => {
    expect((await planned()).cell).toMatchObject({ inputDigest: null, bases: [{}, { digest: null }] });
    const asked: string[] = [];
    const { cell } = await planned({
      findLocalBase: async (ref) => {
        asked.push(ref);
        return { engine: "podman", id: digest("e") };
      },
    });
    expect(asked).toEqual(["own/base"]);
    expect(cell.bases).toEqual([
      { ref: "debian:12", used: "debian:12", digest: digest("d") },
      { ref: "own/base", used: "own/base", digest: digest("e"), local: "podman" },
    ]);
  });

  test("is built on by the engine's id, and no digest is claimed for it", async () => {
    const { fleet, plan, cell } = await planned({ findLocalBase: held("e") });
    if (!isReady(cell)) throw new Error("not ready");
    const { request } = jobOf(cell, { ...fleet, matrix: plan.matrix, revision: "", push: true });
    expect(request.dockerfile).toContain(`FROM debian:12@${digest("d")} AS build\n`);
    expect(request.dockerfile).toContain(`FROM imgmatch.invalid/base:${"e".repeat(64)}\n`);
    expect(request.localBases).toEqual([digest("e")]);
    const values = Object.values(request.args);
    expect(values).toContain("own/base");
    expect(values).not.toContain(digest("e"));
    expect(declaredImages(plan)(cell.cell.id)?.base).toEqual({ engine: "docker", id: digest("e") });
  });

  test("counts into the input digest by that id", async () => {
    const digestOf = async (character: string) =>
      (await planned({ findLocalBase: held(character) })).cell.inputDigest;
    expect(await digestOf("e")).toBe(await digestOf("e"));
    expect(await digestOf("e")).not.toBe(await digestOf("f"));
  });

  test("is the lock's until the engine is asked again, and no registry's to move", async () => {
    const lock = await built();
    const [image] = Object.values(lock.images);
    expect(image?.bases[1]).toEqual({ ref: "own/base", digest: digest("e"), local: "docker" });
    const findBaseDigest = async (ref: string): Promise<Digest> => {
      throw new Error(`${ref} was asked for`);
    };
    expect((await planned({ lock, findBaseDigest })).cell.action).toBe("keep");
    expect((await planned({ lock, findLocalBase: held("e") })).cell.action).toBe("keep");
    expect((await planned({ lock, findLocalBase: async () => null })).cell.action).toBe("keep");
    const moved = (await planned({ lock, findLocalBase: held("f") })).cell;
    expect(moved).toMatchObject({ action: "build", reason: "its inputs changed: base own/base" });
    const pushed = (
      await planned({ lock, findLocalBase: held("f"), findBaseDigest: async () => digest("9") })
    ).cell;
    expect(pushed.bases[1]).toEqual({ ref: "own/base", used: "own/base", digest: digest("9") });

    const { plan } = await planned({ lock });
    expect(movableBases(plan)).toEqual(["debian:12"]);
    const next = withUpdatedBases(lock, plan.cells, new Map([["debian:12", digest("c")]]));
    expect(Object.values(next.images)[0]?.nextBases).toEqual([
      { ref: "debian:12", digest: digest("c") },
      { ref: "own/base", digest: digest("e"), local: "docker" },
    ]);
  });

  test("is named when an image on it is published, and in no bake file", async () => {
    const { fleet, plan, cell } = await planned({ findLocalBase: held("e") });
    expect(localBases(plan)).toEqual([
      { ref: "own/base", engine: "docker", id: digest("e"), cells: [cell.cell.id] },
    ]);
    expect(publishedOnLocal(plan)).toMatchObject([
      {
        code: "BASE_LOCAL",
        message: expect.stringMatching(/own\/base .*only docker on this machine.*to build the images again/),
      },
    ]);
    expect(() => bakeJobs(plan, fleet, "")).toThrow(
      /its base own\/base is in no registry, and docker has it on one machine alone/,
    );
    const kept = (await planned({ lock: await built() })).plan;
    expect(publishedOnLocal(kept)).toEqual([]);
  });

  test("stands in the Dockerfile at a line that is told", async () => {
    const { fleet, cell } = await planned();
    const { bases, basesIn } = fleet.dockerfileOf(cell.cell);
    expect(basesIn).toBe("Dockerfile");
    expect(bases).toEqual([
      { ref: "debian:12", line: 1 },
      { ref: "own/base", line: 4 },
    ]);
  });
});
