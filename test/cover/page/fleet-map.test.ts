import { describe, expect, it } from "vitest";
import type { CoveredImage } from "../../../src/cover/image-use.ts";
import { compareValues, mapFleet, noValue } from "../../../src/cover/page/fleet-map.ts";

function image(axes: Readonly<Record<string, string>>, platform = "linux/amd64"): CoveredImage {
  const cell = Object.values(axes).join("_");
  return {
    cell,
    axes,
    platform,
    hosts: 1,
    pinned: 0,
    fits: 1,
    alwaysBeatenBy: [],
    beatenBy: [],
    nearest: null,
  };
}

describe("the map of a fleet", () => {
  it("has GPUs across, all other axes down, and each image once", () => {
    const images = ["12.10.0", "12.8.1", "none"].flatMap((cuda) =>
      ["x86-64-v3", "znver4"].map((march) =>
        image({ cuda, compute: cuda === "none" ? "none" : "9.0", march, python: "3.12" }),
      ),
    );
    const map = mapFleet(images);
    expect([map.across, map.columns, map.down]).toEqual(["compute", ["9.0", "none"], ["cuda", "march"]]);
    expect(map.rows.map(({ values }) => values.join(" "))).toEqual([
      "12.8.1 x86-64-v3",
      "12.8.1 znver4",
      "12.10.0 x86-64-v3",
      "12.10.0 znver4",
      "none x86-64-v3",
      "none znver4",
    ]);
    expect(map.rows.flatMap(({ cells }) => cells.flat())).toHaveLength(images.length);
    expect(map.same).toEqual([
      ["platform", "linux/amd64"],
      ["python", "3.12"],
    ]);
    expect(mapFleet(images, "march").columns).toEqual(["x86-64-v3", "znver4"]);
    expect(mapFleet(images, "python").across).toBe("compute");
  });

  it("takes another axis where GPUs would be too wide, and none where nothing differs", () => {
    const wide = Array.from({ length: 13 }, (_, index) =>
      image({ compute: `${index}.0`, cuda: String(index % 2) }),
    );
    expect(mapFleet(wide).across).toBe("cuda");
    const one = mapFleet([image({ cuda: "none" })]);
    expect([one.across, one.rows.map(({ cells }) => cells.map((list) => list.length))]).toEqual([
      null,
      [[1]],
    ]);
    expect(mapFleet([]).rows).toEqual([]);
  });

  it("keeps images apart by platform, and together where no axis tells them apart", () => {
    const images = [image({ cuda: "none" }), image({ cuda: "none" }, "linux/arm64"), image({ cuda: "none" })];
    const map = mapFleet(images);
    expect([map.across, map.rows[0]?.cells.map((list) => list.length)]).toEqual(["platform", [2, 1]]);
  });

  it("has a place for images that lack an axis", () => {
    const map = mapFleet([image({ cuda: "12.8.1", os: "a" }), image({ cuda: "12.8.1" })]);
    expect([map.columns, mapFleet([]).varied]).toEqual([["a", noValue], []]);
    expect(["10.0", "none", "9.0a", "9.0"].sort(compareValues)).toEqual(["9.0", "9.0a", "10.0", "none"]);
  });
});
