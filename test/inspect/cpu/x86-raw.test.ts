import { createHash } from "node:crypto";
import { Decoder, DecoderOptions, Instruction } from "iced-x86";
import { describe, expect, it } from "vitest";
import { rawDecoder } from "../../../src/inspect/cpu/x86-raw.ts";

/** The same bytes in each run: hashes in a row. */
const bytesOf = (seed: number) =>
  Buffer.concat(
    Array.from({ length: 500 }, (_, index) => createHash("sha256").update(`${seed} ${index}`).digest()),
  );

describe.each([32, 64])("%i bits", (bits) => {
  it("has the codes and lengths that the library says, to the end of any bytes", () => {
    for (const seed of [1, 2, 3]) {
      const bytes = bytesOf(seed);
      const [ours, theirs] = [bits, bits].map((each) => new Decoder(each, bytes, DecoderOptions.None));
      if (ours === undefined || theirs === undefined) throw new Error("no decoder");
      const instruction = new Instruction();
      const raw = rawDecoder(ours, [new Instruction(), new Instruction()]);
      for (let position = 0; position < bytes.length; ) {
        raw.decode(1);
        theirs.decodeOut(instruction);
        position += raw.length(1);
        expect([raw.code(1), position]).toEqual([instruction.code, theirs.position]);
      }
    }
  });

  it("has them also after the decoder of another file made the memory grow and move", () => {
    const decoder = new Decoder(bits, Uint8Array.of(0x90, 0x90), DecoderOptions.None);
    const raw = rawDecoder(decoder, [new Instruction()]);
    const other = new Decoder(bits, new Uint8Array(2 ** 26), DecoderOptions.None);
    raw.decode(0);
    expect(raw.length(0)).toBe(1);
    other.free();
  });
});
