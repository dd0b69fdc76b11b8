/** Files of which the loader or a program chooses one for the CPU, by their folders and names: glibc, MKL, ggml. */

const loaderFolder = /(^|\/)glibc-hwcaps\//;
const cpuName =
  /(^|[-_.])(avx\w*|sse\d?\w*|fma\d?|haswell|sandybridge|ivybridge|skylake\w*|icelake\w*|alderlake|cascadelake|cooperlake|sapphirerapids|zn?ver\d|zen\d|sve\d?|sme\d?|armv[89][\w.]*|x86-64-v[234])(?=[-_.]|$)/i;
/** What stands in that place of the name for every other CPU. */
const plainName = /(^|[-_.])(def|default|generic|base|baseline|scalar|x64|x86-64|common)(?=[-_.]|$)/i;

/**
 * Of these paths those that are one of several: a file whose name has the name of a CPU or an extension in it, while the same folder
 * has another with a different one there, with none, or with a word for every CPU. One alone is no choice: it is what will run.
 */
export function variantsAmong(paths: Iterable<string>): ReadonlySet<string> {
  const all = new Set(paths);
  const families = new Map<string, number>();
  for (const path of all) {
    const family = familyOf(path, cpuName) ?? familyOf(path, plainName);
    if (family !== null) families.set(family, (families.get(family) ?? 0) + 1);
  }
  const isOneOfSeveral = (path: string) => {
    const family = familyOf(path, cpuName);
    if (family === null) return false;
    return (families.get(family) ?? 0) > 1 || all.has(family.replace(/[-_.]?\*/, ""));
  };
  return new Set([...all].filter((path) => loaderFolder.test(path) || isOneOfSeveral(path)));
}

/** The path with a star in that place of its name; null where its name has no such place. */
function familyOf(path: string, pattern: RegExp): string | null {
  const slash = path.lastIndexOf("/") + 1;
  const name = path.slice(slash);
  return pattern.test(name) ? path.slice(0, slash) + name.replace(pattern, "$1*") : null;
}
