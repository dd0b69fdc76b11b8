/** Whatever `check` does not call a yes has a code, a message and a cure: packages, wheels, images and locks on random hosts. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gpuVendors } from "../../src/hardware/gpu-vendors.ts";
import { libcMismatch, variantMismatch } from "../../src/inspect/system-needs.ts";
import { judgeGpuUse } from "../../src/node/judge-part.ts";
import { imageOf, type KnownPart, partsOf, unopened } from "../../src/node/known-parts.ts";
import type { PartAnswer } from "../../src/node/check-answer.ts";
import { together } from "../../src/node/sum-parts.ts";
import { type DescribedImage, unprovedCodes } from "../../src/resolve/check-image.ts";
import { efforts } from "../../src/resolve/verdict.ts";
import {
  madeFile,
  madeImage,
  madePackage,
  type MadeProgram,
  unopenedFile,
} from "../inspect/support/made-opened.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { anyHost, anyImage } from "./support/machines.ts";
import { assertSeen, oracleRuns, timeoutMs } from "./support/runs.ts";

const codes: ReadonlySet<string> = new Set([
  ...Object.keys(efforts),
  ...unprovedCodes,
  libcMismatch,
  variantMismatch,
]);
const some = <Value>(values: readonly Value[], maxLength = 3) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength });

const anyProgram: fc.Arbitrary<Omit<MadeProgram, "path">> = fc.record(
  {
    targets: some(["sm_70", "sm_80", "sm_90a", "compute_80", "compute_90"]),
    toolkit: fc.constantFrom("11.8", "12.8", "13.0"),
    unknownKind: fc.constantFrom(77),
    uses: some(["avx", "avx2", "avx512f", "fma"]),
    asks: some(["cpuid"], 1),
    needed: some(["libcudart.so.12", "libcudart.so.13", "libcuda.so.1", "libfile0.so"], 2),
    machine: fc.constantFrom("x86_64", "aarch64", "riscv"),
    libc: fc.constantFrom(
      { name: "glibc", version: "2.28" } as const,
      { name: "musl", version: null } as const,
    ),
    amd: fc.constant({ targets: [{ target: "gfx942", version: null, modules: 1 }] }),
    unopened: some(["encrypted"], 1),
  },
  { requiredKeys: [] },
);
/** With modules for the CPU beside its code for GPUs. */
const beside = madePackage(
  "beside",
  { path: "beside/_C.abi3.so" },
  { path: "beside/libgpu.so", targets: ["sm_80"], toolkit: "12.8" },
);
const anyPackage = fc.oneof(
  { weight: 1, arbitrary: fc.constant(beside) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom("torch", "app", "nvidia_cublas", "numba"),
        fc.array(
          fc.tuple(fc.constantFrom("file0.so", "lib/libfile1.so", "tests/data.so", "_C.abi3.so"), anyProgram),
          { maxLength: 3 },
        ),
      )
      .map(([name, files]) =>
        madePackage(name, ...files.map(([path, program]) => ({ ...program, path: `${name}/${path}` }))),
      ),
  },
);
const anyEnvironment = fc
  .tuple(fc.array(anyPackage, { maxLength: 3 }), fc.array(anyProgram, { maxLength: 2 }), fc.boolean())
  .map(([packages, loose, isClosed]) =>
    madeImage([
      ...packages.flat(),
      ...loose.map((program, index) => madeFile({ ...program, path: `/opt/libfile${index}.so` })),
      ...(isClosed ? [unopenedFile("opt/a.zip")] : []),
    ]),
  );
const paths = [
  null,
  "./venv",
  "./app-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
  "./app-1.0-py3-none-win_amd64.whl",
  "./app-1.0-py3-none-any-x8.whl",
  "./odd.whl",
];
const described = (platform: string, more: Partial<DescribedImage> = {}): DescribedImage => ({
  platform,
  requires: null,
  env: [],
  ...more,
});

/** The parts of a subject as `check` knows them: by files, by a lock's entry, by a label, by the environment. */
const anyParts: fc.Arbitrary<readonly KnownPart[]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(anyEnvironment, fc.constantFrom(...paths), fc.constantFrom("linux/amd64", "linux/arm64"))
      .map(([image, path, platform]) =>
        path === null
          ? imageOf(image, described(platform)).parts
          : partsOf({ ...image, platform: null, source: "folder" }, described(platform), path),
      ),
  },
  {
    weight: 2,
    arbitrary: anyImage.map((entry): readonly KnownPart[] => [
      { ...unopened, judgedBy: "lock", described: described(entry.platform, { entry }) },
    ]),
  },
  {
    weight: 1,
    arbitrary: anyImage.map(({ platform, requires }): readonly KnownPart[] => [
      {
        ...unopened,
        judgedBy: "label",
        described: described(platform, { requires: JSON.stringify(requires) }),
      },
    ]),
  },
  {
    weight: 1,
    arbitrary: some([
      "CUDA_VERSION=13.0.1",
      "NVIDIA_REQUIRE_CUDA=cuda>=12.4",
      "NVIDIA_REQUIRE_CUDA=odd>=1",
    ]).map((env): readonly KnownPart[] => [
      { ...unopened, judgedBy: "environment", described: described("linux/amd64", { env }) },
    ]),
  },
);
const problem = { code: "HOST_NO_PERMISSION", message: "/dev/nvidiactl may not be opened" } as const;
const hosts = fc.oneof(anyHost, fc.constant(cpuHost({ amd: null })));
const anyHere = fc.option(
  fc
    .tuple(
      fc.constantFrom(
        { name: "glibc", version: "2.17" } as const,
        { name: "musl", version: null } as const,
        null,
      ),
      fc.boolean(),
    )
    .map(([libc, isMute]) => ({
      libc,
      mute: new Map(gpuVendors.map((vendor) => [vendor, isMute ? problem : null])),
    })),
);
const anyChoice = fc.constantFrom(
  { cpuOnly: false, requireGpu: false },
  { cpuOnly: true, requireGpu: false },
  { cpuOnly: false, requireGpu: true },
);

function holds({ fits, why, reasons, unknown }: PartAnswer, seen: Set<string>): void {
  const all = [...reasons, ...unknown];
  for (const { code, message, fix } of all) {
    seen.add(code);
    expect({ code, isKnown: codes.has(code) }).toEqual({ code, isKnown: true });
    expect(message).not.toBe("");
    expect({ code, message, fix: fix.trim() }).not.toMatchObject({ fix: "" });
    expect(fix).not.toBe(message);
  }
  if (fits === true) expect(all).toEqual([]);
  else expect({ fits, why }).toEqual({ fits, why: expect.stringMatching(/\S/) });
  if (fits === false) expect(reasons).not.toEqual([]);
  if (fits === null) expect([reasons, unknown.length > 0]).toEqual([[], true]);
}

describe("an answer of check that is no yes", () => {
  it("has a code, a message and a cure, for a package and for the whole", { timeout: timeoutMs }, () => {
    const seen = new Set<string>();
    const property = fc.property(anyParts, hosts, anyHere, anyChoice, (parts, host, here, choice) => {
      const asked = { host, here, choice };
      const judged = parts.map((part) => judgeGpuUse(part, asked, parts.length > 1));
      for (const { answer } of judged) holds(answer, seen);
      if (parts.length > 1) holds(together(judged, asked).answer, seen);
    });
    // `test/properties/resolve.test.ts` asks about the others.
    const wanted = [...unprovedCodes, libcMismatch, "ARCH_MISMATCH", "HOST_BROKEN", "NO_GPU", "NO_GPU_CODE"];
    assertSeen(property, { numRuns: 4 * oracleRuns }, () => wanted.every((code) => seen.has(code)));
  });
});
