/** `resolve` tells on standard error the choices that nobody asked for. Standard output stays one line. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const vision = join(import.meta.dirname, "../../docs/examples/vision");
const whole = join(vision, "images/imgmatch.lock.json");
const answer = /^registry\.example\.com\/team\/vision:\S+@sha256:[0-9a-f]{64}\n$/;

/** The fleet's images that `keep` chooses. */
function lockOf(keep: (cell: string) => boolean): string {
  const lock = JSON.parse(readFileSync(whole, "utf8"));
  const images = Object.fromEntries(Object.entries(lock.images).filter(([cell]) => keep(cell)));
  return join(makeFolder({ "lock.json": JSON.stringify({ ...lock, images }) }), "lock.json");
}

const resolve = (host: string, lock: string, ...flags: string[]) =>
  runInProcess(["resolve", "--host", join(vision, `hosts/${host}.json`), "--lock", lock, ...flags]);

test("a GPU that stays unused, with the nearest GPU image's reason; --require-gpu takes none then", async () => {
  // Of the GPU images only those for Hopper: an RTX 4090 runs none of their code.
  const lock = lockOf((cell) => /^none_|_9\.0a_/.test(cell));
  const pin = ["--pin", "python=3.12"];
  const found = await resolve("rtx4090", lock, ...pin);
  expect(found, found.err).toMatchObject({ exit: 0, out: expect.stringMatching(answer) });
  expect(found.out).toContain("-none_");
  expect(found.err).toMatch(/RTX 4090.*12\.8\.1_9\.0a_\S+: [A-Z_]+: /s);
  const required = await resolve("rtx4090", lock, "--require-gpu", ...pin);
  expect(required).toMatchObject({ exit: 3, out: "" });
  expect(required.err).toContain("NO_MATCH");
});

test("a value of a free axis that nobody pinned, where several fit", async () => {
  const free = await resolve("h100", whole);
  expect(free).toMatchObject({ exit: 0, out: expect.stringMatching(answer) });
  expect(free.err).toBe("not pinned: python=3.12 was taken, 3.11 fits too: --pin python=VALUE\n");
  expect((await resolve("h100", whole, "--pin", "python=3.12")).err).toBe("");
  const one = await resolve(
    "h100",
    lockOf((cell) => cell.endsWith("_3.11")),
  );
  expect(one.exit).toBe(0);
  expect(one.err).not.toContain("not pinned");
});

test("the nearest misses first where no image fits", async () => {
  const { exit, out, err } = await resolve(
    "laptop",
    lockOf((cell) => !cell.startsWith("none")),
  );
  expect({ exit, out }).toEqual({ exit: 3, out: "" });
  const codes = Array.from(err.matchAll(/^ {2}\S+.*?: ([A-Z_]+): /gm), ([, code]) => code);
  // It lacks a GPU for all of them, and for some the CPU's features too: another GPU is less than another machine.
  expect(codes).toEqual(["NO_GPU", "CPU_FEATURES_MISSING"]);
});
