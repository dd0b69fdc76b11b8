/**
 * The values of a stage's variables. Versions of BuildKit disagree about a name set by both `ARG` and `ENV`, or set by `ARG` in two stages of
 * one chain: its value is unknown.
 */

import { assignmentsIn, type Instruction, type Instructions } from "./instructions.ts";
import { expandWord } from "./shell-word.ts";
import { globalArguments, type StageOptions } from "./stages.ts";

interface Variable {
  readonly keyword: "ARG" | "ENV";
  /** null if unknown. */
  readonly value: string | null;
}

interface Expanded {
  /** null if a variable of the word is unknown. */
  readonly value: string | null;
  /** Arguments of the stage that may decide it. */
  readonly args: readonly string[];
}

/** Arguments that an engine gets besides those of the matrix. */
const isGivenLater = (name: string) =>
  /^(PATH|IMGMATCH_\w+|BUILD\w+|\w+_PROXY|SOURCE_DATE_EPOCH)$/i.test(name);

/** The arguments of a platform that every builder spells alike. */
const platformArguments = ["TARGETOS", "TARGETARCH"];

export class StageVariables {
  readonly #known = new Map<string, Variable>();
  readonly #globals: ReadonlyMap<string, string>;

  constructor(
    readonly dockerfile: Instructions,
    readonly options: StageOptions,
  ) {
    this.#globals = globalArguments(dockerfile, options);
  }

  /** The variables at the beginning of a stage that is built on this stage. */
  forChild(): StageVariables {
    const child = new StageVariables(this.dockerfile, this.options);
    for (const [name, { keyword, value }] of this.#known)
      child.#known.set(name, { keyword, value: keyword === "ENV" ? value : null });
    return child;
  }

  read({ keyword, text }: Instruction): void {
    if (keyword === "ARG")
      for (const { name, value } of assignmentsIn(text)) this.#set(name, "ARG", this.#argument(name, value));
    if (keyword !== "ENV") return;
    // All values of one instruction see the variables before it.
    const set = assignmentsIn(text).map(({ name, value }) => [name, this.expand(value ?? "").value] as const);
    for (const [name, value] of set) this.#set(name, "ENV", value);
  }

  expand(word: string): Expanded {
    const named = Array.from(word.matchAll(/\$\{?([A-Za-z_]\w*)/g), ([, name = ""]) => name);
    const values = new Map(named.map((name) => [name, this.#known.get(name)?.value ?? null] as const));
    const known = new Map([...values].filter((pair): pair is [string, string] => pair[1] !== null));
    const isPlain = !/\$(?!\{?[A-Za-z_])/.test(word) && known.size === values.size;
    const expanded = isPlain ? expandWord(word, known, this.dockerfile.escapeBy) : null;
    const args = named.length === 0 ? [] : [...this.#known].filter(([, { keyword }]) => keyword === "ARG");
    return { value: expanded?.ok ? expanded.value : null, args: args.map(([name]) => name) };
  }

  #set(name: string, keyword: Variable["keyword"], value: string | null): void {
    const before = this.#known.get(name);
    const isPlain = before === undefined || (before.keyword === "ENV" && keyword === "ENV");
    this.#known.set(name, {
      keyword: before?.keyword === "ARG" ? "ARG" : keyword,
      value: isPlain ? value : null,
    });
  }

  #argument(name: string, fallback: string | null): string | null {
    const { args = {} } = this.options;
    if (isGivenLater(name)) return null;
    if (name.startsWith("TARGET"))
      return platformArguments.includes(name) ? (this.#globals.get(name) ?? null) : null;
    if (Object.hasOwn(args, name)) return args[name] ?? null;
    return fallback === null ? (this.#globals.get(name) ?? null) : this.expand(fallback).value;
  }
}
