/** RISC-V from the matrix to the answer: cells of the profiles, and a machine whose kernel says what it has. */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { probeHost } from "../../src/host/probe-host.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../src/fleet/cells/expand.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { image, lockOf } from "./support/locks.ts";

const u74 = fileURLToPath(new URL("../fixtures/hosts/debian13-u74-none", import.meta.url));
const matrix = parseMatrix(
  'name: app\nregistry: reg.example.com\nversion: "1"\ntemplate: app.hbs\naxes:\n  march: [x86-64-v3, rv64gc, rva20u64, rva22u64, rva23u64]\n',
  "matrix.yaml",
);
const lock = lockOf(
  Object.fromEntries(
    expandMatrix(matrix).map(({ cell: { id, axes, platform, requires } }) => [
      id,
      image({ axes, platform, requires }),
    ]),
  ),
);

test("a SiFive U74 gets the image of the highest profile that it has, and is told what it lacks for the next", async () => {
  const facts = await probeHost(fixtureHostIo(u74));
  const { match, rejected } = resolveImage(lock, facts);
  expect(match?.cell).toBe("rva20u64");
  const reasons = new Map(rejected.map(({ cell, code, message }) => [cell, `${code} ${message}`]));
  expect(reasons.get("rva22u64")).toBe(
    "CPU_FEATURES_MISSING needs zbs, zfhmin, zicbom, zicboz (rva22u64), which this host's CPU does not have",
  );
  expect(reasons.get("x86-64-v3")).toBe("ARCH_MISMATCH is built for linux/amd64, this host is linux/riscv64");
});

test("where no image fits, the cell to add is of the host's level", async () => {
  const facts = await probeHost(fixtureHostIo(u74));
  const { "x86-64-v3": foreign } = lock.images;
  if (foreign === undefined) throw new Error("no such image");
  const { match, rejected } = resolveImage({ ...lock, images: { "x86-64-v3": foreign } }, facts);
  expect(match).toBeNull();
  expect(rejected[0]?.fix).toContain("linux/riscv64");
});

test("a kernel that prints no zicsr proves rv64gc", async () => {
  const io = fixtureHostIo(u74);
  const readText = (path: string) =>
    path === "/proc/cpuinfo" ? "processor\t: 0\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n" : io.readText(path);
  const facts = await probeHost({ ...io, readText });
  expect(facts.cpu.level).toBe("rv64gc");
  expect(resolveImage(lock, facts).match?.cell).toBe("rv64gc");
});
