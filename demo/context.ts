/** The context that every part of the demo gets. */

import type { Say } from "./say.ts";
import { createUndo, type Undo } from "./undo.ts";

export interface DemoContext {
  readonly say: Say;
  readonly undo: Undo;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
  /** Folder that stays for the next run: tarballs, the registry's data, the demo's lock. */
  readonly keepDir: string;
  /** Things that stay on the machine after the demo, for its last words. */
  readonly left: Set<string>;
}

/** A context that prints nothing and stays uninterrupted, for tests that use parts of the demo. */
export function quietContext(keepDir: string, env: NodeJS.ProcessEnv): DemoContext {
  const silent = () => {};
  const say = { step: silent, line: silent, command: silent };
  return { say, undo: createUndo(), signal: new AbortController().signal, env, keepDir, left: new Set() };
}
