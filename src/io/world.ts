/** The world around a function that does a command's work, besides the options of that command. */

import type { Problem } from "../errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A message beside an answer, as it happens. */
export type Notice =
  | { readonly type: "problem"; readonly problem: Problem }
  | { readonly type: "note"; readonly text: string };

/** Options of every function of the library, beside those that are a command's flags. */
export interface Watching<Event = never> {
  /** Ends what is under way. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of problems that end nothing, of notes, and of progress. */
  readonly onEvent?: ((event: Event | Notice) => void) | undefined;
}

export interface World<Event = never> {
  readonly env: Environment;
  readonly cwd: string;
  /** The policy of this machine, of which no option takes anything away. */
  readonly machinePolicy: string;
  /** Reads standard input to its end. */
  readonly readStdin: () => Promise<string>;
  readonly signal: AbortSignal | undefined;
  readonly onEvent: (event: Event | Notice) => void;
}

/** The world of this process, except for what is given. */
export function worldOf<Event = never>(
  { signal, onEvent }: Watching<Event>,
  given: Partial<World<Event>> = {},
): World<Event> {
  return {
    env: process.env,
    cwd: process.cwd(),
    machinePolicy: "/etc/imgmatch/trust.yaml",
    readStdin: async () => (await import("./standard-input.ts")).readStandardInput(),
    signal,
    onEvent: onEvent ?? (() => {}),
    ...given,
  };
}

/** Tells notes, each a line. */
export function note({ onEvent }: Pick<World, "onEvent">, lines: readonly string[]): void {
  for (const text of lines) onEvent({ type: "note", text });
}
