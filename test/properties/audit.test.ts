/** Opening more never asks less: a further file, or one that cannot be opened, takes no declared feature away. */

import fc from "fast-check";
import { describe, it } from "vitest";
import type { LayerChange } from "../../src/inspect/image/layer.ts";
import { audit, declared, madeFile, madeImage, unopenedFile } from "../inspect/support/made-opened.ts";
import { checkOptions, timeoutMs } from "./support/runs.ts";

const marches = ["x86-64-v3", "x86-64-v4", "sapphirerapids", "znver3"] as const;
const features = ["avx", "avx2", "fma", "bmi1", "avx512f", "avx512vl", "vaes", "waitpkg", "rtm", "rdtscp"];

const anyFile = (path: string): fc.Arbitrary<LayerChange> =>
  fc.oneof(
    { weight: 8, arbitrary: anyProgram(path) },
    { weight: 1, arbitrary: fc.constant(unopenedFile(path)) },
  );

const anyProgram = (path: string) =>
  fc
    .record({
      uses: fc.subarray(features),
      asks: fc.constantFrom([], ["cpuid"]),
      content: fc.constantFrom("a", "b"),
      machine: fc.constantFrom("x86_64", "aarch64"),
      targets: fc.constantFrom(undefined, ["sm_80"]),
    })
    .map(({ targets, ...program }) => madeFile({ path, ...program, ...(targets ? { targets } : {}) }));

const anyLayer = (name: string) =>
  fc
    .integer({ min: 0, max: 4 })
    .chain((count) =>
      fc.tuple(...Array.from({ length: count }, (_, index) => anyFile(`/lib/${name}${index}`))),
    );

describe("a requirement that was measured", () => {
  it("keeps whatever it had when a file is added", { timeout: timeoutMs }, () => {
    const all = fc.record({
      march: fc.constantFrom(...marches),
      base: anyLayer("b"),
      own: anyLayer("o"),
      more: anyFile("/lib/more"),
      toBase: fc.boolean(),
    });
    fc.assert(
      fc.property(all, ({ march, base, own, more, toBase }) => {
        const requires = declared(march);
        const origin = { base: { kind: "layers", count: 1 } } as const;
        const before = new Set(audit(madeImage(base, own), requires, origin).measured.cpu.unused);
        const image = toBase ? madeImage([...base, more], own) : madeImage(base, [...own, more]);
        return audit(image, requires, origin).measured.cpu.unused.every((feature) => before.has(feature));
      }),
      checkOptions,
    );
  });

  it("drops only what was declared", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(fc.constantFrom(...marches), anyLayer("o"), (march, own) => {
        const requires = declared(march);
        const { unused } = audit(madeImage(own), requires).measured.cpu;
        return unused.every((feature) => requires.cpu.features.includes(feature));
      }),
      checkOptions,
    );
  });
});
