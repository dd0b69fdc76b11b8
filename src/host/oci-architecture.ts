/** The architecture of a machine in OCI words. */

import type { HostIo } from "./host-io.ts";

/** Node.js names of architectures → OCI names (GOARCH), where they differ. */
const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", mipsel: "mipsle" };

export function ociArchitecture({ arch, endianness }: Pick<HostIo, "arch" | "endianness">): string {
  if (arch === "ppc64") return endianness === "LE" ? "ppc64le" : "ppc64";
  return Object.hasOwn(architectures, arch) ? (architectures[arch] ?? arch) : arch;
}
