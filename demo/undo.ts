/** Stops what was started, last first. */

export interface Undo {
  /** Remembers how to take something back. `what` is for the message when that fails. */
  add(what: string, action: () => Promise<void> | void): void;
  /** Takes everything back, once, and answers what could not be. */
  all(): Promise<readonly string[]>;
}

export function createUndo(): Undo {
  const actions: { readonly what: string; readonly action: () => Promise<void> | void }[] = [];
  return {
    add: (what, action) => void actions.push({ what, action }),
    async all() {
      const failed: string[] = [];
      for (let last = actions.pop(); last !== undefined; last = actions.pop()) {
        try {
          await last.action();
        } catch (error) {
          failed.push(`${last.what}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
      return failed;
    },
  };
}
