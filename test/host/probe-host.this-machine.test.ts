import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { HostIo } from "../../src/host/host-io.ts";
import { nodeHostIo } from "../../src/host/node-host-io.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { needs } from "../support/needs.ts";

const linux = process.platform === "linux";
const hasNvidia =
  ["/proc/driver/nvidia", "/dev/dxg", "/dev/nvidiactl", "/etc/nv_tegra_release"].some((path) =>
    existsSync(path),
  ) ||
  (existsSync("/sys/bus/pci/devices") &&
    readdirSync("/sys/bus/pci/devices").some(
      (device) => readFileSync(`/sys/bus/pci/devices/${device}/vendor`, "utf8").trim() === "0x10de",
    ));

function watched(): { readonly io: HostIo; readonly calls: string[] } {
  const calls: string[] = [];
  const real = nodeHostIo();
  return {
    calls,
    io: {
      ...real,
      run: (command, args, limits) => {
        calls.push(command);
        return real.run(command, args, limits);
      },
      readNvml: (libraries) => {
        calls.push("nvml");
        return real.readNvml(libraries);
      },
    },
  };
}

describe("this machine", needs(linux ? null : "not Linux"), () => {
  it(
    "has the features that awk reads from /proc/cpuinfo",
    needs(["x64", "arm64"].includes(process.arch) ? null : `no CPU that imgmatch knows: ${process.arch}`),
    async () => {
      const { cpu, platform, kernel } = await probeHost(watched().io);
      const program = `/^(flags|Features)[ \\t]*:/ { sub(/^[^:]*:/, ""); n++; m = split($0, w, " "); delete seen
      for (i = 1; i <= m; i++) if (!(w[i] in seen)) { seen[w[i]]; count[w[i]]++ } }
      END { for (f in count) if (count[f] == n) print f }`;
      const printed = execFileSync("awk", [program, "/proc/cpuinfo"], { encoding: "utf8" })
        .trim()
        .split("\n")
        .sort();
      expect(cpu.features?.filter((feature) => printed.includes(feature))).toEqual(printed);
      expect(platform).toBe(process.arch === "x64" ? "linux/amd64" : "linux/arm64");
      expect(execFileSync("uname", ["-r"], { encoding: "utf8" })).toContain(kernel);
      expect(cpu.level).not.toBeNull();
    },
  );

  it(
    "has no NVIDIA part, and neither a process nor a library is needed to see that",
    needs(hasNvidia ? "this machine has an NVIDIA part" : null),
    async () => {
      const { io, calls } = watched();
      const facts = await probeHost(io);
      expect(facts.nvidia).toBeNull();
      expect(facts.problems).toEqual([]);
      expect(calls).toEqual([]);
    },
  );

  it("gives the same facts every time, and they survive a file", async () => {
    const [one, two] = [await probeHost(nodeHostIo()), await probeHost(nodeHostIo())];
    expect(formatHostFacts(one)).toBe(formatHostFacts(two));
    expect(parseHostFacts(formatHostFacts(one), "facts.json")).toEqual(one);
  });
});
