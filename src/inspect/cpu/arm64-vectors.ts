/** Follows what AArch64 code keeps in vectors: compilers fill structures by these (DDI 0487, C4.1, "Data Processing -- Scalar Floating-Point and Advanced SIMD"). */

import * as known from "./known-bits.ts";
import type { Bits, Value } from "./known-bits.ts";
import { field, has, numberIn, stack } from "./arm64-words.ts";

type Registers = Map<number, Value>;

/** A vector is known by its halves, which stand behind the registers. */
export const halvesOf = (name: number): readonly [low: number, high: number] => [64 + name, 128 + name];

const halfOf = (registers: Registers, name: number): Bits => {
  const value = registers.get(name);
  return value === undefined || "at" in value ? known.noBits : value;
};

export function setHalf(registers: Registers, name: number, value: Value | null): void {
  const isKnown = value !== null && ("at" in value || value.asked || known.numberOf(value) !== null);
  if (isKnown) registers.set(name, value);
  else registers.delete(name);
}

const lanesOf = (registers: Registers, name: number, bytes: number): readonly Bits[] =>
  halvesOf(name).flatMap((each) => {
    const half = halfOf(registers, each);
    return Array.from({ length: 8 / bytes }, (_, lane) => {
      const cut = known.narrow(half, bytes, 8 * bytes * lane);
      return { ...cut, asked: half.asked };
    });
  });

/** Leaves lanes of so many bytes in a vector; those above are zeros. */
function setLanes(registers: Registers, name: number, lanes: readonly Bits[], bytes: number): void {
  const count = 8 / bytes;
  for (const [half, key] of halvesOf(name).entries()) {
    const own = lanes.slice(half * count, (half + 1) * count);
    const whole = own.reduce(
      (all, lane, index) => known.or(all, known.shiftLeft(known.narrow(lane, bytes), 8 * bytes * index)),
      known.constant(0),
    );
    setHalf(registers, key, whole);
  }
}

const ones = known.constant(-1);
const zero = known.constant(0);
/** All bits of a lane are what is known of one. */
const wholeOf = (bit: boolean | null, asked: boolean): Bits => ({
  ...(bit === null ? known.noBits : bit ? ones : zero),
  asked,
});

type LaneOf = (a: Bits, b: Bits, bytes: number) => Bits;

const isSet: LaneOf = (a, b, bytes) => {
  const { zero, asked } = known.flagsOfResult(known.and(a, b), bytes);
  return wholeOf(zero === null ? null : !zero, asked);
};
const isEqual: LaneOf = (a, b, bytes) => {
  const { zero, asked } = known.compared(a, b, bytes);
  return wholeOf(zero, asked);
};
/** USHL: a negative number shifts to the right. */
const shifted: LaneOf = (a, b, bytes) => {
  const all = known.numberOf(known.narrow(b, 1));
  if (all === null) return { ...known.noBits, asked: a.asked || b.asked };
  const by = all > 127 ? all - 256 : all;
  return by < 0 ? known.shiftRight(a, -by, bytes) : known.shiftLeft(a, by);
};

/** By U, size where the operation has no size, and opcode. */
function sameOf(word: number): LaneOf | null {
  const [isOther, size, code] = [field(word, 29, 1), field(word, 22, 2), field(word, 11, 5)];
  if (code === 3)
    return isOther === 0
      ? ([
          known.and,
          (a: Bits, b: Bits) => known.and(a, known.not(b)),
          known.or,
          (a: Bits, b: Bits) => known.or(a, known.not(b)),
        ][size] ?? null)
      : size === 0
        ? known.xor
        : null;
  if (code === 17) return isOther === 0 ? isSet : isEqual;
  return code === 8 && isOther === 1 ? shifted : null;
}

/** Takes a step of vectors; false for an instruction of another kind. */
export function executeVector(word: number, registers: Registers): boolean {
  if (((word >>> 25) & 7) !== 7) return false;
  const [to, one, other] = [field(word, 0, 5), field(word, 5, 5), field(word, 16, 5)];
  const isWhole = field(word, 30, 1) === 1;
  const put = (lanes: readonly Bits[], bytes: number) =>
    setLanes(registers, to, isWhole ? lanes : lanes.map((each, at) => (at * bytes < 8 ? each : zero)), bytes);
  const general = (value: Bits | null) => {
    if (to === stack) return;
    if (value !== null && (value.asked || known.numberOf(value) !== null)) registers.set(to, value);
    else registers.delete(to);
  };
  const element = field(word, 16, 5);
  const bytes = element === 0 ? 8 : element & -element;
  const index = Math.floor(element / (2 * bytes));
  const from = () => numberIn(registers, one) ?? known.noBits;
  // DUP of a register and of a lane, and INS.
  if (has(word, 0xbfe0_fc00, 0x0e00_0c00)) put(Array(16 / bytes).fill(from()), bytes);
  else if (has(word, 0xbfe0_fc00, 0x0e00_0400))
    put(Array(16 / bytes).fill(lanesOf(registers, one, bytes)[index] ?? known.noBits), bytes);
  else if (has(word, 0xffe0_fc00, 0x4e00_1c00) || has(word, 0xffe0_8400, 0x6e00_0400)) {
    const lane = Math.floor(field(word, 11, 4) / bytes);
    const value = field(word, 29, 1) === 0 ? from() : (lanesOf(registers, one, bytes)[lane] ?? known.noBits);
    setLanes(
      registers,
      to,
      lanesOf(registers, to, bytes).map((each, at) => (at === index ? value : each)),
      bytes,
    );
  }
  // UMOV, and FMOV between the kinds of registers.
  else if (has(word, 0xbfe0_fc00, 0x0e00_3c00)) general(lanesOf(registers, one, bytes)[index] ?? null);
  else if (has(word, 0x7fbf_fc00, 0x1e26_0000))
    general(known.narrow(halfOf(registers, halvesOf(one)[0]), word >>> 31 ? 8 : 4));
  else if (has(word, 0x7fbf_fc00, 0x1e27_0000)) {
    setHalf(registers, halvesOf(to)[0], known.narrow(from(), word >>> 31 ? 8 : 4));
    setHalf(registers, halvesOf(to)[1], zero);
  }
  // MOVI and MVNI.
  else if (has(word, 0x9ff8_0c00, 0x0f00_0400)) {
    const all = immediateOf(word);
    put([all, all], 8);
  } else {
    const sources = [one, ...(has(word, 0x1f20_0000, 0x0e20_0000) ? [other] : [])];
    if (!followed(word, registers, put)) {
      const isAsked = sources.some((name) => halvesOf(name).some((half) => halfOf(registers, half).asked));
      for (const half of halvesOf(to))
        setHalf(registers, half, isAsked ? { ...known.noBits, asked: true } : null);
    }
  }
  return true;
}

type Put = (lanes: readonly Bits[], bytes: number) => void;

/** Operations on lanes, shifts and permutations; false for others. */
function followed(word: number, registers: Registers, put: Put): boolean {
  const [to, one, other] = [field(word, 0, 5), field(word, 5, 5), field(word, 16, 5)];
  const isWhole = field(word, 30, 1) === 1;
  const size = 2 ** field(word, 22, 2);
  const lanes = (name: number, width: number) => lanesOf(registers, name, width);
  const same = has(word, 0x9f20_0400, 0x0e20_0400) ? sameOf(word) : null;
  if (same !== null) {
    const width = field(word, 11, 5) === 3 ? 8 : size;
    const second = lanes(other, width);
    put(
      lanes(one, width).map((each, at) => same(each, second[at] ?? known.noBits, width)),
      width,
    );
    return true;
  }
  const isMisc = has(word, 0x9f3e_0c00, 0x0e20_0800);
  const kind = field(word, 29, 1) * 32 + field(word, 12, 5);
  // NOT, CMEQ with zero, NEG of what is all zeros or ones, XTN.
  if (isMisc && kind === 37 && size === 1) put(lanes(one, 8).map(known.not), 8);
  else if (isMisc && kind === 9)
    put(
      lanes(one, size).map((each) => isEqual(each, zero, size)),
      size,
    );
  else if (isMisc && kind === 18) {
    const narrow = [...lanes(one, 2 * size), ...Array<Bits>(8 / size).fill(zero)];
    const before = lanes(to, size).slice(0, 8 / size);
    const low = narrow.slice(0, 8 / size);
    setLanes(
      registers,
      to,
      isWhole ? [...before, ...low] : [...low, ...Array<Bits>(8 / size).fill(zero)],
      size,
    );
  }
  // Shifts by a number: USHR, SSHR, SHL, and USHLL.
  else if (has(word, 0x9f80_0400, 0x0f00_0400)) {
    const width = 2 ** (31 - Math.clz32(field(word, 19, 4)));
    const number = field(word, 16, 7);
    const code = field(word, 11, 5);
    const isOther = field(word, 29, 1) === 1;
    const right = 16 * width - number;
    if (code === 0 && isOther)
      put(
        lanes(one, width).map((each) => known.shiftRight(each, right, width)),
        width,
      );
    else if (code === 10 && !isOther)
      put(
        lanes(one, width).map((each) => known.shiftLeft(each, number - 8 * width)),
        width,
      );
    else if (code === 20 && isOther) {
      const count = 8 / width;
      const wide = lanes(one, width).slice(isWhole ? count : 0, isWhole ? 2 * count : count);
      setLanes(
        registers,
        to,
        wide.map((each) => known.shiftLeft(each, number - 8 * width)),
        2 * width,
      );
    } else return false;
  }
  // UZP1, ZIP1 and their like.
  else if (has(word, 0xbf20_8c00, 0x0e00_0800)) {
    const code = field(word, 12, 3);
    const count = (isWhole ? 16 : 8) / size;
    const [a, b] = [lanes(one, size).slice(0, count), lanes(other, size).slice(0, count)];
    const part = code >> 2;
    const pick = code & 3;
    const at = (lane: number): Bits | undefined => {
      const half = count / 2;
      if (pick === 1) return lane < half ? a[2 * lane + part] : b[2 * (lane - half) + part];
      const [from, source] = [
        pick === 2 ? lane - (lane % 2) + part : (lane >> 1) + part * half,
        lane % 2 ? b : a,
      ];
      return source[from];
    };
    if (pick === 0) return false;
    put(
      Array.from({ length: 16 / size }, (_, lane) => (lane < count ? at(lane) : zero) ?? known.noBits),
      size,
    );
  } else return false;
  return true;
}

/** The eight bytes that MOVI and MVNI write (DDI 0487, AdvSIMDExpandImm); nothing is known of ORR and BIC. */
function immediateOf(word: number): Bits {
  const byte = BigInt(field(word, 16, 3) * 32 + field(word, 5, 5));
  const [mode, isOther] = [field(word, 12, 4), field(word, 29, 1) === 1];
  const repeated = (value: bigint, bits: number) => {
    let all = 0n;
    for (let at = 0; at < 64; at += bits) all |= BigInt.asUintN(bits, value) << BigInt(at);
    return all;
  };
  const shift = BigInt(8 * ((mode >> 1) & 3));
  if (mode === 14) {
    const all = [...Array(8).keys()].reduce(
      (all, at) => all | (((byte >> BigInt(at)) & 1n) * (0xffn << BigInt(8 * at))),
      0n,
    );
    return known.constant(isOther ? all : repeated(byte, 8));
  }
  if (mode > 11 || (mode & 1) === 1) return known.noBits;
  const all = mode < 8 ? repeated(byte << shift, 32) : repeated(byte << BigInt(8 * ((mode >> 1) & 1)), 16);
  return known.constant(isOther ? ~all : all);
}
