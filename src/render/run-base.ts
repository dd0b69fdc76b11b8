/** The base image of the stage that becomes the image, as `org.opencontainers.image.base.name` wants it. */

const from = /^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?/gim;

/**
 * The reference behind the target stage, or behind the last one; stages that start from other stages are followed.
 *
 * @example
 * runBaseOf("FROM gcc:14 AS build\nFROM debian:12\n", null); // "debian:12"
 */
export function runBaseOf(dockerfile: string, target: string | null): string {
  const stages = [...dockerfile.matchAll(from)].map(([, ref = "", name = ""]) => ({
    ref,
    name: name.toLowerCase(),
  }));
  const wanted = target === null ? -1 : stages.findIndex(({ name }) => name === target.toLowerCase());
  let at = wanted >= 0 ? wanted : /^\d+$/.test(target ?? "") ? Number(target) : stages.length - 1;
  for (;;) {
    const ref = stages[at]?.ref ?? "";
    // A stage may only start from one above it.
    const above = stages.slice(0, at).findIndex(({ name }) => name === ref.toLowerCase());
    if (above < 0) return ref;
    at = above;
  }
}
