/** Takes the single steps of a way through x86-64 code. */

import { Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register, RegisterExt } from "iced-x86";
import type { AskedWords } from "./asked-words.ts";
import { condition, numberOf } from "./known-bits.ts";
import type { Answer, Machine, Step } from "./way-parts.ts";
import type { FunctionReader } from "./x86-functions.ts";
import { valueReader } from "./x86-values.ts";

const { RAX, RBX, RCX, RDX, RBP, RSI, RDI, RSP, R8, R9, R12, R13, R14, R15 } = Register;
/** Where a function takes and leaves a number, and the registers that the function gives back (System V ABI). */
const systemV: Pick<Machine, "result" | "arguments" | "kept"> = {
  result: RAX,
  arguments: [RDI, RSI, RDX, RCX, R8, R9],
  kept: new Set([RBX, RBP, RSP, R12, R13, R14, R15]),
};
/** Go gives back no register of the caller's, but the stack's and the goroutine's (Go, src/cmd/compile/abi-internal.md). */
export const x86GoConvention: typeof systemV & Pick<Machine, "moreResults" | "pushed" | "context"> = {
  ...{ result: RAX, arguments: [RAX], kept: new Set([RBP, RSP, R14]) },
  ...{ moreResults: [RBX, RCX, RDI, RSI, R8, R9], context: RDX, pushed: 8 },
};

export function x86Machine(
  reader: FunctionReader,
  words: AskedWords,
  answer: Answer,
  convention: typeof x86GoConvention = systemV,
): Machine {
  const values = valueReader(reader, words, answer);
  const { instruction, placeOf } = values;

  function step(place: number, known: Parameters<Machine["step"]>[1]): Step {
    const bytes = reader.bytesFrom(place);
    if (bytes === null) return { kind: "lost" };
    const decoder = new Decoder(64, bytes, DecoderOptions.None);
    decoder.ip = BigInt(place);
    decoder.decodeOut(instruction);
    decoder.free();
    const next = Number(instruction.nextIP);
    const { flowControl } = instruction;
    if (instruction.mnemonic === Mnemonic.Cpuid && words.isRustQuestion(place)) return { kind: "same" };
    if (flowControl === FlowControl.Next) return { kind: "next", known: values.computed(known), next };
    if (flowControl === FlowControl.ConditionalBranch) {
      const target = Number(instruction.nearBranchTarget);
      const isTaken = condition(instruction.conditionCode, known.flags);
      return { kind: "branch", target, next, isTaken, asked: known.flags?.asked ?? false };
    }
    if (flowControl === FlowControl.Return) return { kind: "return" };
    const isCall = flowControl === FlowControl.Call || flowControl === FlowControl.IndirectCall;
    if (
      !isCall &&
      flowControl !== FlowControl.UnconditionalBranch &&
      flowControl !== FlowControl.IndirectBranch
    )
      return {
        kind:
          flowControl === FlowControl.Exception || flowControl === FlowControl.Interrupt ? "trap" : "lost",
      };
    const kind = isCall ? "call" : "jump";
    if (instruction.op0Kind === OpKind.NearBranch64)
      return { kind, target: Number(instruction.nearBranchTarget), isPointer: false, next };
    if (instruction.op0Kind === OpKind.Memory)
      return { kind, target: placeOf(known.registers) ?? -1, isPointer: true, next };
    const value = known.registers.get(RegisterExt.fullRegister(instruction.op0Register));
    const target = value !== undefined && "at" in value ? value.at : (numberOf(value) ?? -1);
    return { kind, target, isPointer: target === -1, next };
  }

  return {
    ...{ ...convention, stack: RSP, untaken: new Set([RAX, Register.R11]) },
    ...{ step, free: values.free },
  };
}
