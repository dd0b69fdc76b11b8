/**
 * Makes a text fit for tags and file names: `9.0+ptx` → `9.0-ptx`, `gfx90a:xnack+` → `gfx90a-xnack-on`. No tag has a plus, and fleets often
 * have images for both states of xnack.
 */
export function slug(label: string): string {
  const stated = label.replace(
    /:(sramecc|xnack)([+-])/g,
    (_, name, state) => `-${name}-${state === "+" ? "on" : "off"}`,
  );
  return stated.replace(/[^A-Za-z0-9._-]+/g, "-");
}
