/** Tells what some functions of Go's own packages leave that nobody follows. */

import { constant, noBits, numberOf, type Value } from "./known-bits.ts";
import type { Left } from "./go-calls.ts";
import { firstData, firstObject, hasAsked, type Known } from "./way-states.ts";

/** What makes an error gives no nil back; where Go's own `fmt.errorf` does, code behind the call makes another error. */
const errors = /^(?:errors\.New|fmt\.[Ee]rrorf|github\.com\/pkg\/errors\.(?:New|Errorf))$/;
/** These make nothing of an empty list. */
const joins = /^(?:strings|errors)\.Join$/;
const newObject = "runtime.newobject";
/** A map takes its type first; an iterator has the places of a key and of a value (Go, src/internal/runtime/maps and src/runtime/map.go). */
const [assigns, accesses] = [/^runtime\.mapassign\w*$/, /^runtime\.mapaccess[12]\w*$/];
const [begins, continues] = [
  /^runtime\.(?:mapiterinit|mapIterStart)$/,
  /^runtime\.(?:mapiternext|mapIterNext)$/,
];
const valueInIterator = 8;

/** The list takes the place of the one that it grew from. The length comes second (Go 1.20 and later, src/runtime/slice.go). */
const [grows, moves] = ["runtime.growslice", /^runtime\.moveSlice\w*$/];

/** What makes an interface of a value. */
const converts = /^runtime\.conv[TI]\w*$/;

/** A channel takes the address of what is sent, and the address to which it is received (Go, src/runtime/chan.go). */
const [newChannel, sends, receives] = ["runtime.makechan", "runtime.chansend1", /^runtime\.chanrecv[12]$/];

/** These run a function at some time: as a goroutine, once, or later. */
const starting = /^(?:runtime\.newproc|time\.AfterFunc)$/;
const runningOnce = /^sync\.\(\*Once\)\.(?:Do|doSlow)$/;
/** A way does not wait for what another function starts. */
export const startsLater = (name: string) => starting.test(name);
export const isRunning = (name: string) => starting.test(name) || runningOnce.test(name);

const all = [receives, converts, moves, errors, joins, assigns, accesses, begins, continues];
export const isLeaving = (name: string) =>
  [newObject, newChannel, sends, grows].includes(name) || all.some((each) => each.test(name));

/** Each call makes another object. All values of the maps of a type stand in one place: the last one for all. */
const [maps, objectBytes] = [2 * firstObject, 2 ** 12];

/** `taken` are the arguments, and `back` is the place behind the call. */
export function leftBy(
  name: string,
  target: number,
  back: number,
  taken: readonly (Value | undefined)[],
  kept: Known["registers"],
): Left | null {
  if (name === "") return null;
  const object = { at: firstObject + back * objectBytes };
  if (name === newObject || name === newChannel) return { results: [object] };
  if (name === grows) {
    const [list, length] = taken;
    const isNew = (numberOf(length) ?? 0) > 0;
    return {
      results: [list !== undefined && "at" in list ? list : object, ...(isNew && length ? [length] : [])],
    };
  }
  if (moves.test(name)) return { results: [object, ...(taken[2] ? [taken[2], taken[2]] : [])] };
  if (errors.test(name)) return { results: [{ at: target }] };
  if (joins.test(name)) return numberOf(taken[1]) === 0 ? { results: [constant(0), constant(0)] } : {};
  // `continues` takes the iterator alone.
  const [type, , iterator] = taken.map((value) => (value !== undefined && "at" in value ? value.at : null));
  if (name === sends || receives.test(name)) {
    const [, element] = taken;
    const at = element !== undefined && "at" in element ? element.at : null;
    if (at === null || type == null) return { places: [] };
    const [from, to] = name === sends ? [at, type] : [type, at];
    // What is no variable of a function is nil.
    const isNil = from >= firstData && from < firstObject;
    const words = [0, 8].map((word): [number, Value] => [
      to + word,
      kept.get(from + word) ?? (isNil ? constant(0) : noBits),
    ]);
    return { places: words, isMerged: true };
  }
  if (type == null) return {};
  if (continues.test(name)) {
    const before = kept.get(type + valueInIterator);
    return { places: before === undefined ? [] : [[type + valueInIterator, before]] };
  }
  const value = { at: maps + type * objectBytes };
  const isMerged = hasAsked(kept, value.at);
  if (assigns.test(name) || accesses.test(name)) return { results: [value], isMerged };
  const places = begins.test(name) ? iterator : null;
  return places == null ? {} : { places: [[places + valueInIterator, value]], isMerged };
}
