/** What a kind of CPU, and the functions of a program, tell whoever follows the ways through the program. */

import type { GoRules } from "./go-calls.ts";
import type { Bits } from "./known-bits.ts";
import type { Ending } from "./named-calls.ts";
import type { Known } from "./way-states.ts";

/** Gives the bits that the CPU answers, by their names, from the bit `shift` on; a bit named 0 is zero, and one named 1 is one. */
export type Answer = (names: readonly string[], shift: number) => Bits;

/** What an instruction does. `isPointer`: the target stands in the place. The target is -1 where nobody knows it. */
export type Step =
  | { readonly kind: "next"; readonly known: Known; readonly next: number }
  | {
      readonly kind: "branch";
      readonly target: number;
      readonly next: number;
      /** null where nobody knows. */
      readonly isTaken: boolean | null;
      /** The CPU's answer decides. */
      readonly asked: boolean;
    }
  | Leaving
  | { readonly kind: "return" }
  /** A trap ends the program; nobody knows how a way goes on that is lost. */
  | { readonly kind: "trap" }
  | { readonly kind: "lost" }
  /** Another way goes on with the same answer, which was asked for before. */
  | { readonly kind: "same" };

export interface Leaving {
  readonly kind: "call" | "jump";
  readonly target: number;
  readonly isPointer: boolean;
  readonly next: number;
}

/** A kind of CPU: where functions take and leave numbers, and what its instructions do. */
export interface Machine {
  readonly result: number;
  /** The registers of arguments, in which an answer may be handed on; the first one first. */
  readonly arguments: readonly [number, ...number[]];
  /** The register with the address at which a result begins that is too long. */
  readonly long?: number;
  /** Other registers in which a function of Go takes and leaves numbers, as an error or a length. */
  readonly moreResults?: readonly number[];
  /** The register in which a function of Go finds its own value, behind whose first word stands what it was made with. */
  readonly context?: number;
  /** So many bytes a call of Go puts on the stack. */
  readonly pushed?: number;
  readonly stack: number;
  /** The registers that a called function gives back, the stack's among them. */
  readonly kept: ReadonlySet<number>;
  /** The registers that no function takes an address in. */
  readonly untaken: ReadonlySet<number>;
  readonly step: (place: number, known: Known) => Step;
  /**
   * Rounds of loops are followed one by one, and what a called function leaves on its caller's stack; branches that hang on the answer, nobody
   * knows how, are told. A call leaves the stack where it is.
   */
  readonly isThorough?: boolean;
  readonly free: () => void;
}

/** The functions of a program: which are entered, and how called ones end the program. */
export interface Callees {
  readonly isStart: (address: number) => boolean;
  readonly endAround: (address: number) => number | null;
  readonly lengthFrom: (address: number) => number;
  /** The bytes of the longest function like this that is entered, if not those of the longest answer. */
  readonly longest?: (target: number) => number;
  /** The names of the bits that a called function gives back for an argument; null where no need is told. */
  readonly givenBack: (target: number, argument: number | null) => readonly string[] | null;
  /** True for a function that always gives an address back, as of an object. */
  readonly givesAddress?: (target: number) => boolean;
  /** Of a program in Go. */
  readonly go?: GoRules;
  /** How a called function ends the program; null if the function returns. */
  readonly endOf: (target: number, isPointer: boolean) => Ending | null;
  /** A function that ends the program by what it calls, as Rust's own exit does. */
  readonly neverReturns: (target: number) => boolean;
  /** A function that hands on the answer. */
  readonly mayAnswer: (target: number) => boolean;
  /** A function that reads a place of data, or takes the address of a structure that has the place; absent where nobody looks. */
  readonly readsAt?: (target: number, place: number) => boolean;
  /** A function that asks, and is run by the function that gets its address; absent where nobody looks. */
  readonly mayRun?: (target: number) => boolean;
  /** The place has an answer. */
  readonly hasAnswer: (place: number) => boolean;
  /** True for data that a program may write to; absent where nobody looks. */
  readonly isWritten?: (place: number) => boolean;
  /** The address in a place of the table of pointers; null for others. */
  readonly pointerAt: (place: number) => number | null;
}

/** How a way through a program ends. A throw may be caught, and what passes may give zero back. */
export type End = "passed" | "zero" | "refused" | "thrown";
