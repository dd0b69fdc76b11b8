import { expect, it } from "vitest";
import { findWithoutGpu, withoutGpuRows } from "../../../src/inspect/packages/without-gpu.ts";
import { readFileSync } from "node:fs";

it("finds a package by any spelling of its name, from its version on, whatever the build", () => {
  const found = (name: string, version: string | null) => findWithoutGpu(name, version)?.package ?? null;
  expect(found("torch", "2.11.0+cu130")).toBe("torch");
  expect(found("torch", "1.10")).toBe("torch");
  expect(found("Onnxruntime_GPU", "1.30.0")).toBe("onnxruntime-gpu");
  expect([found("torch", "1.2"), found("torch", null), found("torch", "nightly")]).toEqual([
    null,
    null,
    null,
  ]);
  expect(found("torchlike", "2.0")).toBeNull();
});

it("the docs have each row with its source", () => {
  const rows = [
    ...readFileSync("docs/one-image.md", "utf8").matchAll(
      /^\| `([a-z\d-]+)` \| ([\d.]+) \| (yes|no) \| \[.*\]\((https:\S+)\) \|$/gm,
    ),
  ];
  expect(rows.map(([, name, from, works, source]) => [name, from, works, source])).toEqual(
    withoutGpuRows.map((row) => [row.package, row.from, row.works ? "yes" : "no", row.source]),
  );
});
