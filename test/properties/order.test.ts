import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lock } from "../../src/lock/lock.ts";
import { compareCandidates } from "../../src/resolve/rank.ts";
import { rankImages } from "../../src/resolve/resolve-image.ts";
import { a100, gpuHost, h100 } from "../resolve/support/hosts.ts";
import { cuda, image, lockOf } from "../resolve/support/locks.ts";
import { anyHost, anyLock, anyPrefer } from "./support/machines.ts";
import { checkOptions, timeoutMs } from "./support/runs.ts";

/** Images that all fit, with and without GPU code, alike in most steps: where strangers meet, the first step decides. */
const fitting = fc
  .array(
    fc.record({
      cuda: fc.option(
        fc.record({
          toolkit: fc.constantFrom("12.4.1", "12.8.1"),
          code: fc.constantFrom(["sm_80"], ["sm_80", "sm_90"], ["compute_80"], ["compute_70", "sm_90"]),
        }),
        { freq: 2 },
      ),
      features: fc.constantFrom(["avx"], ["avx", "avx2"], ["avx", "avx2", "fma"]),
      python: fc.constantFrom("3.11", "3.12"),
    }),
    { minLength: 3, maxLength: 6 },
  )
  .map((images) =>
    lockOf(
      Object.fromEntries(
        images.map(({ cuda: gpu, features, python }, index) => [
          `cell-${index}`,
          image({
            axes: { cuda: gpu?.toolkit ?? "none", python },
            requires: {
              cpu: { march: "any", features },
              cuda: gpu === null ? null : cuda(gpu.toolkit, gpu.code),
            },
          }),
        ]),
      ),
    ),
  );
const gpus = fc.constantFrom([a100], [h100], [a100, h100]);

const question = fc.oneof(
  fc.tuple(
    gpus.map((list) => gpuHost(list, "570.124.06", "12.8")),
    fitting,
    anyPrefer,
  ),
  fc.tuple(anyHost, anyLock, anyPrefer),
);

describe("for every prefer, the order among the images that fit", () => {
  it("is total: antisymmetric and transitive, and even only with itself", { timeout: timeoutMs }, () => {
    let compared = 0;
    fc.assert(
      fc.property(question, ([host, lock, prefer]) => {
        const { ranked, order } = rankImages(lock, host, { prefer });
        const before = ranked.map((a) => ranked.map((b) => Math.sign(compareCandidates(order, a, b))));
        for (const [a, row] of before.entries())
          for (const [b, sign] of row.entries()) {
            expect(sign === 0).toBe(a === b);
            expect(sign + (before[b]?.[a] ?? Number.NaN)).toBe(0);
            for (const [c, next] of (before[b] ?? []).entries())
              if (sign < 0 && next < 0) expect(row[c]).toBe(-1);
            if (a !== b) compared++;
          }
      }),
      checkOptions,
    );
    expect(compared).toBeGreaterThan(checkOptions.numRuns);
  });

  it("depends neither on the names of the cells nor on the order of the lock", { timeout: timeoutMs }, () => {
    let several = 0;
    fc.assert(
      fc.property(question, fc.infiniteStream(fc.nat()), ([host, lock, prefer], numbers) => {
        const others = Object.values(lock.images)
          .map((image) => ({ image, at: numbers.next().value }))
          .sort((a, b) => a.at - b.at);
        const renamed: Lock = {
          ...lock,
          images: Object.fromEntries(others.map(({ image, at }, index) => [`${at}-${index}`, image])),
        };
        const tags = (of: Lock) => rankImages(of, host, { prefer }).ranked.map(({ image }) => image.tag);
        expect(tags(renamed)).toEqual(tags(lock));
        if (tags(lock).length > 1) several++;
      }),
      checkOptions,
    );
    expect(several).toBeGreaterThan(checkOptions.numRuns / 20);
  });
});
