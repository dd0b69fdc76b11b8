/** Finds the CPU features of x86 code with iced-x86, which knows them for each form of an instruction. */

import { type ByteSource, windowBytes, withWindowAsync } from "../byte-source.ts";
import type { ElfSegment } from "../elf/elf.ts";
import { collectEvidence } from "./code-evidence.ts";
import { type CpuCode, createFeatureTally, withoutLinks } from "./cpu-code.ts";
import { blockBytes, type CodeRegion, type Place, type RegionKind } from "./regions.ts";
import { allForms, counters, formBits, invalidForm, jumpForms, known } from "./x86-codes.ts";
import { createJumps, displacement, type Jumps, longest } from "./x86-jumps.ts";
import { historyLength, isSwap, lastExamined, movePart, olderFormOf } from "./x86-pairs.ts";
import { createRing } from "./x86-ring.ts";
import { asSeen, formOf, lengthOf, seenInstructions } from "./x86-seen.ts";

export interface X86Code {
  readonly code: CpuCode;
  /** The parts of functions and gaps that hold `cpuid` or `xgetbv`. */
  readonly asksIn: readonly Place[];
}

/**
 * Lets other work run between windows, each of which takes about 30 ms.
 *
 * @param begin the place in the file at which a program begins; null for a library
 * @param isChosen true for places of functions that say nothing of other code
 */
export function readX86Code(
  source: ByteSource,
  regions: Iterable<CodeRegion>,
  bits: 32 | 64,
  segments: readonly ElfSegment[],
  begin: number | null = null,
  isChosen: (offset: number) => boolean = () => false,
): Promise<X86Code> {
  return withWindowAsync(async (buffer) => {
    const jumps = createJumps(source.size, segments);
    const sweep = createSweep(bits, jumps);
    if (begin !== null) jumps.jump(begin, begin);
    try {
      for (const region of regions) {
        const isTold = region.kind === "function" && !isChosen(region.offset);
        for (let at = 0; at < region.size; ) {
          // Bytes between functions are counted block by block: a stripped Go program has no others.
          const piece = Math.min(region.size - at, blockBytes[region.kind]);
          if (sweep.needsWindow(region.offset + at, piece)) {
            sweep.setWindow(source.readOver(region.offset + at, buffer), region.offset + at);
            await new Promise(setImmediate);
          }
          at +=
            region.kind === "function"
              ? sweep.countFunction(region.offset + at, region.size - at, isTold)
              : sweep.countBlock(region.offset + at, region.size - at, region.kind);
        }
      }
      return sweep.result(await jumps.follow(source, bits, sweep.sure));
    } finally {
      sweep.free();
    }
  });
}

function invalid(counts: Uint32Array): number {
  return counts[invalidForm] ?? 0;
}

const { counted, pairs, parts: partsOf, tells } = known;
/** An invalid instruction as {@link asSeen} makes it, with the greatest length. */
const lastInvalid = asSeen(invalidForm, longest);
const nextTurn = (turn: number) => (turn + 1) & (historyLength - 1);

/** Decodes parts of one window after the other. */
function createDecoding(bits: 32 | 64, { first, starts }: Jumps) {
  const ring = createRing(bits);
  const { history, undecoded, decodeAt } = ring;
  const { parts, numbers } = history;
  const seen = bits === 64 ? seenInstructions() : null;
  /** What the instructions of one function or block told: `features` and `forms` have bits of the counted features, and of encodings. */
  const told = { asks: false, features: 0, forms: 0, jumps: 0 };
  let window: Uint8Array = new Uint8Array();
  /** The window's first byte among the marked bytes. */
  let shift = 0;
  /** The places in the window to which the jumps of the decoded part lead. A jump has two bytes. */
  const targets = new Float64Array(windowBytes / 2);
  return {
    ...{ told, targets, free: ring.free },
    setWindow(bytes: Uint8Array, offset: number) {
      ring.setWindow(bytes);
      window = bytes;
      shift = offset - first;
    },
    /**
     * Returns the end of the last instruction. Codes that `counts` had not seen go into `touched`. With `isCode` false the instructions are
     * not marked, and all bytes are passed over at the first that is no instruction.
     */
    decode(from: number, to: number, counts: Uint32Array, touched: number[] | null, isCode = true): number {
      let features = 0;
      let forms = 0;
      let position = from;
      let { turn, number } = history;
      let swapAt = 0;
      let jumps = 0;
      while (position < to) {
        const place = shift + position;
        if (isCode) starts[place >>> 3] = (starts[place >>> 3] ?? 0) | (1 << (place & 7));
        number++;
        let instruction = seen === null ? 0 : seen.find(window, position);
        const isFound = instruction > lastInvalid || (instruction !== 0 && !isCode);
        if (!isFound) {
          instruction = decodeAt(position, nextTurn(turn));
          seen?.keep(instruction);
        }
        const code = formOf(instruction);
        const count = counts[code] ?? 0;
        if (count === 0) touched?.push(code);
        counts[code] = count + 1;
        const begin = position;
        position += lengthOf(instruction);
        if (tells[code] === 0) continue;
        if (!isCode && code === invalidForm) {
          position = to;
          break;
        }
        const form = counted[code] ?? 0;
        features |= form;
        if ((form & jumpForms) !== 0) targets[jumps++] = position + displacement(window, position, form);
        forms |= pairs[code] ?? 0;
        const its = partsOf[code] ?? 0;
        if (its === 0) continue;
        turn = nextTurn(turn);
        if (isFound) undecoded[turn] = begin;
        parts[turn] = its;
        numbers[turn] = number;
        if (its <= lastExamined || (its === movePart && swapAt === number - 1)) {
          history.turn = turn;
          forms |= olderFormOf(history, its);
        }
        if (isSwap(its)) swapAt = number;
      }
      history.turn = turn;
      history.number = number;
      told.asks = (features & formBits.asks) !== 0;
      told.features = features & ~allForms;
      told.forms = forms;
      told.jumps = jumps;
      return position;
    },
    /** Takes the marks of instructions away: what a jump leads to counts for itself. */
    unmark(from: number, to: number) {
      for (let place = shift + from; place < shift + to; place++)
        starts[place >>> 3] = (starts[place >>> 3] ?? 0) & ~(1 << (place & 7));
    },
  };
}

function createSweep(bits: 32 | 64, jumps: Jumps) {
  const decoding = createDecoding(bits, jumps);
  const { told } = decoding;
  const sure = counters();
  const doubtful = counters();
  const stray = counters();
  const countsFor = (place: RegionKind, isCode: boolean) =>
    place === "gap" ? (isCode ? sure : doubtful) : isCode || place === "stray" ? stray : null;
  const block = counters();
  /** Codes in `block`: most gaps have three bytes, and looking through all codes would take longer. */
  const touched: number[] = [];
  let start = 0;
  let length = -1;
  let codeBytes = 0;
  let unknownInstructions = 0;
  const evidence = collectEvidence();
  const asksIn: Place[] = [];
  /** The end of the region in the window, where the last instruction must be whole. */
  const reach = (end: number) => (end <= length ? end : Math.max(length - longest + 1, 1));

  const lead = (offset: number) => jumps.lead(offset, start, decoding.targets, told.jumps);

  return {
    sure,
    needsWindow: (offset: number, size: number) =>
      length < 0 || offset < start || (offset > start && offset + size > start + length),
    setWindow(bytes: Uint8Array, offset: number) {
      decoding.setWindow(bytes, offset);
      start = offset;
      length = bytes.length;
    },
    /** What a function that is not told asks and uses is about itself. */
    countFunction(offset: number, size: number, isTold: boolean): number {
      if (length === 0) return size;
      const counts = isTold ? sure : stray;
      const before = invalid(counts);
      const end = decoding.decode(offset - start, reach(offset - start + size), counts, null);
      unknownInstructions += invalid(counts) - before;
      lead(offset);
      told.asks &&= isTold;
      const count = consumed(offset, size, end, true);
      if (isTold) evidence.addFunction(count, told.features, told.forms);
      return count;
    },
    countBlock(offset: number, size: number, place: Exclude<RegionKind, "function">): number {
      if (length === 0) return size;
      const to = Math.min(reach(offset - start + size), offset - start + blockBytes[place]);
      const end = decoding.decode(offset - start, to, block, touched, place !== "constants");
      const isCode = invalid(block) === 0;
      const counts = countsFor(place, isCode);
      if (counts === sure) lead(offset);
      else if (place === "gap") decoding.unmark(offset - start, end);
      for (const code of touched.splice(0)) {
        if (counts !== null) counts[code] = (counts[code] ?? 0) + (block[code] ?? 0);
        block[code] = 0;
      }
      const count = consumed(offset, size, end, place === "gap");
      if (place === "gap" && isCode) evidence.addUnit(count, told.features, told.forms);
      return count;
    },
    result(hidden: number): X86Code {
      const code: CpuCode = {
        architecture: bits === 64 ? "x86_64" : "x86",
        codeBytes,
        ...countFeatures(sure, doubtful, stray),
        evidence: evidence.result(),
        unknownInstructions: unknownInstructions + hidden,
        ...withoutLinks,
      };
      return { code, asksIn };
    },
    free: decoding.free,
  };

  function consumed(offset: number, size: number, end: number, isCode: boolean): number {
    const count = Math.max(1, Math.min(size, start + end - offset));
    codeBytes += count;
    // The last instruction may end behind its function, inside the first instruction of the next function.
    if (isCode && start + end > offset + size) jumps.jump(offset, start + end);
    if (isCode && told.asks) asksIn.push({ offset, size: count });
    return count;
  }
}

/** Turns counts by form of an instruction into counts by feature. Stray bytes ask nothing: they may be a number. */
function countFeatures(
  sure: Uint32Array,
  doubtful: Uint32Array,
  stray: Uint32Array,
): Pick<CpuCode, "features" | "asks"> {
  const tally = createFeatureTally();
  const asks = new Set<string>();
  for (let code = 1; code < sure.length; code++) {
    const counts = { instructions: sure[code] ?? 0, doubtful: doubtful[code] ?? 0 };
    const all = counts.instructions + counts.doubtful;
    const strays = stray[code] ?? 0;
    if (all + strays === 0) continue;
    const { features, isHarmless, asks: question } = known.about(code);
    if (question !== null && all > 0) asks.add(question);
    for (const feature of features) {
      tally.add(feature, isHarmless ? "doubtful" : "instructions", counts.instructions);
      tally.add(feature, "doubtful", counts.doubtful + strays);
    }
  }
  return { features: tally.result(), asks: [...asks].sort() };
}
