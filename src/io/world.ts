/** The environment of a command's function, besides its flags. */

import type { Problem } from "../errors.ts";
import { inputLimits, inputTooLarge } from "./limits.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A message beside an answer, as it happens. */
export type Notice =
  | { readonly type: "problem"; readonly problem: Problem }
  | { readonly type: "note"; readonly text: string };

/** Options of every function of the library, besides a command's flags. */
export interface Watching<Event = never> {
  /** Ends the work: aborted before or during it, the promise rejects with the reason. What is being published is finished first. */
  readonly signal?: AbortSignal | undefined;
  /** Gets notes, progress, and problems that do not end the work. */
  readonly onEvent?: ((event: Event | Notice) => void) | undefined;
}

export interface World<Event = never> {
  readonly env: Environment;
  readonly cwd: string;
  /** Path of this machine's policy, which no option can weaken. */
  readonly machinePolicy: string;
  /** Reads standard input to its end. */
  readonly readStdin: () => Promise<string>;
  readonly signal: AbortSignal | undefined;
  readonly onEvent: (event: Event | Notice) => void;
}

/**
 * Does the work of a function of the library in this process, except for `given`. If the signal is aborted, before or during the work, the
 * promise rejects with the signal's reason, once the work has ended.
 *
 * @param ports what other halls offer to this work
 */
export async function inWorld<Answer, Event = never, Ports extends object = object>(
  { signal, onEvent }: Watching<Event>,
  given: Partial<World<Event>> = {},
  work: (world: World<Event> & Ports) => Promise<Answer>,
  ...[ports]: object extends Ports ? [] : [ports: Ports]
): Promise<Answer> {
  const world: World<Event> & Ports = {
    env: process.env,
    cwd: process.cwd(),
    machinePolicy: "/etc/imgmatch/trust.yaml",
    readStdin: readStandardInput,
    signal,
    onEvent: onEvent ?? (() => {}),
    ...given,
    ...(ports as Ports),
  };
  world.signal?.throwIfAborted();
  try {
    return await work(world);
  } finally {
    // Also in place of the error that the abortion has caused.
    world.signal?.throwIfAborted();
  }
}

/** Throws `INPUT_TOO_LARGE` beyond the limit of facts. */
export async function readStandardInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > inputLimits.facts.bytes)
      throw inputTooLarge(inputLimits.facts, null, { file: "standard input" });
  }
  return Buffer.concat(chunks).toString("utf8");
}

export function note({ onEvent }: Pick<World, "onEvent">, lines: readonly string[]): void {
  for (const text of lines) onEvent({ type: "note", text });
}
