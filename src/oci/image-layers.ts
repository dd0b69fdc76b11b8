/** Lists the layers of an image, each with the instruction that made it. */

export interface Layer {
  /** Digest of the uncompressed archive. Equal ids mean equal files, with equal times and owners. */
  readonly diffId: string;
  /** The instruction that made it; null if unknown. */
  readonly createdBy: string | null;
}

interface HistoryEntry {
  readonly created_by?: string;
  readonly empty_layer?: boolean;
}

/** OCI image-spec, `config.md`: the entries of `history` without `empty_layer` are the layers, in the same order. */
export function layersOfConfig(config: unknown): readonly Layer[] {
  const { rootfs, history = [] } = config as {
    readonly rootfs?: { readonly diff_ids?: readonly string[] };
    readonly history?: readonly HistoryEntry[];
  };
  const diffIds = rootfs?.diff_ids ?? [];
  const made = history.filter(({ empty_layer }) => empty_layer !== true).map(({ created_by }) => created_by);
  return joined(diffIds, made);
}

// These instructions never make a layer. WORKDIR makes one if the folder is new.
const withoutLayer =
  /^(#\(nop\)\s+)?(ARG|CMD|ENTRYPOINT|ENV|EXPOSE|HEALTHCHECK|LABEL|MAINTAINER|ONBUILD|SHELL|STOPSIGNAL|USER|VOLUME)\b/;

/** The Docker Engine's history lacks `empty_layer`, so layers are matched by their number. */
export function layersOfHistory(diffIds: readonly string[], createdBy: readonly string[]): readonly Layer[] {
  const plain = createdBy.map((text) => text.replace(/^\/bin\/sh -c (?=#\(nop\))/, ""));
  const possible = plain.filter((text) => !withoutLayer.test(text));
  if (possible.length === diffIds.length) return joined(diffIds, possible);
  return joined(
    diffIds,
    possible.filter((text) => !/^(#\(nop\)\s+)?WORKDIR\b/.test(text)),
  );
}

function joined(diffIds: readonly string[], made: readonly (string | undefined)[]): readonly Layer[] {
  // A wrong instruction is worse than none.
  const known = made.length === diffIds.length;
  return diffIds.map((diffId, index) => ({ diffId, createdBy: known ? (made[index] ?? null) : null }));
}
