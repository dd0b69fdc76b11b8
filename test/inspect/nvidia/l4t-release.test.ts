import { describe, expect, it } from "vitest";
import { coreRelease, l4tOf, sourceReleases } from "../../../src/inspect/nvidia/l4t-release.ts";

const core = (version: string, more = "") => `Package: nvidia-l4t-core\n${more}Version: ${version}\n`;
const base = "https://repo.download.nvidia.com/jetson";

describe("the L4T release of an image", () => {
  it("is that of the installed package of L4T", () => {
    expect(coreRelease(core("36.4.0-20240912212859"))).toEqual([{ core: "36" }]);
    expect(coreRelease(core("35.3.1-1", "Status: install ok installed\n"))).toEqual([{ core: "35" }]);
    expect(coreRelease(core("35.3.1-1", "Status: deinstall ok config-files\n"))).toEqual([]);
    // Another package of an Orin: its number is CUDA's.
    expect(coreRelease("Package: nvidia-l4t-cudadebuggingsupport\nVersion: 12.6-34622040.0\n")).toEqual([]);
  });

  it.each([
    [`deb ${base}/common r36.4 main`, ["36"]],
    [`deb ${base}/common r32 main\ndeb ${base}/t194 r32.7 main\r\n`, ["32", "32"]],
    [`deb [arch=arm64 signed-by=/usr/share/keyrings/jetson.gpg] ${base}/t234 r36.4 main`, ["36"]],
    [`# deb ${base}/common r36.4 main`, []],
    [`deb-src ${base}/common r36.4 main`, []],
    ["deb http://ports.ubuntu.com/ubuntu-ports focal main", []],
    [`deb ${base}/common`, []],
  ])("is that of the repository: %j", (text, majors) =>
    expect(sourceReleases(text).map(({ source }) => source)).toEqual(majors),
  );

  it("is what is installed before what may be, and unknown where they are several", () => {
    const sources = { l4t: [{ source: "35" }, { source: "36" }] };
    expect(l4tOf([{ l4t: [{ core: "36" }] }, sources])).toBe("36");
    expect(l4tOf([{}, { l4t: [{ source: "35" }, { source: "35" }] }])).toBe("35");
    expect(l4tOf([sources])).toBeNull();
    expect(l4tOf([{}])).toBeNull();
  });
});
