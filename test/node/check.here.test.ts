/** A program of a user who may not open a device: real nodes, in a namespace of mounts where the kernel's files name an H200. */

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { bundledInParts } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-here-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
chmodSync(folder, 0o755);

const asNobody = "setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent";
/** Mounts over /dev, /proc/driver and /sys/bus/pci/devices that this process alone sees. */
const machine = `set -e
mount -t tmpfs none /proc/driver
g=/proc/driver/nvidia/gpus/0000:00:06.0; mkdir -p $g
printf 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\\n' >/proc/driver/nvidia/version
printf 'Model: \\t\\t NVIDIA H200\\nBus Location: \\t 0000:00:06.0\\nDevice Minor: \\t 0\\n' >$g/information
mount -t tmpfs none /sys/bus/pci/devices
d=/sys/bus/pci/devices/0000:00:06.0; mkdir $d
echo 0x10de >$d/vendor; echo 0x2335 >$d/device; echo 0x030200 >$d/class; ln -s ../../../bus/pci/drivers/nvidia $d/driver
mount -t tmpfs none /dev
for n in null nvidiactl nvidia0 nvidia-uvm; do mknod -m 666 /dev/$n c 1 3; done
`;
const why =
  process.getuid?.() === 0 && process.arch === "x64"
    ? whyNot("unshare", ["--mount", "sh", "-c", `${machine}${asNobody} sh -c ': <>/dev/nvidia0'`], {
        install: "root who may mount and make nodes",
      })
    : "not root of an x86-64";

describe("check of this process", needs(why), () => {
  it("says no to a GPU program whose user may not open a node, and only then", {
    timeout: 120_000,
  }, async () => {
    // Nobody may not read a checkout of root.
    cpSync(dirname(await bundledInParts(resolve("src/cli/bin.ts"), "check-here-cli")), folder, {
      recursive: true,
    });
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    const code = [
      makeEntry({ kind: 2, arch: 90, version: [1, 8] }),
      makeEntry({ kind: 1, arch: 90, version: [8, 0] }),
    ];
    writeFileSync(join(folder, "program.so"), makeContainer(code));
    const check = `${asNobody} ${process.execPath} ${folder}/main.mjs check --json ${folder}/program.so || true`;
    const answerWith = (shut: string) => {
      const words = `${machine}${shut === "" ? "" : `chmod 600 /dev/${shut}\n`}${check}`;
      const said = execFileSync("unshare", ["--mount", "sh", "-c", words], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
      const { fits, reasons } = JSON.parse(said);
      return [fits, ...reasons.map(({ message }: { message: string }) => message)];
    };
    expect(answerWith("")).toEqual([true]);
    for (const node of ["nvidiactl", "nvidia0", "nvidia-uvm"])
      expect(answerWith(node)).toEqual([false, `HOST_NO_PERMISSION: no permission for /dev/${node}`]);
  });
});
