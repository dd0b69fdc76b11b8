import { describe, expect, it } from "vitest";
import { formatBus, formatPciId, isGpu, sysfsAddress } from "../../src/host/pci.ts";

describe("PCI", () => {
  it("knows addresses in every spelling", () => {
    for (const text of ["0000:0c:00.0", "00000000:0C:00.0", "0c:00.0"])
      expect(formatBus(text)).toBe("00000000:0C:00.0");
    expect(formatBus("N/A")).toBeNull();
  });

  it("has the address of sysfs", () => {
    expect(
      ["00000000:0C:00.0", "00010000:0C:00.0", "0000:0c:00.0", "1234:0c:00.0"].map(sysfsAddress),
    ).toEqual(["0000:0c:00.0", "10000:0c:00.0", "0000:0c:00.0", "1234:0c:00.0"]);
  });

  it("splits the joined id, and refuses nonsense", () => {
    expect(formatPciId(0x233010de)).toBe("10de:2330");
    expect(formatPciId(Number.NaN)).toBeNull();
    expect(formatPciId(-1)).toBeNull();
  });

  it("tells GPUs from NVSwitches, audio and USB of the same vendor", () => {
    expect(
      ["0x030000", "0x030200", "0x068000", "0x040300", "0x0c0330"].map((kind) => isGpu("10de", kind)),
    ).toEqual([true, true, false, false, false]);
  });
});
