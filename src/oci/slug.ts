/** The part of any text that tags and file names may have. */

/** `9.0+ptx` → `9.0-ptx`; `gfx90a:xnack+` → `gfx90a-xnack-on`, as no tag has a plus, and images for both states are usual. */
export function slug(label: string): string {
  const stated = label.replace(
    /:(sramecc|xnack)([+-])/g,
    (_, name, state) => `-${name}-${state === "+" ? "on" : "off"}`,
  );
  return stated.replace(/[^A-Za-z0-9._-]+/g, "-");
}
