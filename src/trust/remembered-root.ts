/** The public sigstore's trusted root for a program that runs on and on: asked for once an hour, not for each answer. */

const freshMs = 60 * 60_000;

/** A newer one that cannot be had leaves the one of before, which does not become false; the first one has to be had. */
export function rememberedRoot(
  load: () => Promise<string>,
  now: () => number = Date.now,
): () => Promise<string> {
  let known: { readonly root: string; readonly at: number } | null = null;
  let pending: Promise<string> | null = null;
  const renew = async (): Promise<string> => {
    try {
      const root = await load();
      known = { root, at: now() };
      return root;
    } catch (error) {
      if (known === null) throw error;
      known = { ...known, at: now() };
      return known.root;
    }
  };
  return () => {
    if (known !== null && now() - known.at < freshMs) return Promise.resolve(known.root);
    pending ??= renew().finally(() => {
      pending = null;
    });
    return pending;
  };
}
