/** Finds the market segment of a GPU, on which NVIDIA's forward-compatibility packages depend. */

export type GpuClass = "datacenter" | "workstation" | "geforce" | "tegra" | "unknown";

export const gpuClasses: readonly GpuClass[] = ["datacenter", "workstation", "geforce", "tegra", "unknown"];

/**
 * The class that a product name states; `unknown` for a name that states none (mining cards, NVS, engineering samples,
 * GB10). NVIDIA's brands decide: libcuda refuses forward compatibility for the brands GeForce and TITAN.
 *
 * @example
 * classifyGpu("NVIDIA H100 80GB HBM3"); // "datacenter"
 */
export function classifyGpu(name: string): GpuClass {
  const product = name.replace(/^NVIDIA /i, "").trim();
  return classRules.find(([, pattern]) => pattern.test(product))?.[0] ?? "unknown";
}

/** The first match decides, so narrow patterns stand before wide ones. */
export const classRules: readonly (readonly [GpuClass, RegExp])[] = [
  ["tegra", /\(nvgpu\)|^(Jetson|Tegra|Thor|Orin|Xavier)\b/i],
  // The A800 40GB Active is sold for workstations, unlike the other A800 boards.
  ["workstation", /^A800 40GB Active$/i],
  ["datacenter", /^(RTX PRO .* Server Edition|RTX Pro .* Blackwell DC(-.*)?)$/i],
  ["datacenter", /^(Tesla|GRID|HGX)\b/i],
  ["datacenter", /^(A2|A10[GM]?|A16|A30X?|A40|A100X?|A800|AX800|T4G?)\b/i],
  ["datacenter", /^([VP]100|H(20|100|200|800)X?[LMS]?|L(2|4|20|40)[SG]?|B[123]00X?|G[BH][23]00L?)\b/i],
  ["geforce", /^(GeForce|TITAN|GTX|GT)\b/i],
  ["workstation", /^(EIZO )?Quadro\b/i],
  ["workstation", /^RTX ?(A|PRO )?\d+[DEH]?\b/i],
  ["workstation", /^(T\d{3,4}E?|P\d{3})\b(?!-)/i],
];
