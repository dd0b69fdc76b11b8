import { describe, expect, it } from "vitest";
import { inspectLines } from "../../../src/cli/inspect-lines.ts";
import { styleFor } from "../../../src/cli/report/style.ts";
import { folderCache } from "../../../src/inspect/image/layer-cache.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { makeFolder } from "../../support/folders.ts";
import { audit, cuda12, declared, madeFile, madeImage, type MadeProgram } from "../support/made-opened.ts";

const amd = (path: string, ...targets: readonly string[]): MadeProgram => ({
  path,
  amd: {
    targets: targets.map((target) => ({
      target,
      version: target.endsWith("-generic") ? 1 : null,
      modules: 1,
    })),
  },
});
const inspected = (...programs: readonly MadeProgram[]) => inspectionOf(madeImage(programs.map(madeFile)));
const cards = (...programs: readonly MadeProgram[]) =>
  inspected(...programs).amd?.cards.map(({ target, without }) => [target, ...without].join(" "));

describe("an image serves the cards that all its libraries have code for", () => {
  it("and names the library that has none", () =>
    expect(
      cards(
        amd("/app", "gfx942", "gfx1201"),
        amd("/rocblas/library/Kernels_gfx942.hsaco", "gfx942"),
        amd("/rocblas/library/Kernels_gfx1100.hsaco", "gfx1100"),
      ),
    ).toEqual(["gfx942", "gfx1100 /app", "gfx1201 /rocblas/library"]));

  it("by the generic target too, and by SPIR-V, which alone is for no certain card", () => {
    expect(cards(amd("/a.so", "gfx12-generic"), amd("/b.so", "gfx1201"))).toEqual([
      "gfx1200 /b.so",
      "gfx1201",
    ]);
    expect(cards(amd("/a.so", "gfx942:sramecc+:xnack-"), amd("/b.so", "amdgcnspirv"))).toEqual(["gfx942"]);
    expect(cards(amd("/b.so", "amdgcnspirv"))).toEqual([]);
  });

  it("whose loose objects may lie in a folder for each target", () =>
    expect(
      inspected(amd("/hsa/gfx942/fmha.co", "gfx942"), amd("/hsa/gfx950/fmha.co", "gfx950")).amd?.libraries,
    ).toEqual([{ path: "/hsa/*", targets: ["gfx942", "gfx950"] }]));

  it("and an image without is none", () => expect(inspected({ path: "/a" }).amd).toBeNull());
});

describe("what is not known", () => {
  const odd: MadeProgram = { path: "/odd.so", amd: { unknown: { "machine value 0x7f": 1 } } };
  const archives: MadeProgram = { path: "/far.so", amd: { damage: ["far"] }, unopened: ["far"] };

  it("is told", () =>
    expect(inspected(odd, archives).requires.undecided).toEqual([
      "GPU code for AMD that is not known (machine value 0x7f): more targets may be there",
      "GPU code for AMD that was not read: more targets may be there",
    ]));

  it("hides no lie about code for NVIDIA", () => {
    const image = madeImage([{ path: "/a.so", targets: ["sm_80"] }, odd, archives].map(madeFile));
    const { lies } = audit(image, declared("x86-64-v2", cuda12(["sm_90"])));
    expect(lies.map(({ code }) => code)).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
  });
});

it("the answer for people has both, and the cards", () => {
  const image = inspected(
    { ...amd("/app", "gfx942", "gfx11-generic", "gfx1201"), targets: ["sm_90"], toolkit: "12.8" },
    amd("/blas/k.co", "gfx942"),
    { path: "/xpu.so", sycl: { spir64: 9 } },
  );
  const lines = inspectLines(image, { allFiles: false, style: styleFor(false) }).join("\n");
  expect(lines).toMatch(/\/app +baseline +sm_90 gfx942 gfx11-generic gfx1201/);
  expect(lines).toMatch(/\/xpu\.so +baseline +sycl:spir64/);
  expect(lines).toMatch(/GPU code +sm_90 gfx942 gfx11-generic gfx1201 sycl:spir64/);
  expect(lines).toMatch(/AMD cards +gfx942\n/);
  expect(lines).toMatch(/AMD, partly +gfx1100 .* gfx1201: no code in \/blas\/k\.co/);
});

it("what is known of an opened layer keeps it", async () => {
  const [layer] = madeImage([
    madeFile({ ...amd("/a.so", "gfx11-generic", "gfx90a:xnack-"), sycl: { spir64: 9 } }),
    madeFile({ path: "/b.so", amd: { unknown: { "machine value 0x7f": 2 }, damage: ["far"], unlinked: 1 } }),
  ]).layers;
  const cache = folderCache(makeFolder({}));
  const digest = digestOf("layer");
  if (layer === undefined) throw new Error("no layer");
  const { changes, size } = layer;
  await cache.keep(digest, { changes, size });
  expect(await cache.find(digest)).toEqual({ changes, size });
});
