/** Files that a compiler and an assembler made, around GPU code of our own. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { inspectFile } from "../../src/inspect/inspect-file.ts";
import { inspect } from "../../src/inspect/inspect-subjects.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoGcc } from "../support/programs.ts";
import { gpuFile } from "./support/make-image.ts";

const folder = makeFolder(
  {
    "k.s": '.section .nv_fatbin,"a"\n.incbin "k.fatbin"\n',
    "compares.c":
      "int main(int c, char **v) { return *(unsigned *)v[0] == 0xBA55ED50u || (long)v == 0x00100001BA55ED50; }\n",
  },
  "imgmatch-inspect-file-",
);

const gcc = (...args: readonly string[]) => execFileSync("gcc", args, { cwd: folder });
const inspected = (name: string) => inspectFile(memorySource(readFileSync(join(folder, name))), false);

describe("a file", needs(whyNoGcc()), () => {
  it("of the linker's input has its GPU code, and no program", async () => {
    writeFileSync(join(folder, "k.fatbin"), gpuFile(90));
    gcc("-c", "k.s", "-o", "k.o");
    const found = await inspected("k.o");
    expect(found?.gpu?.targets).toEqual([{ target: "sm_90", modules: 1 }]);
    expect(found?.program).toBeNull();
    gcc("-c", "compares.c", "-o", "plain.o");
    expect(await inspected("plain.o")).toBeNull();
  });

  it("that compares with the first bytes of GPU code has none, damaged or whole", async () => {
    gcc("-O2", "compares.c", "-o", "compares");
    expect(
      readFileSync(join(folder, "compares")).includes(Buffer.of(0x50, 0xed, 0x55, 0xba, 1, 0, 0x10, 0)),
    ).toBe(true);
    expect(await inspected("compares")).toMatchObject({ gpu: null, unopened: [] });
  });
});

it("asked for the GPU alone finds the same code for GPUs, and knows nothing of CPUs", async () => {
  const folder = makeFolder({});
  writeFileSync(join(folder, "program"), Buffer.concat([readFileSync("/bin/true"), gpuFile(90)]));
  const env = { XDG_CACHE_HOME: join(folder, "cache") };
  const asked = { subjects: [join(folder, "program")], expect: "sm_90 march<=x86-64-v4" } as const;
  const gpuAlone = await inspect({ ...asked, only: "gpu" }, { env });
  const whole = await inspect(asked, { env });
  const again = await inspect({ ...asked, only: "gpu" }, { env });
  const [file] = gpuAlone.subjects[0]?.files ?? [];
  const [other] = whole.subjects[0]?.files ?? [];
  expect(file?.gpu).toEqual(other?.gpu);
  expect(file?.checksums).toEqual(other?.checksums);
  expect(other?.cpu).not.toBeNull();
  for (const { subjects, expected } of [gpuAlone, again]) {
    expect(subjects[0]?.requires).toMatchObject({
      cpu: { level: null },
      undecided: expect.arrayContaining([expect.stringMatching(/^code for .* is not read: /)]),
    });
    expect(subjects[0]?.files[0]?.cpu).toBeNull();
    expect(expected?.failures).toMatchObject([{ expected: "march<=x86-64-v4", isUnknown: true }]);
  }
});
