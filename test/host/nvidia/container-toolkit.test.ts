import { describe, expect, it } from "vitest";
import { readNvidiaRuntime } from "../../../src/host/nvidia/container-toolkit.ts";
import type { HostIo } from "../../../src/host/host-io.ts";

const config = "/etc/nvidia-container-runtime/config.toml";
const spec = "/etc/cdi/nvidia.yaml";
const library = "/usr/lib64/libnvidia-container.so.1";

/** A machine with the NVIDIA runtime, or with a CDI specification. */
function runtimeOf(files: Readonly<Record<string, string>>, version?: string) {
  const io: Pick<HostIo, "readText" | "list" | "exists" | "readLink"> = {
    readText: (path) => files[path] ?? null,
    list: (folder) => (folder === "/etc/cdi" && files[spec] !== undefined ? ["nvidia.yaml"] : []),
    exists: (path) => path === "/usr/bin/nvidia-container-runtime",
    readLink: (path) =>
      path === library && version !== undefined ? `libnvidia-container.so.${version}` : null,
  };
  return readNvidiaRuntime(io as HostIo, null);
}

const legacy = (mode: string) =>
  `#disable-require = false\n[nvidia-container-runtime.modes.legacy]\n${mode}\n`;
const feature = (name: string) => `[features]\n${name} = true # since 1.17\n`;

describe("the mode of the container toolkit for compatibility packages", () => {
  it.each<readonly [string, string | undefined, string, string | undefined]>([
    ["mounted before 1.17.4", "1.16.2", "", "mount"],
    ["not in 1.17.4", "1.17.4", "", "disabled"],
    ["in 1.17.4 where it is allowed", "1.17.4", feature("allow-cuda-compat-libs-from-container"), "mount"],
    ["by the hook in 1.17.5", "1.17.5", "", "hook"],
    ["not by a hook that is off", "1.17.6", feature("disable-cuda-compat-lib-hook"), "disabled"],
    ["by ldconfig from 1.17.7 on", "1.17.7", "", "ldconfig"],
    ["as the option says", "1.17.8", legacy('cuda-compat-mode = "mount"'), "mount"],
    ["not as a comment says", "1.20.0", legacy('#cuda-compat-mode = "mount"'), "ldconfig"],
    ["as the option does not say", "1.20.0", legacy('cuda-compat-mode = "later"'), "disabled"],
    [
      "as the option says, whatever the version",
      undefined,
      legacy('cuda-compat-mode = "disabled"'),
      "disabled",
    ],
    ["nobody knows how", undefined, legacy("cuda-compat-mode = 1"), undefined],
    ["before the option was there", "1.16.2", legacy('cuda-compat-mode = "disabled"'), "mount"],
  ])("%s", (_, version, text, compat) => {
    const { facts, sources } = runtimeOf({ [config]: text }, version);
    expect(facts).toEqual({
      nvidia: "legacy",
      ...(version === undefined ? {} : { toolkit: version }),
      ...(compat === undefined ? {} : { compat }),
    });
    expect(sources["runtime.compat"]).toBe(compat === undefined ? undefined : config);
    expect(sources["runtime.toolkit"]).toBe(version === undefined ? undefined : library);
  });

  it.each<readonly [string, string, string | undefined]>([
    [
      "has the hook",
      "hooks:\n- args: [nvidia-cdi-hook, enable-cuda-compat, --host-driver-version=580.1]\n- args: [nvidia-cdi-hook, update-ldcache]",
      "hook",
    ],
    ["lacks it", "hooks:\n- args: [nvidia-ctk, hook, update-ldcache]", "disabled"],
    ["has no hooks, so that another program wrote it", "devices: []", undefined],
  ])("is that of a specification that %s", (_, text, compat) => {
    const { facts, sources } = runtimeOf({
      [spec]: `kind: nvidia.com/gpu\n${text}\n`,
      [config]: legacy('cuda-compat-mode = "mount"'),
    });
    expect(facts).toEqual({ nvidia: "cdi", ...(compat === undefined ? {} : { compat }) });
    expect(sources["runtime.compat"]).toBe(compat === undefined ? undefined : spec);
  });

  it("takes the version of dpkg where the library is not there, if it is installed", () => {
    const status = (state: string) =>
      `Package: a\nVersion: 1.0\n\nPackage: nvidia-container-toolkit-base\nStatus: ${state}\nDescription: x\n .\nVersion: 1.18.1-1\n\nPackage: b\nVersion: 2\n`;
    const toolkit = (state: string) => runtimeOf({ "/var/lib/dpkg/status": status(state) }).facts.toolkit;
    expect(toolkit("install ok installed")).toBe("1.18.1");
    expect(toolkit("deinstall ok config-files")).toBeUndefined();
  });
});
