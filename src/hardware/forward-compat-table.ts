/** NVIDIA's forward-compatibility packages: a newer user-space driver on an older kernel driver. */

import type { SourceKey } from "./sources.ts";

export interface CompatRow {
  readonly package: string;
  readonly cuda: string;
  /** A version of the libcuda inside, as seen in a released package: updates of the package carry newer ones. */
  readonly libcuda: string | null;
  /** Base branches that NVIDIA's matrix supports; null where the matrix has no row. */
  readonly supported: readonly string[] | null;
  /** Branches in the note inside libcuda, which the container toolkit's hook obeys; null where no library was read. */
  readonly enforced: readonly string[] | null;
  /** Branches in NVIDIA_REQUIRE_CUDA of NVIDIA's images of this version, all distributions together. */
  readonly images: readonly string[];
  readonly source: readonly SourceKey[];
}

// biome-ignore format: one row per line
export const compatRows: readonly CompatRow[] = [
  { package: "cuda-compat-10-0", cuda: "10.0", libcuda: null, supported: null, enforced: null, images: ["384"], source: ["REQ"] },
  { package: "cuda-compat-10-1", cuda: "10.1", libcuda: null, supported: null, enforced: null, images: ["396", "410", "418"], source: ["REQ"] },
  { package: "cuda-compat-10-2", cuda: "10.2", libcuda: null, supported: null, enforced: null, images: ["396", "410", "418", "440"], source: ["REQ"] },
  { package: "cuda-compat-11-0", cuda: "11.0", libcuda: null, supported: null, enforced: null, images: ["418"], source: ["REQ"] },
  { package: "cuda-compat-11-1", cuda: "11.1", libcuda: null, supported: null, enforced: null, images: ["418", "450"], source: ["REQ"] },
  { package: "cuda-compat-11-2", cuda: "11.2", libcuda: null, supported: null, enforced: null, images: ["418", "440", "450"], source: ["REQ"] },
  { package: "cuda-compat-11-3", cuda: "11.3", libcuda: null, supported: null, enforced: null, images: ["418", "440"], source: ["REQ"] },
  { package: "cuda-compat-11-4", cuda: "11.4", libcuda: null, supported: null, enforced: null, images: ["418", "440", "450", "460"], source: ["REQ"] },
  { package: "cuda-compat-11-5", cuda: "11.5", libcuda: null, supported: null, enforced: null, images: ["418", "440", "450", "460", "470"], source: ["REQ"] },
  { package: "cuda-compat-11-6", cuda: "11.6", libcuda: null, supported: null, enforced: null, images: ["418", "440", "450", "460", "470"], source: ["REQ"] },
  { package: "cuda-compat-11-7", cuda: "11.7", libcuda: null, supported: null, enforced: null, images: ["450", "470", "510"], source: ["REQ"] },
  { package: "cuda-compat-11-8", cuda: "11.8", libcuda: null, supported: null, enforced: null, images: ["450", "470", "510", "515"], source: ["REQ"] },
  { package: "cuda-compat-12-0", cuda: "12.0", libcuda: "525.60.13", supported: null, enforced: null, images: ["450", "470", "510", "515"], source: ["REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-1", cuda: "12.1", libcuda: "530.30.02", supported: null, enforced: null, images: ["470", "525"], source: ["REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-2", cuda: "12.2", libcuda: "535.104.05", supported: [], enforced: null, images: ["470", "525"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-3", cuda: "12.3", libcuda: "545.23.08", supported: ["535"], enforced: null, images: ["470", "525", "535"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-4", cuda: "12.4", libcuda: "550.54.15", supported: ["535"], enforced: null, images: ["470", "525", "535"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-5", cuda: "12.5", libcuda: "555.42.06", supported: ["535"], enforced: null, images: ["470", "535", "550"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-6", cuda: "12.6", libcuda: "560.35.05", supported: ["535"], enforced: null, images: ["470", "535", "550"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-8", cuda: "12.8", libcuda: "570.124.06", supported: ["535"], enforced: null, images: ["470", "535", "550", "560", "565"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-12-9", cuda: "12.9", libcuda: "575.57.08", supported: ["535", "570"], enforced: ["535", "550", "560", "565", "570", "575"], images: ["535", "550", "560", "565", "570"], source: ["FWD", "NCT", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-13-0", cuda: "13.0", libcuda: "580.95.05", supported: ["535", "570"], enforced: null, images: ["535", "550", "565", "570", "575"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-13-1", cuda: "13.1", libcuda: "590.48.01", supported: ["535", "570", "580"], enforced: ["535", "550", "570", "575", "580", "590"], images: ["535", "550", "570", "575", "580"], source: ["FWD", "NCT", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-13-2", cuda: "13.2", libcuda: "595.45.04", supported: ["535", "570", "580", "590"], enforced: null, images: ["535", "570", "580", "590"], source: ["FWD", "REQ", "CFCOMPAT"] },
  { package: "cuda-compat-13-3", cuda: "13.3", libcuda: null, supported: ["535", "570", "580", "590", "595"], enforced: null, images: ["535", "550", "560", "565", "570", "580"], source: ["FWD", "REQ"] },
  { package: "cuda-compat-13-4", cuda: "13.4", libcuda: "615.31", supported: ["535", "570", "580", "590", "595", "610"], enforced: null, images: [], source: ["FWD"] },
];
