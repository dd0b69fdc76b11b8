/** A cell's guard: `ENTRYPOINT` and `CMD` of its image, with those of its base. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { type FleetPlanOptions, type GuardlessCell, planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { lockEntryOf } from "../../../src/fleet/engines/built-cell.ts";
import { requireReady } from "../../../src/fleet/engines/jobs.ts";
import type { LockedStart } from "../../../src/lock/lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { ports } from "../../../src/ports.ts";
import { makeFolder } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";

const digest: Digest = `sha256:${"d".repeat(64)}`;
const base: LockedStart = { entrypoint: ["/entry.sh"], cmd: ["serve", "--all"], hasShell: true };
const bare: LockedStart = { entrypoint: [], cmd: ["/app"], hasShell: false };

async function planned(
  dockerfile: string,
  { more = "guard: true\n", marches = "x86-64-v2, x86-64-v3", start = base as LockedStart | null } = {},
  options: Partial<FleetPlanOptions> = {},
) {
  const axes = `axes:\n  march: [${marches}]\n`;
  const root = makeFolder({
    "matrix.yaml": matrixText(`${more}template: Dockerfile.hbs\n${axes}`),
    "Dockerfile.hbs": `${dockerfile}\nENV M={{march.name}}\n`,
  });
  const told: GuardlessCell[] = [];
  const fleet = await openFleet(join(root, "matrix.yaml"), { writeGuard: ports.writeGuard });
  const plan = await planFleet(fleet, {
    lock: null,
    findBaseDigest: async () => digest,
    readBase: async () => (start === null ? null : { onbuild: false, env: [], start }),
    onGuardless: (cell) => told.push(cell),
    ...options,
  });
  return { cells: plan.cells, told };
}

/** The words of the last instruction with this keyword, the guard's text as `GUARD`. */
function wordsIn(text: string, keyword: string): readonly string[] | null {
  const last = parseDockerfile(text).instructions.findLast((each) => each.keyword === keyword);
  if (last === undefined) return null;
  const words = JSON.parse(last.text.replace(/^\S+\s+/, "")) as string[];
  return words.map((word) => (word.startsWith("#!/bin/sh\n") ? "GUARD" : word));
}

const guardOf = (count: number) => ["/bin/sh", "-c", "GUARD", `imgmatch-guard-${count}`];

const inPlace: readonly (readonly [
  what: string,
  dockerfile: string,
  entrypoint: readonly string[],
  cmd: readonly string[] | null,
])[] = [
  ["of the base", "FROM debian:12", [...guardOf(1), "/entry.sh"], ["serve", "--all"]],
  ["CMD alone, base's ENTRYPOINT", 'FROM debian:12\nCMD ["x"]', [...guardOf(1), "/entry.sh"], ["x"]],
  [
    "ENTRYPOINT resets the base's CMD",
    'FROM debian:12\nENTRYPOINT ["a", "b"]',
    [...guardOf(2), "a", "b"],
    null,
  ],
  [
    "a CMD before ENTRYPOINT stays",
    'FROM debian:12\nCMD ["x"]\nENTRYPOINT ["a"]',
    [...guardOf(1), "a"],
    ["x"],
  ],
  [
    "forms for a shell",
    "FROM debian:12\nENTRYPOINT exec  a \\\n  $HOME\nCMD b c",
    [...guardOf(3), "/bin/sh", "-c", "exec  a   $HOME"],
    ["/bin/sh", "-c", "b c"],
  ],
  [
    "another shell",
    'FROM debian:12\nSHELL ["/bin/bash", "-lc"]\nCMD b',
    [...guardOf(1), "/entry.sh"],
    ["/bin/bash", "-lc", "b"],
  ],
  [
    "of stages below",
    'FROM debian:12 AS one\nENTRYPOINT ["a"]\nCMD ["x"]\nFROM one',
    [...guardOf(1), "a"],
    ["x"],
  ],
];

test.each(inPlace)("repeats the program: %s", async (_what, dockerfile, entrypoint, cmd) => {
  const { cells, told } = await planned(dockerfile);
  expect(told).toEqual([]);
  const text = cells[0]?.dockerfile?.text ?? "";
  expect(wordsIn(text, "ENTRYPOINT")).toEqual(entrypoint);
  const own = parseDockerfile(text.slice(text.lastIndexOf("ENTRYPOINT "))).instructions;
  expect(own.at(-1)?.keyword === "CMD" ? wordsIn(text, "CMD") : null).toEqual(cmd);
});

test("is an input of the cell, and nothing else that is built is one of its own", async () => {
  const digestsOf = async (more: string, marches?: string) => {
    const { cells } = await planned("FROM debian:12", { more, ...(marches && { marches }) });
    return new Map(cells.map(({ cell, inputDigest }) => [cell.id, inputDigest]));
  };
  const [without, guarded] = [await digestsOf(""), await digestsOf("guard: true\n")];
  const more = await digestsOf("guard: true\nversion: 9.9.9\n", "x86-64-v2, x86-64-v3, x86-64-v4");
  expect(guarded.get("x86-64-v3")).not.toBe(without.get("x86-64-v3"));
  expect(more.get("x86-64-v3")).toBe(guarded.get("x86-64-v3"));
  expect(await digestsOf("guard: false\n")).toEqual(without);
});

test("one value may have a guard alone", async () => {
  const { cells } = await planned("FROM debian:12", {
    more: "",
    marches: "x86-64-v2, { march: x86-64-v3, guard: true }",
  });
  expect(cells.map(({ dockerfile }) => dockerfile?.text.includes("imgmatch-guard-1"))).toEqual([false, true]);
});

test("an image without a shell is told, and built without a guard", async () => {
  const { cells, told } = await planned("FROM debian:12", { start: bare });
  expect(told.map(({ why }) => why)).toEqual(["no shell", "no shell"]);
  expect(cells[0]?.dockerfile?.text).not.toContain("ENTRYPOINT");
  expect(cells[0]?.inputDigest).not.toBeNull();
  const { told: ofScratch } = await planned("FROM scratch");
  expect(ofScratch.map(({ base }) => base)).toEqual(["scratch", "scratch"]);
  const { told: ofRun } = await planned("FROM debian:12\nRUN make", { start: bare });
  expect(ofRun).toEqual([]);
});

test("a base that cannot be read leaves no digest, unless the Dockerfile says all", async () => {
  const { cells, told } = await planned("FROM debian:12", { start: null });
  expect(told.map(({ why }) => why)).toEqual(["unread", "unread"]);
  expect(cells.map(({ inputDigest }) => inputDigest)).toEqual([null, null]);
  const whole = await planned('FROM debian:12\nRUN make\nENTRYPOINT ["a"]', { start: null });
  expect(whole.told).toEqual([]);
  expect(wordsIn(whole.cells[0]?.dockerfile?.text ?? "", "ENTRYPOINT")).toEqual([...guardOf(1), "a"]);
});

test("the lock keeps the base's program, so that a machine without a registry plans the same", async () => {
  const { cells } = await planned("FROM debian:12");
  const built = { digest, manifest: null, blobs: null, buildMs: 1, image: null, attested: undefined };
  const measured = { rules: 1, cpu: { unused: ["avx2"] }, cuda: null };
  const images = Object.fromEntries(
    requireReady(cells).map((each) => [
      each.cell.id,
      lockEntryOf(
        each,
        { ...built, signed: undefined, measured },
        { described: "docker", localEngine: null },
        "2026-11-29T00:00:00Z",
      ),
    ]),
  );
  const image = images["x86-64-v3"];
  expect(image).toMatchObject({ guard: true, bases: [{ config: { start: base } }] });
  // The guard asks for the whole march.
  expect(image?.measured?.cpu.unused).toEqual([]);
  const again = await planned("FROM debian:12", { start: null }, { pins: { images } });
  expect(again.cells.map(({ inputDigest }) => inputDigest)).toEqual(
    cells.map(({ inputDigest }) => inputDigest),
  );
});
