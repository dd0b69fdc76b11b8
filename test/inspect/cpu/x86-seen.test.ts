import { createHash } from "node:crypto";
import { Decoder, DecoderOptions, Instruction } from "iced-x86";
import { expect, it } from "vitest";
import { asSeen, seenInstructions } from "../../../src/inspect/cpu/x86-seen.ts";

const prefixes = [
  ...[[], [0x66], [0xf2], [0xf3], [0x48], [0x41], [0x66, 0x48], [0xf3, 0x4f]],
  ...[[0x67], [0x2e], [0xf0], [0x66, 0xf3], [0x48, 0x66]],
];
const maps = [[], [0x0f], [0x0f, 0x38], [0x0f, 0x3a]];
const vexes = [
  ...[0x78, 0x70, 0xfd, 0x09].map((second) => [0xc5, second]),
  ...[0xe1, 0xe2, 0x62, 0xc3, 0x40, 0x28].flatMap((first) =>
    [0x79, 0xfd, 0x30].map((second) => [0xc4, first, second]),
  ),
  ...[
    [0x48, 0xc5, 0x78],
    [0x8f, 0xe8, 0x78],
    [0x62, 0xf1, 0x7c],
    [0x62, 0xf1, 0x7c, 0x48],
    [0x62, 0x61, 0xfd, 0x28],
    [0x62, 0xf2, 0x7d, 0x4f],
    [0x62, 0xf3, 0x35, 0x08],
    [0x62, 0xf5, 0x7e, 0xd8],
  ],
];
const beginnings = [...prefixes.flatMap((prefix) => maps.map((map) => [...prefix, ...map])), ...vexes];

const slot = 32;

/** The same bytes in each run: hashes in a row. */
const noise = Buffer.concat(
  Array.from({ length: 1000 }, (_, index) => createHash("sha256").update(`${index}`).digest()),
);

/** Every opcode with a part of all ModRM, twice, with other bytes behind. */
function instancesOf(beginning: readonly number[]): Buffer {
  const bytes = Buffer.alloc(256 * 2 * 37 * slot);
  let at = 0;
  for (let opcode = 0; opcode < 256; opcode++)
    for (let turn = 0; turn < 2; turn++)
      for (let form = opcode % 7; form < 256; form += 7) {
        bytes.set([...beginning, opcode, form], at);
        const from = (at / slot) % (noise.length - slot);
        noise.copy(bytes, at + beginning.length + 2, from, from + 15);
        at += slot;
      }
  return bytes.subarray(0, at);
}

it("tells of each opcode with each ModRM what the library tells, whatever stands behind", {
  timeout: 180_000,
}, () => {
  const seen = seenInstructions();
  const instruction = new Instruction();
  const wrong: string[] = [];
  let told = 0;
  for (const beginning of beginnings) {
    const bytes = instancesOf(beginning);
    const decoder = new Decoder(64, bytes, DecoderOptions.None);
    for (let at = 0; at < bytes.length; at += slot) {
      decoder.position = at;
      decoder.decodeOut(instruction);
      const theirs = asSeen(instruction.code, instruction.length);
      const ours = seen.find(bytes, at);
      if (ours === 0) seen.keep(theirs);
      else told++;
      if (ours !== 0 && ours !== theirs) wrong.push(bytes.toString("hex", at, at + slot));
    }
    decoder.free();
  }
  instruction.free();
  expect(wrong).toEqual([]);
  expect(told).toBeGreaterThan(100_000);
});

it("asks the library at the end of the bytes, where an instruction may be cut off", () => {
  const seen = seenInstructions();
  const bytes = Buffer.alloc(20, 0x90);
  expect(seen.find(bytes, 0)).toBe(0);
  seen.keep(asSeen(7, 1));
  expect([seen.find(bytes, 1), seen.find(bytes, 6)]).toEqual([asSeen(7, 1), 0]);
});
