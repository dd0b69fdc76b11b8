/** Code of several nvcc in one folder: the answer on each driver, beside what the driver's own table of PTX says of each module. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adoptedImage } from "../../../src/inspect/adopt/adopted-image.ts";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { checkImage } from "../../../src/resolve/check-image.ts";
import { checkOptions, timeoutMs } from "../../properties/support/runs.ts";
import { gpu, gpuHost } from "../../resolve/support/hosts.ts";
import { makeFolder } from "../../support/folders.ts";
import { isaOfNvcc } from "../support/cuda-tools.ts";
import { makeContainer, makeCubin, makeEntry } from "../support/make-fatbin.ts";
import { makeLibrary } from "../support/make-library.ts";

const folders = makeFolder({});
const releases = Object.keys(isaOfNvcc);
const numbers = (version: string) => version.split(".").map(Number) as [number, number];
const place = (release: string) => releases.indexOf(release);
const majorOf = (release: string) => Number(release.split(".")[0]);
/** The first nvcc that wrote an ISA: its CUDA is what a driver must know. */
const firstWith = (isa: string) => releases.find((release) => isaOfNvcc[release] === isa) ?? "";

/** Release notes, "CUDA Toolkit and Corresponding Driver Versions". */
const drivers: Readonly<Record<string, string>> = {
  "12.0": "525.60.13",
  "12.2": "535.54.03",
  "12.4": "550.54.15",
  "12.5": "555.42.06",
  "12.6": "560.35.03",
  "12.8": "570.124.06",
  "12.9": "575.57.08",
  "13.0": "580.95.05",
  "13.1": "590.44.01",
  "13.3": "610.43.02",
};
const cards = ["8.0", "8.6", "8.9", "9.0"];

/** A library, or a text of PTX that a program loads by its name. */
interface Part {
  readonly nvcc: string;
  readonly sass: readonly number[];
  readonly ptx: readonly number[];
  readonly isText: boolean;
}

const target = fc.constantFrom(80, 86, 89, 90);
const nvcc = fc.constantFrom(...releases);
const library: fc.Arbitrary<Part> = fc.record({
  nvcc,
  sass: fc.uniqueArray(target, { maxLength: 2 }),
  ptx: fc.uniqueArray(target, { minLength: 1, maxLength: 2 }),
  isText: fc.constant(false),
});
const text: fc.Arbitrary<Part> = fc.record({
  nvcc,
  sass: fc.constant([]),
  ptx: target.map((one) => [one]),
  isText: fc.constant(true),
});
const mixture = fc
  .tuple(fc.array(library, { minLength: 1, maxLength: 3 }), fc.array(text, { maxLength: 2 }))
  .map(([libraries, texts]) => [...libraries, ...texts]);

function write({ nvcc: release, sass, ptx, isText }: Part, runtime: number): Uint8Array | string {
  const isa = isaOfNvcc[release] ?? "";
  if (isText)
    return `.version ${isa}\n.target sm_${ptx[0]}\n.address_size 64\n.visible .entry k() { ret; }\n`;
  // Up to CUDA 12 machine code says in its header which nvcc wrote it.
  const payload = (arch: number) =>
    majorOf(release) > 12 ? new Uint8Array(16) : makeCubin(arch, Number(release.replace(".", "")));
  const entries = [
    ...sass.map((arch) =>
      makeEntry({ kind: 2, arch, version: [1, majorOf(release) - 5], payload: payload(arch) }),
    ),
    ...ptx.map((arch) => makeEntry({ kind: 1, arch, version: numbers(isa) })),
  ];
  const sections = [{ name: ".nv_fatbin", bytes: makeContainer(entries) }];
  return makeLibrary({ needed: [`libcudart.so.${runtime}`], sections });
}

const runtimeOf = (parts: readonly Part[]) =>
  Math.max(...parts.filter(({ isText }) => !isText).map(({ nvcc }) => majorOf(nvcc)));

async function measured(parts: readonly Part[]) {
  const root = mkdtempSync(join(folders, "mixture-"));
  try {
    const runtime = runtimeOf(parts);
    writeFileSync(join(root, `libcudart.so.${runtime}`), makeLibrary({}));
    for (const [index, part] of parts.entries())
      writeFileSync(join(root, part.isText ? `${index}.ptx` : `lib${index}.so`), write(part, runtime));
    return adoptedImage(await openFromFolder(root, { platform: "linux/amd64", cache: noCache }), {});
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** PTX of one target by its newest ISA, as an image's code has it: a program may load any of its modules. */
function isas(parts: readonly Part[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const { nvcc: release, ptx } of parts)
    for (const arch of ptx)
      if (place(firstWith(found.get(arch) ?? "")) < place(firstWith(isaOfNvcc[release] ?? "")))
        found.set(arch, isaOfNvcc[release] ?? "");
  return found;
}

/** By the CUDA that a driver knows: its major loads the libraries, and each module for itself. */
function loads(parts: readonly Part[], known: string, card: string): "sass" | "ptx" | null {
  if (majorOf(known) < runtimeOf(parts)) return null;
  const [major, minor] = numbers(card);
  const sass = parts.flatMap((part) => part.sass);
  if (sass.some((arch) => Math.floor(arch / 10) === major && arch % 10 <= minor)) return "sass";
  const understood = [...isas(parts)].some(
    ([arch, isa]) => arch <= 10 * major + minor && place(firstWith(isa)) <= place(known),
  );
  return understood ? "ptx" : null;
}

describe("a mixture of code of nvcc 12.0 to 13.5", () => {
  it("loads where the driver knows the ISA of a module, whatever toolkit lies beside", {
    timeout: timeoutMs,
  }, async () => {
    let older = 0;
    await fc.assert(
      fc.asyncProperty(mixture, async (parts) => {
        const { requires, undecided } = await measured(parts);
        expect(undecided).toEqual([]);
        for (const [known, driver] of Object.entries(drivers))
          for (const compute of cards) {
            const host = gpuHost([gpu({ name: "card", compute })], driver, known);
            const entry = { requires, adopted: { cpu: "estimated" } } as const;
            const { fits } = checkImage({ platform: "linux/amd64", requires: null, env: [], entry }, host);
            const expected = loads(parts, known, compute);
            expect({ known, compute, code: requires.cuda?.code, fits }).toMatchObject({
              fits: expected !== null,
            });
            // Here the toolkit alone would say no.
            if (expected === "ptx" && place(known) < place(requires.cuda?.toolkit ?? "")) older++;
          }
      }),
      checkOptions,
    );
    expect(older).toBeGreaterThan(0);
  });
});
