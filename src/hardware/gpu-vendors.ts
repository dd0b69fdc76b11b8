/** The vendors of GPUs that imgmatch judges. */

/** Best first: on a host with cards of both, an image for the first vendor wins. */
export const gpuVendors = ["nvidia", "amd"] as const;
export type GpuVendor = (typeof gpuVendors)[number];

/** The vendors' names for people. */
export const vendorNames: Readonly<Record<GpuVendor, string>> = { nvidia: "NVIDIA", amd: "AMD" };

/** The names of the vendors' toolkits. */
export const toolkitNames: Readonly<Record<GpuVendor, string>> = { nvidia: "CUDA", amd: "ROCm" };

/** The names of the links that join the vendors' GPUs. */
export const linkNames: Readonly<Record<GpuVendor, string>> = { nvidia: "NVLink", amd: "XGMI" };

/** A table of one row for each vendor. */
export function byVendor<Row>(row: (vendor: GpuVendor) => Row): Readonly<Record<GpuVendor, Row>> {
  return Object.fromEntries(gpuVendors.map((vendor) => [vendor, row(vendor)])) as Record<GpuVendor, Row>;
}
