import { expect, it } from "vitest";
import { parseSmiLinks } from "../../../src/host/nvidia/smi-topology.ts";

const underline = (text: string) => `\u001b[4m${text}\u001b[0m`;

/** Two of four H100 with their network cards, as nvidia-smi 590 prints them: the header is underlined. */
const switched = [
  underline("\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID").replace(
    "\u001b[4m\t",
    "\t\u001b[4m",
  ),
  "GPU0\t X \tNV18\tPXB\t0-63,128-191\t0\t\tN/A",
  "GPU1\tNV18\t X \tNODE\t0-63,128-191\t0\t\tN/A",
  "NIC0\tPXB\tNODE\t X \t\t\t\t",
  "",
  "Legend:",
  "",
  "  X    = Self",
  "  NV#  = Connection traversing a bonded set of # NVLinks",
].join("\n");

it("tells the GPUs that NVLink joins, and nothing of network cards", () => {
  expect([...parseSmiLinks(switched)]).toEqual([
    [0, [1]],
    [1, [0]],
  ]);
});

it("tells words of PCIe as no link, those of old programs too", () => {
  const words = ["SYS", "NODE", "PHB", "PXB", "PIX", "SOC", "PSB"];
  for (const word of words) {
    const text = `\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \t${word}\t0-11\nGPU1\t${word}\t X \t0-11\n`;
    expect([...parseSmiLinks(text)], word).toEqual([
      [0, []],
      [1, []],
    ]);
  }
});

it("does not know a row with another word, or one that is cut", () => {
  const cut = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tABC\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS";
  expect([...parseSmiLinks(cut)]).toEqual([
    [0, null],
    [1, [0]],
    [2, null],
  ]);
  expect([...parseSmiLinks("Failed to query topology")]).toEqual([]);
  expect([...parseSmiLinks("")]).toEqual([]);
});

it("reads hostile text in linear time, and no more than is there", () => {
  expect(parseSmiLinks(`GPU0${"\tGPU1".repeat(200_000)}`).size).toBe(0);
  expect(parseSmiLinks("\u001b[4".repeat(200_000)).size).toBe(0);
  // A row is compared with as many columns as it has cells.
  expect(parseSmiLinks(`GPU0${"\tGPU1".repeat(100_000)}\n${"GPU1\tX\n".repeat(70_000)}`).get(1)).toBeNull();
});
