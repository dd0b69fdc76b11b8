import { describe, expect, it } from "vitest";
import { freeSubnet } from "../../demo/bridge.ts";

const header = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
/** A line of /proc/net/route; the kernel prints addresses in the byte order of the machine, little-endian here. */
const route = (address: string, mask: string) =>
  `br0\t${hex(address)}\t00000000\t0001\t0\t0\t0\t${hex(mask)}\t0\t0\t0\n`;
const hex = (address: string) =>
  address
    .split(".")
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("")
    .toUpperCase();

describe("freeSubnet", () => {
  it("begins where it is told", () => {
    expect(freeSubnet(header, 0)).toBe("172.30.0.");
    expect(freeSubnet(header, 300)).toBe("172.31.44.");
  });

  it("leaves a subnet that has a route", () => {
    expect(freeSubnet(header + route("172.30.7.0", "255.255.255.0"), 7)).toBe("172.30.8.");
  });

  it("leaves a whole /16 that has a route", () => {
    expect(freeSubnet(header + route("172.30.0.0", "255.255.0.0"), 7)).toBe("172.31.0.");
  });

  it("answers null when both are taken", () => {
    const both = route("172.30.0.0", "255.255.0.0") + route("172.31.0.0", "255.255.0.0");
    expect(freeSubnet(header + both, 7)).toBeNull();
  });
});
