/** Finds the L4T release (Linux for Tegra) on which an image is built, in its package databases. */

/** Majors, such as `36`. */
export interface L4tRecord {
  /** Of `nvidia-l4t-core`, on which NVIDIA's other packages of L4T depend. */
  readonly core?: string;
  /** Of the repository from which apt takes packages. */
  readonly source?: string;
}

/** A paragraph of dpkg's status, which keeps removed packages. `Version: 36.4.0-20240912212859` is that of an Orin with JetPack 6. */
export function coreRelease(paragraph: string): readonly L4tRecord[] {
  const isRemoved = /^Status: (?!.* installed$)/m.test(paragraph);
  if (isRemoved || !/^Package: nvidia-l4t-core$/m.test(paragraph)) return [];
  const core = /^Version: (\d+)\./m.exec(paragraph)?.[1];
  return core === undefined ? [] : [{ core }];
}

/**
 * `deb https://repo.download.nvidia.com/jetson/common r36.4 main`: images take CUDA, cuDNN and TensorRT of a release from there. Images on
 * l4t-base of L4T 34 and 35 have no `nvidia-l4t-core`, and `/etc/nv_tegra_release` is empty (jetson-containers, issue 215).
 */
export function sourceReleases(text: string): readonly L4tRecord[] {
  return text.split("\n").flatMap((line) => {
    const [type, ...words] = line.trim().split(/\s+/);
    const address = words.findIndex((word) => /^https?:\/\/repo\.download\.nvidia\.com\/jetson\//.test(word));
    const source = /^r(\d+)/.exec(words[address + 1] ?? "")?.[1];
    return type !== "deb" || address === -1 || source === undefined ? [] : [{ source }];
  });
}

/** What is installed counts before where packages may come from. null if nothing tells it, or several. */
export function l4tOf(databases: readonly { readonly l4t?: readonly L4tRecord[] }[]): string | null {
  const records = databases.flatMap(({ l4t = [] }) => l4t);
  const cores = records.flatMap(({ core }) => core ?? []);
  const found = new Set(cores.length > 0 ? cores : records.flatMap(({ source }) => source ?? []));
  const [only = null] = found;
  return found.size === 1 ? only : null;
}
