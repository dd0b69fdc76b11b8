/**
 * Reads what iced-x86 has decoded from the memory of its WebAssembly. Its own getters are calls into WebAssembly, and there are tens of millions of
 * instructions: with code and length read here, decoding takes three fifths of the time.
 */

import * as iced from "iced-x86";

interface Wasm {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly decoder_decodeOut: (decoder: number, instruction: number) => void;
}

/** As wasm-bindgen makes them: the library's types have neither. */
const { memory, decoder_decodeOut: decodeAt } = (iced as unknown as { readonly __wasm: Wasm }).__wasm;
const pointerOf = (object: object): number => (object as { readonly __wbg_ptr: number }).__wbg_ptr;

/** Bytes of an instruction. */
const instructionBytes = 48;

/** Places in an instruction. Found by decoding, as no document of the library has them. */
const fields = findFields();

/** The memory moves when it grows, as by the decoder of another file that is inspected at the same time: a view of before is empty then. */
export function rawDecoder(decoder: iced.Decoder, instructions: readonly iced.Instruction[]) {
  const from = pointerOf(decoder);
  let [words, bytes] = [new Uint16Array(memory.buffer), new Uint8Array(memory.buffer)];
  const pointers = Uint32Array.from(instructions, pointerOf);
  const codes = pointers.map((pointer) => (pointer + fields.code) >> 1);
  const lengths = pointers.map((pointer) => pointer + fields.length);
  return {
    /** Decodes into the instruction of this number. */
    decode(turn: number): void {
      decodeAt(from, pointers[turn] ?? 0);
      if (bytes.length === 0)
        [words, bytes] = [new Uint16Array(memory.buffer), new Uint8Array(memory.buffer)];
    },
    code: (turn: number): number => words[codes[turn] ?? 0] ?? 0,
    length: (turn: number): number => bytes[lengths[turn] ?? 0] ?? 0,
  };
}

/** The only places that hold the codes and lengths of three unlike instructions. */
function findFields(): { readonly code: number; readonly length: number } {
  const samples = [
    [0x83, 0xc0, 0x01],
    [0x62, 0xf1, 0xfe, 0xcb, 0x6f, 0x50, 0x01],
    [0x66, 0x0f, 0x38, 0x00, 0xc1],
  ].map((bytes) => {
    const decoder = new iced.Decoder(64, Uint8Array.from(bytes), iced.DecoderOptions.None);
    const instruction = decoder.decode();
    const raw = Buffer.from(memory.buffer, pointerOf(instruction), instructionBytes);
    const sample = { raw: Buffer.from(raw), code: instruction.code, length: bytes.length };
    instruction.free();
    decoder.free();
    return sample;
  });
  const places = Array.from({ length: instructionBytes }, (_, place) => place);
  const codes = places.filter(
    (at) => at % 2 === 0 && samples.every(({ raw, code }) => raw.readUInt16LE(at) === code),
  );
  const lengths = places.filter((at) => samples.every(({ raw, length }) => raw[at] === length));
  const [code] = codes;
  // The address behind an instruction at 0 is its length too, and stands first.
  const length = lengths.at(-1);
  if (code === undefined || length === undefined || codes.length > 1 || lengths.length > 2)
    throw new Error("another iced-x86 than 1.21: its instructions look otherwise");
  return { code, length };
}
