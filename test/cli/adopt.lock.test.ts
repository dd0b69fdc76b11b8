/** The answers of matrix commands about a lock that `adopt` wrote. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const adopted = image({ adopted: { cpu: "estimated" }, builder: "others" });
const lockFile = "images/imgmatch.lock.json";

function project(images: Parameters<typeof lockOf>[0]): string {
  const lock = lockOf(images);
  const cut = lock.repository.lastIndexOf("/");
  const [registry, name] = [lock.repository.slice(0, cut), lock.repository.slice(cut + 1)];
  return makeFolder({
    "matrix.yaml": `name: ${name}\nversion: "1"\nregistry: ${registry}\ntemplate: app.Dockerfile.hbs\naxes:\n  march: [x86-64-v2, x86-64-v3]\n`,
    "app.Dockerfile.hbs": "FROM registry.example.com/base:1\nRUN cc {{march.flags}} -o /app /app.c\n",
    [lockFile]: formatLock(lock),
  });
}

async function run(folder: string, args: readonly string[]) {
  return runInProcess([...args, "--matrix", join(folder, "matrix.yaml")], {
    env: { HOME: folder },
    cwd: folder,
  });
}

it.each([
  ["plan --offline"],
  ["build --dry-run --offline"],
  ["build --offline"],
  ["lock --prune"],
  ["lock --update-bases"],
  ["export bake --offline"],
  ["export github-matrix --offline"],
])("%s refuses it, and leaves it as it is", async (command) => {
  const folder = project({ "1.0": adopted });
  const before = readFileSync(join(folder, lockFile), "utf8");
  const { err, exit } = await run(folder, command.split(" "));
  expect(err).toContain("LOCK_ADOPTED: the lock holds 1 image that others built");
  expect(err).toContain("fix: name another lock for the matrix with --lock");
  expect(exit).toBe(2);
  expect(readFileSync(join(folder, lockFile), "utf8")).toBe(before);
});

it("audit asks for no matrix, and takes no flags about one", async () => {
  const folder = project({ "1.0": { ...adopted, digest: null } });
  rmSync(join(folder, "matrix.yaml"));
  expect(await run(folder, ["audit", "--remote", "--json"])).toMatchObject({
    exit: 0,
    out: expect.stringContaining('"unpublished"'),
  });
  const other = await run(folder, ["audit", "--registry", "registry.example.com/other"]);
  expect(other).toMatchObject({ exit: 2, err: expect.stringContaining("this lock is of adopted images") });
  const none = await run(folder, ["audit", "--only", "2.0"]);
  expect(none.err).toContain("fix: its cells are 1.0");
});

it("audit refuses one in which both stand", async () => {
  const { err, exit } = await run(project({ "1.0": adopted, other: image() }), ["audit"]);
  expect(err).toContain("LOCK_ADOPTED");
  expect(exit).toBe(2);
});

it("publish refuses one in which both stand", async () => {
  const { err, exit } = await run(project({ "1.0": adopted, other: image() }), ["publish"]);
  expect(err).toContain("LOCK_ADOPTED");
  expect(exit).toBe(2);
});

it("lock merge refuses to make one in which both stand", async () => {
  const folder = project({ built: image() });
  const theirs = makeFolder({ "adopted.json": formatLock(lockOf({ "1.0": adopted })) });
  const { err, exit } = await run(folder, ["lock", "merge", join(theirs, "adopted.json")]);
  expect(err).toContain("LOCK_MERGE_CONFLICT: a lock has images that imgmatch built, or adopted images");
  expect(exit).toBe(1);
});

it("lock rm drops rows of it, and sends nobody to a build", async () => {
  const folder = project({ "1.0": adopted, "2.0": adopted });
  const unknown = await run(folder, ["lock", "rm", "3.0"]);
  expect(unknown.err).toContain('CELL_NOT_FOUND: the lock has no cell "3.0"');
  expect(unknown.err).toContain("fix: its cells are 1.0, 2.0");
  const some = await run(folder, ["lock", "rm", "1.0"]);
  expect(some.err).toBe(
    "1 image removed from the lock; next: imgmatch publish --replace-index, where its index is published\n",
  );
  const last = await run(folder, ["lock", "rm", "2.0"]);
  expect(last.err).toBe("1 image removed from the lock; next: imgmatch adopt, as it is empty now\n");
});

it("lock rm of images that a matrix makes sends to the build", async () => {
  const { err } = await run(project({ built: image() }), ["lock", "rm", "built"]);
  expect(err).toBe("1 image removed from the lock; next: imgmatch build --push\n");
});
