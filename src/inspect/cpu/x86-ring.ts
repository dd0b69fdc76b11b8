/** Decodes instructions with iced-x86, and keeps those of which an older form may be made. */

import { Decoder, DecoderOptions, Instruction } from "iced-x86";
import { known } from "./x86-codes.ts";
import { type History, historyLength } from "./x86-pairs.ts";
import { rawDecoder } from "./x86-raw.ts";
import { asSeen } from "./x86-seen.ts";

const { isLearned } = known;

/** The last instructions with a part in an older form, which are decoded where bytes seen before do not tell enough. */
export function createRing(bits: 32 | 64) {
  const instructions = Array.from({ length: historyLength }, () => new Instruction());
  /** Their places in the window; -1 for those that are decoded. */
  const undecoded = new Int32Array(historyLength).fill(-1);
  let decoder: Decoder | null = null;
  let raw: ReturnType<typeof rawDecoder> | null = null;
  /** The place of the decoder. */
  let reached = 0;

  /** Returns the form and the length in one number. */
  function decodeAt(position: number, turn: number): number {
    if (decoder === null || raw === null) return 0;
    if (reached !== position) decoder.position = position;
    raw.decode(turn);
    undecoded[turn] = -1;
    const [code, length] = [raw.code(turn), raw.length(turn)];
    if (isLearned[code] === 0) known.learn(code, instructions[turn] as Instruction);
    reached = position + length;
    return asSeen(code, length);
  }

  const history: History = {
    parts: new Uint8Array(historyLength),
    numbers: new Float64Array(historyLength),
    turn: 0,
    number: historyLength,
    instruction(turn) {
      const place = undecoded[turn] ?? -1;
      if (place >= 0) decodeAt(place, turn);
      return instructions[turn] as Instruction;
    },
  };
  return {
    ...{ history, undecoded, decodeAt },
    setWindow(bytes: Uint8Array) {
      // An older form may begin in the last window, whose bytes the decoder still has.
      for (let turn = 0; turn < historyLength; turn++)
        if (history.parts[turn] !== 0) history.instruction(turn);
      decoder?.free();
      decoder = new Decoder(bits, bytes, DecoderOptions.None);
      raw = rawDecoder(decoder, instructions);
      reached = 0;
    },
    free() {
      decoder?.free();
      for (const instruction of instructions) instruction.free();
    },
  };
}
