/** The platform of the machine that runs a job: a build that names no platform is for this one. */

/** Of GitHub's own machines and of its labels for others (docs.github.com, "Choosing the runner for a job"), and as people name theirs. */
const platforms: readonly (readonly [RegExp, string])[] = [
  [/^ubuntu-(latest|slim|\d+\.\d+)$/i, "linux/amd64"],
  [/^ubuntu-\d+\.\d+-arm$/i, "linux/arm64"],
  [/(^|[^a-z0-9])(x64|x86[_-]64|amd64)($|[^a-z0-9])/i, "linux/amd64"],
  [/(^|[^a-z0-9])(arm64|aarch64)($|[^a-z0-9])/i, "linux/arm64"],
];

/** null if the labels tell none, or several. */
export function runnerPlatform(labels: readonly string[]): string | null {
  const told = labels.flatMap((label) =>
    platforms.flatMap(([names, platform]) => (names.test(label) ? [platform] : [])),
  );
  const [platform = null, ...others] = new Set(told);
  return others.length > 0 ? null : platform;
}
