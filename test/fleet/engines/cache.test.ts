import { describe, expect, it } from "vitest";
import { cacheReference, checkCache, createCacheTargets } from "../../../src/fleet/engines/cache.ts";

describe("build cache references", () => {
  it("have a part for each cell, whatever its id", () => {
    expect(cacheReference("r.example.com/c:{cell}", "12.8.1_9.0-ptx")).toBe("r.example.com/c:12.8.1_9.0-ptx");
    const [one, other] = ["a+b", "a b"].map((cell) => cacheReference("r.example.com/c:{cell}", cell));
    expect(one).toMatch(/^r\.example\.com\/c:a-b-[0-9a-f]{8}$/);
    expect(one).not.toBe(other);
    expect(cacheReference("{cell}", "x".repeat(300)).length).toBeLessThanOrEqual(128);
  });

  it("are written by each cell, the shared ones by the first", () => {
    const targets = createCacheTargets({ from: [], to: ["r/c:{cell}", "r/c:shared", "inline"] });
    expect(targets("a")).toEqual(["r/c:a", "r/c:shared", "inline"]);
    expect(targets("b")).toEqual(["r/c:b", "inline"]);
  });

  it("are checked before anything is built", () => {
    checkCache({ from: ["registry.example.com/c:{cell}"], to: ["inline"] });
    expect(() => checkCache({ from: [], to: ["Not A Reference"] })).toThrow(
      /not the reference of a build cache/,
    );
  });
});
