import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { init } from "../../src/index.ts";
import { openFleet } from "../../src/fleet/open/open-fleet.ts";
import { makeFolder } from "../support/folders.ts";

test("writes a fleet that opens as it is", async () => {
  const folder = makeFolder({});
  const { written } = await init({ name: "vision", registry: "registry.example.com/team" }, { cwd: folder });
  expect(written.every((path) => existsSync(join(folder, path)))).toBe(true);
  const { matrix, cells } = await openFleet(join(folder, "matrix.yaml"));
  expect(matrix.repository).toBe("registry.example.com/team/vision");
  expect(cells.some(({ skipped }) => skipped === null)).toBe(true);
});

test("overwrites nothing, and writes nothing beside what is there", async () => {
  const folder = makeFolder({ "matrix.yaml": "mine\n", "templates/hello.c": "mine too\n" });
  await expect(init({}, { cwd: folder })).rejects.toMatchObject({
    problems: ["matrix.yaml", "templates/hello.c"].map((file) => ({ code: "FILE_EXISTS", at: { file } })),
  });
  expect(readFileSync(join(folder, "matrix.yaml"), "utf8")).toBe("mine\n");
  expect(existsSync(join(folder, "templates/app.Dockerfile.hbs"))).toBe(false);
});

test.each(["team/app", "app:1"])("%s cannot name an image", async (name) => {
  await expect(init({ name }, { cwd: makeFolder({}) })).rejects.toMatchObject({ code: "USAGE" });
});
