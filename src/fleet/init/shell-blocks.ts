/** Follows the compound commands of a shell script: loops, cases and functions, whose commands do not run once each. Pure. */

/** A compound command (POSIX, Shell Command Language, 2.9.4 and 2.9.5). */
export type Block = "group" | "if" | "case" | "loop" | "function";

interface Word {
  readonly written: string;
}

export interface BlockState {
  /** Of the command. */
  readonly words: readonly Word[];
  /** The number of subshells around it. */
  depth: number;
  /** The open blocks, each with the word that ends it and the subshells around it. */
  readonly blocks: { readonly kind: Block; readonly end: string; readonly depth: number }[];
  /** True between the name of a function and its body. */
  isFunction: boolean;
}

const openings: Readonly<Record<string, readonly [kind: Block, end: string]>> = {
  ...{ if: ["if", "fi"], case: ["case", "esac"], "{": ["group", "}"] },
  ...{ for: ["loop", "done"], select: ["loop", "done"], while: ["loop", "done"], until: ["loop", "done"] },
};

/** Reserved words after which another command begins. */
const beforeCommand = /^(if|then|elif|else|while|until|do|\{|!)$/;

/** True for a word after which a command, or the name of a function, stands. */
export function startsCommand({ written }: Word): boolean {
  return beforeCommand.test(written) || written === "function";
}

/** Opens and ends the blocks that the reserved words at the start of a command name. */
export function followBlocks(state: BlockState): void {
  const { blocks, words } = state;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]?.written ?? "";
    const [kind, end] = (Object.hasOwn(openings, word) ? openings[word] : undefined) ?? [];
    if (word === blocks.at(-1)?.end) state.depth = blocks.pop()?.depth ?? 0;
    else if (word === "function") {
      state.isFunction = true;
      at += 1;
    } else if (state.isFunction) {
      // The end of another body than a group is not known.
      blocks.push({ kind: "function", end: word === "{" ? "}" : "", depth: state.depth });
      state.isFunction = false;
      at -= word === "{" ? 0 : 1;
    } else if (kind !== undefined && end !== undefined) {
      blocks.push({ kind, end, depth: state.depth });
      if (!beforeCommand.test(word)) return;
    } else if (!beforeCommand.test(word)) return;
  }
}
