/** Names that no PCI id of the tables carries: virtual GPUs, guests of streaming servers, chips that are not on PCI. */

import type { SourceKey } from "./sources.ts";

export interface VirtualRow {
  readonly board: string;
  readonly compute: string;
  /** What follows the board's name and a dash: an optional MIG slice, the GB of memory, the series (Q, C, B, A). */
  readonly profiles: string;
  readonly source: readonly SourceKey[];
}

/** A virtual GPU has the compute capability of the physical chip. By the first of the boards. */
// biome-ignore format: one row per line
const virtual: readonly (Omit<VirtualRow, "board"> & { readonly boards: readonly string[] })[] = [
  { boards: ["GeForce RTX T10", "GRID RTX T10", "GRID RTX T4"], compute: "7.5", profiles: "16 4 8", source: ["OGKM"] },
  { boards: ["GeForce RTX T10x", "GRID RTX T10x"], compute: "7.5", profiles: "2 4 8", source: ["OGKM"] },
  { boards: ["GRID A100", "GRID A100X", "GRID A800"], compute: "8.0", profiles: "1-10C 1-5C 1-5CME 10C 2-10C 20C 3-20C 4-20C 40C 4C 5C 7-40C 8C", source: ["OGKM"] },
  { boards: ["GRID A100D", "GRID A100DX", "GRID A800D", "GRID A800DX"], compute: "8.0", profiles: "1-10C 1-10CME 1-20C 10C 16C 2-20C 20C 3-40C 4-40C 40C 4C 7-80C 80C 8C", source: ["OGKM"] },
  { boards: ["GRID T4"], compute: "7.5", profiles: "16A 16C 16Q 1A 1B 1B4 1Q 2A 2B 2B4 2Q 4A 4C 4Q 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA A10"], compute: "8.6", profiles: "1 12 12A 12C 12Q 1A 1B 1Q 2 24 24A 24C 24Q 2A 2B 2Q 3 3A 3B 3Q 4 4A 4C 4Q 6 6A 6C 6Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA A10G"], compute: "8.6", profiles: "1 12 12A 12Q 1A 1B 1Q 2 24 24A 24Q 2A 2B 2Q 3 3A 3Q 4 4A 4Q 6 6A 6Q 8 8A 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA A10M"], compute: "8.6", profiles: "1 10 10A 10C 10Q 1A 1B 1Q 2 20 20A 20C 20Q 2A 2B 2Q 3B 4 4A 4C 4Q 5 5A 5C 5Q", source: ["OGKM"] },
  { boards: ["NVIDIA A16"], compute: "8.6", profiles: "16A 16C 16Q 1A 1B 1Q 2A 2B 2Q 3B 4A 4C 4Q 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA A2"], compute: "8.6", profiles: "16 16A 16C 16Q 1A 1B 1Q 2A 2B 2Q 3B 4 4A 4C 4Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA A30"], compute: "8.0", profiles: "1-6C 1-6CME 12C 2-12C 2-12CME 24C 4-24C 4C 6C 8C", source: ["OGKM"] },
  { boards: ["NVIDIA A40"], compute: "8.6", profiles: "1 12 12A 12C 12Q 16 16A 16C 16Q 1A 1B 1Q 2 24 24A 24C 24Q 2A 2B 2Q 3 3A 3B 3Q 4 48 48A 48C 48Q 4A 4C 4Q 6 6A 6C 6Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA B200X"], compute: "10.0", profiles: "1-23C 1-23CME 1-45C 180C 2-45C 3-90C 4-90C 7-180C", source: ["OGKM"] },
  { boards: ["NVIDIA B300X"], compute: "10.3", profiles: "1-34C 1-34CME 1-67C 2-67C 269C 3-135C 4-135C 7-269C", source: ["OGKM"] },
  { boards: ["NVIDIA GB200"], compute: "10.0", profiles: "1-24C 1-24CME 1-47C 189C 2-47C 3-95C 4-95C 7-189C", source: ["OGKM"] },
  { boards: ["NVIDIA GH200"], compute: "9.0", profiles: "1-12C 1-12CME 1-24C 2-24C 3-48C 4-48C 7-96C 96C", source: ["OGKM"] },
  { boards: ["NVIDIA GH200L"], compute: "9.0", profiles: "1-18C 1-18CME 1-36C 144C 2-36C 3-72C 4-72C 7-144C", source: ["OGKM"] },
  { boards: ["NVIDIA H100", "NVIDIA H100XM", "NVIDIA H800", "NVIDIA H800XM"], compute: "9.0", profiles: "1-10C 1-10CME 1-20C 10C 16C 2-20C 20C 3-40C 4-40C 40C 4C 5C 7-80C 80C 8C", source: ["OGKM"] },
  { boards: ["NVIDIA H100L", "NVIDIA H100XL", "NVIDIA H800L"], compute: "9.0", profiles: "1-12C 1-12CME 1-24C 11C 15C 2-24C 23C 3-47C 4-47C 47C 4C 6C 7-94C 94C", source: ["OGKM"] },
  { boards: ["NVIDIA H100XS"], compute: "9.0", profiles: "1-16C 1-8C 1-8CME 16C 2-16C 3-32C 32C 4-32C 4C 64C 7-64C 8C", source: ["OGKM"] },
  { boards: ["NVIDIA H20"], compute: "9.0", profiles: "1-12C 1-12CME 1-24C 12C 16C 2-24C 24C 3-48C 32C 4-48C 48C 4C 6C 7-96C 8C 96C", source: ["OGKM"] },
  { boards: ["NVIDIA H200", "NVIDIA H200X", "NVIDIA H20X"], compute: "9.0", profiles: "1-18C 1-18CME 1-35C 141C 14C 17C 2-35C 28C 3-71C 35C 4-71C 4C 7-141C 70C 7C 8C", source: ["OGKM"] },
  { boards: ["NVIDIA L2", "NVIDIA L4", "NVIDIA L40G"], compute: "8.9", profiles: "1 12 12A 12C 12Q 1A 1B 1Q 2 24 24A 24C 24Q 2A 2B 2Q 3 3A 3B 3Q 4 4A 4C 4Q 6 6A 6C 6Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA L20", "NVIDIA L40", "NVIDIA L40S", "NVIDIA RTX5880-Ada", "NVIDIA RTX6000-Ada"], compute: "8.9", profiles: "1 12 12A 12C 12Q 16 16A 16C 16Q 1A 1B 1Q 2 24 24A 24C 24Q 2A 2B 2Q 3 3A 3B 3Q 4 48 48A 48C 48Q 4A 4C 4Q 6 6A 6C 6Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA RTX 6000D"], compute: "12.0", profiles: "1-42 1-42A 1-42C 1-42Q 2-84 2-84A 2-84C 2-84Q 84 84A 84C 84Q", source: ["OGKM"] },
  { boards: ["NVIDIA RTX Pro 6000 Blackwell DC"], compute: "12.0", profiles: "1-12 1-12A 1-12C 1-12Q 1-2 1-24 1-24A 1-24C 1-24Q 1-2A 1-2B 1-2Q 1-3 1-3A 1-3B 1-3Q 1-4 1-4A 1-4Q 1-6 1-6A 1-6Q 1-8 1-8A 1-8C 1-8Q 12 12A 12C 12Q 16 16A 16C 16Q 2 2-12 2-12A 2-12C 2-12Q 2-16 2-16A 2-16C 2-16Q 2-24 2-24A 2-24C 2-24Q 2-48 2-48A 2-48C 2-48Q 24 24A 24C 24Q 2B 3 32 32A 32C 32Q 3A 3B 3Q 4 4-24 4-24A 4-24C 4-24Q 4-32 4-32A 4-32C 4-32Q 4-48 4-48A 4-48C 4-48Q 4-96 4-96A 4-96C 4-96Q 48 48A 48C 48Q 4A 4Q 6 6A 6Q 8 8A 8C 8Q 96 96A 96C 96Q", source: ["OGKM"] },
  { boards: ["NVIDIA RTX5000-Ada"], compute: "8.9", profiles: "1 16 16A 16C 16Q 1A 1B 1Q 2 2A 2B 2Q 32 32A 32C 32Q 3B 4 4A 4C 4Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA RTXA5000", "NVIDIA RTXA5500"], compute: "8.6", profiles: "12 12A 12C 12Q 1A 1B 1Q 24 24A 24C 24Q 2A 2B 2Q 3A 3B 3Q 4A 4C 4Q 6 6A 6C 6Q 8 8A 8C 8Q", source: ["OGKM"] },
  { boards: ["NVIDIA RTXA6000"], compute: "8.6", profiles: "12 12A 12C 12Q 16 16A 16C 16Q 1A 1B 1Q 24 24A 24C 24Q 2A 2B 2Q 3A 3B 3Q 48 48A 48C 48Q 4A 4C 4Q 6A 6C 6Q 8A 8C 8Q", source: ["OGKM"] },
];

/** A row for each board, by its name. */
export const virtualRows: readonly VirtualRow[] = virtual
  .flatMap(({ boards, ...row }) => boards.map((board) => ({ board, ...row })))
  .sort((a, b) => (a.board.toLowerCase() < b.board.toLowerCase() ? -1 : 1));

export interface NameRow {
  readonly name: string;
  /** Several: the name alone does not tell. */
  readonly compute: readonly string[];
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/** By the first of the names. */
// biome-ignore format: one row per line
const products: readonly (Omit<NameRow, "name"> & { readonly names: readonly string[] })[] = [
  { names: ["GeForce RTX 4050", "NVIDIA RTX 2000 Ada", "NVIDIA RTX 4000 Ada", "NVIDIA RTX 4000 SFF Ada", "NVIDIA RTX 4500 Ada", "NVIDIA RTX 5000 Ada", "NVIDIA RTX 6000 Ada"], compute: ["8.9"], source: ["NVLIST"] },
  { names: ["Jetson AGX Orin", "Jetson Orin Nano", "Jetson Orin NX"], compute: ["8.7"], source: ["NVLIST"] },
  { names: ["Jetson AGX Xavier", "Jetson Xavier NX"], compute: ["7.2"], source: ["NVLIST"] },
  { names: ["Jetson Nano"], compute: ["5.3"], source: ["NVLIST"] },
  { names: ["Jetson T4000", "Jetson T5000"], compute: ["11.0"], source: ["NVLIST"] },
  { names: ["Jetson TX2"], compute: ["6.2"], source: ["NVLIST"] },
  { names: ["NVIDIA A100"], compute: ["8.0"], source: ["NVLIST"] },
  { names: ["NVIDIA B300"], compute: ["10.3"], source: ["NVLIST"] },
  { names: ["NVIDIA GeForce GTX 1060"], compute: ["6.1", "7.5"], source: ["OGKM", "NVLIST"], note: "also the name of a game-streaming guest on another chip" },
  { names: ["NVIDIA GeForce RTX 2080"], compute: ["7.5"], source: ["OGKM"], note: "also the name of a game-streaming guest on another chip" },
  { names: ["NVIDIA GeForce RTX 3050", "NVIDIA GeForce RTX 3060"], compute: ["8.6", "8.9", "12.0"], source: ["OGKM"], note: "also the name of a game-streaming guest on another chip" },
  { names: ["NVIDIA GH200"], compute: ["9.0"], source: ["NVLIST"] },
  { names: ["NVIDIA RTX A3000"], compute: ["8.6"], source: ["NVLIST"] },
  { names: ["NVIDIA T4"], compute: ["7.5"], source: ["NVLIST"] },
  { names: ["NVIDIA Thor"], compute: ["11.0"], source: ["NVLIB"] },
  { names: ["NVIDIA TITAN X", "P520", "P620", "Quadro P3000", "Quadro P3200", "Quadro P4200", "Quadro P500", "Quadro P5200"], compute: ["6.1"], source: ["NVLIST"] },
  { names: ["NVIDIA V100"], compute: ["7.0"], source: ["NVLIST"] },
  { names: ["Orin (nvgpu)"], compute: ["8.7"], source: ["OBSERVED"] },
  { names: ["Quadro M1200", "Quadro M520"], compute: ["5.0"], source: ["NVLIST"] },
  { names: ["Quadro M2200", "Quadro M5500M"], compute: ["5.2"], source: ["NVLIST"] },
  { names: ["Quadro M620"], compute: ["5.0", "5.2"], source: ["NVLIST", "PCIIDS"], note: "NVIDIA lists another compute capability than the chip of pci.ids has" },
  { names: ["Tesla C2075"], compute: ["2.0"], source: ["NVLIST"] },
  { names: ["Tesla K40"], compute: ["3.5"], source: ["NVLIST"] },
  { names: ["Tesla P100"], compute: ["6.0"], source: ["NVLIST"] },
];

/** A row for each name, by the name. */
export const nameRows: readonly NameRow[] = products
  .flatMap(({ names, ...row }) => names.map((name) => ({ name, ...row })))
  .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
