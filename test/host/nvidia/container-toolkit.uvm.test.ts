import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { probeHost } from "../../../src/host/probe-host.ts";
import { readUvm } from "../../../src/host/nvidia/container-toolkit.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { cuda, gpuImage, image, lockOf } from "../../resolve/support/locks.ts";
import { fixtureHostIo } from "../../support/fixture-host-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const io = (name: string) => fixtureHostIo(`${root}/test/fixtures/hosts/${name}`);
/** LXC, with the devices of a T4 but for /dev/nvidia-uvm. */
const lxc = io("lxc-cascadelake-t4_no_uvm");
const withEnv = (env: Readonly<Record<string, string>>) => ({ ...lxc, env });

/** What the image of the repository's Dockerfile asks the runtime for. */
const ownImage = Object.fromEntries(
  [...readFileSync(`${root}/Dockerfile`, "utf8").matchAll(/\b(NVIDIA_\w+)=(\S+)/g)].map(
    ([, name = "", value = ""]) => [name, value],
  ),
);

describe("/dev/nvidia-uvm", () => {
  it("is to be there in a container that was given CUDA, by the runtime or by hand", () => {
    expect(readUvm(lxc)).toBe(false);
    for (const granted of ["compute", "utility,compute", "utility, compute", "all"]) {
      expect(readUvm(withEnv({ NVIDIA_DRIVER_CAPABILITIES: granted }))).toBe(false);
      expect(readUvm(withEnv({ NVIDIA_DRIVER_CAPABILITIES: granted, NVIDIA_VISIBLE_DEVICES: "all" }))).toBe(
        false,
      );
    }
    expect(readUvm({ ...lxc, exists: () => true })).toBe(true);
  });

  it("proves nothing elsewhere: with other capabilities, without devices, on a bare host", () => {
    expect(ownImage).toEqual({ NVIDIA_VISIBLE_DEVICES: "all", NVIDIA_DRIVER_CAPABILITIES: "utility" });
    for (const env of [ownImage, { NVIDIA_VISIBLE_DEVICES: "all" }, { NVIDIA_DRIVER_CAPABILITIES: "" }])
      expect(readUvm(withEnv(env))).toBeUndefined();
    expect(readUvm({ ...lxc, exists: () => false })).toBeUndefined();
    expect(readUvm(io("debian12-cascadelake-t4_vm"))).toBeUndefined();
  });

  it("makes a container broken, and neither imgmatch's own nor the node that the container is to describe", async () => {
    const lock = lockOf({ t4: gpuImage(cuda("12.4.1", ["sm_75"])), cpu: image() });
    const broken = resolveImage(lock, await probeHost(lxc));
    expect(broken.match).toBeNull();
    expect(broken.rejected.map(({ code, fix }) => [code, fix.includes("nvidia-modprobe -u -c=0")])).toEqual([
      ["HOST_BROKEN", true],
      ["HOST_BROKEN", true],
    ]);
    expect(resolveImage(lock, await probeHost(lxc), { cpuOnly: true }).match?.cell).toBe("cpu");
    const others = [await probeHost(withEnv(ownImage)), await probeHost(lxc, { ofNode: true })];
    expect(others.map((host) => resolveImage(lock, host).match?.cell)).toEqual(["t4", "t4"]);
    // Without a GPU nothing is missing.
    expect((await probeHost(lxc, { gpus: "none" })).problems).toEqual([]);
  });
});
