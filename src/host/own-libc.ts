/** Tells the C library of this system: the C library of this process. */

export interface Libc {
  readonly name: "glibc" | "musl";
  /** null for musl, which does not tell. */
  readonly version: string | null;
}

/** null for another C library, and for another system than Linux. */
export function ownLibc(): Libc | null {
  // Else the report looks up the names of all open connections.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { header, sharedObjects } = report.getReport() as {
    readonly header: { readonly glibcVersionRuntime?: string };
    readonly sharedObjects: readonly string[];
  };
  if (header.glibcVersionRuntime !== undefined) return { name: "glibc", version: header.glibcVersionRuntime };
  const isMusl = sharedObjects.some((path) => /\/(ld-musl-|libc\.musl-)/.test(path));
  return isMusl ? { name: "musl", version: null } : null;
}
