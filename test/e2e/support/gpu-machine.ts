/**
 * The H200 of a public machine in a namespace of mounts: a root of its own with the kernel's files, device nodes, and a driver that answers as
 * that machine's did. Programs of this checkout run in it.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../support/folders.ts";
import { whyNoGcc, whyNot } from "../../support/programs.ts";
import { root } from "./program.ts";

/** What nvidia-smi, NVML and `/proc` printed there. */
export const h200 = {
  uuid: "GPU-00000001-1111-4222-8333-000000000001",
  name: "NVIDIA H200",
  driver: "580.159.04",
  address: "0000:00:06.0",
  pci: 0x233510de,
  memoryMiB: 143_771,
} as const;

const users = {
  root: "",
  "root without CAP_MKNOD": "setpriv --bounding-set=-mknod --inh-caps=-mknod",
  "another user": "setpriv --reuid=65534 --regid=65534 --clear-groups",
} as const;

export interface MachineState {
  readonly user: keyof typeof users;
  /** Lines of sh that change the machine before anything runs. */
  readonly change?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Said {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

const libraries = "/run/opengl-driver/lib";

/** Mounts that this process alone sees. `$R` is the new root, `$A` the folder of stubs and answers, `$N` that of Node.js, `$P` the checkout. */
const mounts = `set -e
R=$A/root
mount -t tmpfs none $R
cd $R
mkdir usr etc proc sys dev tmp run node data program
for d in usr etc proc sys; do mount --rbind /$d $d; done
for d in bin sbin lib lib64; do ln -s usr/$d $d; done
mount --bind $N node
mount --bind $A data
mkdir program/dist program/node_modules
mount --bind $P/dist program/dist
mount --bind $P/node_modules program/node_modules
cp $P/package.json program
for f in cgroup environ; do : >run/$f; mount --bind run/$f proc/1/$f; done
mount -t tmpfs none proc/driver
g=proc/driver/nvidia/gpus/${h200.address}
mkdir -p $g
echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${h200.driver}  Release Build' >proc/driver/nvidia/version
printf 'Model: \\t\\t ${h200.name}\\nGPU UUID: \\t ${h200.uuid}\\nBus Location: \\t ${h200.address}\\nDevice Minor: \\t 0\\n' >$g/information
mount -t tmpfs none sys/bus/pci
mkdir -p sys/bus/pci/devices/${h200.address} sys/bus/pci/drivers/nvidia/${h200.address}
d=sys/bus/pci/devices/${h200.address}
echo 0x10de >$d/vendor; echo 0x2335 >$d/device; echo 0x030200 >$d/class; ln -s ../../drivers/nvidia $d/driver
mount -t tmpfs none dev
chmod 755 dev
for n in null zero random urandom nvidiactl nvidia0 nvidia-uvm; do mknod -m 666 dev/$n c 1 3; done
rm dev/urandom dev/zero dev/random
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/zero c 1 5
mkdir -p run/opengl-driver/lib run/stubs run/bin
for l in cuda nvidia-ml; do
  cp data/lib$l.so.1 run/opengl-driver/lib/lib$l.so.${h200.driver}
  ln -s lib$l.so.${h200.driver} run/opengl-driver/lib/lib$l.so.1
done
cp data/stub.so run/stubs/libcuda.so.1
cp data/nvidia-smi run/bin
: >.dockerenv
if [ -e data/ld.so.cache ]; then mount --bind data/ld.so.cache etc/ld.so.cache
else echo ${libraries} >run/conf; chroot . ldconfig -X -f /run/conf -C /data/ld.so.cache; fi
`;

const install = { install: "root of a Linux that may mount, chroot and make nodes" };
export const whyNoMachine =
  process.getuid?.() === 0 && process.arch === "x64"
    ? (whyNoGcc() ??
      whyNot(
        "unshare",
        [
          "--mount",
          "sh",
          "-c",
          "mount -t tmpfs none /proc/driver && mount -t tmpfs none /sys/bus/pci && mount -t tmpfs none /dev && mknod /dev/x c 1 3 && : <>/dev/x",
        ],
        install,
      ) ??
      whyNot("setpriv", ["--bounding-set=-mknod", "--inh-caps=-mknod", "true"], install))
    : "not root of an x86-64";

/** Makes the driver, and answers with a function that runs commands, each a line of sh, in one state of the machine. */
export function makeMachine(files: Readonly<Record<string, string | Uint8Array>>) {
  const folder = makeFolder({});
  chmodSync(folder, 0o755);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  for (const name of ["root", "said"]) mkdirSync(join(folder, name));
  chmodSync(join(folder, "said"), 0o777);
  const texts = { UUID: h200.uuid, NAME: h200.name, DRIVER: h200.driver, ADDRESS: h200.address };
  const defined = [
    ...Object.entries(texts).map(([name, text]) => `-D${name}="${text}"`),
    ...[`-DPCI=${h200.pci}`, `-DMEMORY=${h200.memoryMiB}`],
  ];
  const compile = (name: string, ...flags: readonly string[]) =>
    execFileSync("gcc", [
      ...[...defined, ...flags, "-fPIC", "-o", join(folder, name)],
      ...[join(import.meta.dirname, "fake-h200.c"), "-ldl"],
    ]);
  compile("libcuda.so.1", "-DLIBCUDA", "-shared", "-Wl,-soname,libcuda.so.1");
  compile("libnvidia-ml.so.1", "-DLIBNVML", "-shared", "-Wl,-soname,libnvidia-ml.so.1");
  compile("stub.so", "-DLIBCUDA", "-DSTUB", "-shared", "-Wl,-soname,libcuda.so.1");
  compile("nvidia-smi", "-DSMI");
  compile("asks", "-DASKS");
  const place = { A: folder, N: dirname(dirname(process.execPath)), P: root };
  const within = (lines: string) =>
    execFileSync("unshare", ["--mount", "sh", "-c", mounts + lines], {
      ...{ env: { PATH: process.env.PATH, ...place }, stdio: ["ignore", "pipe", "pipe"] },
    });
  within("");
  return (state: MachineState, commands: Readonly<Record<string, string>>) => {
    const { user, change = "", env = {} } = state;
    const variables = Object.entries({
      ...{
        PATH: "/run/bin:/node/bin:/usr/bin:/bin",
        HOME: "/nonexistent",
        IMGMATCH: "/node/bin/node /program/dist/cli.cjs",
      },
      ...{ NVIDIA_VISIBLE_DEVICES: "0", NVIDIA_DRIVER_CAPABILITIES: "compute,graphics,utility" },
      ...env,
    }).map(([name, value]) => `'${name}=${value}'`);
    const lines = Object.entries(commands).map(
      ([name, command]) =>
        `{ ${command}; } >said/${name}.out 2>said/${name}.err; echo $? >said/${name}.status`,
    );
    writeFileSync(join(folder, "commands.sh"), ["cd /data", ...lines, ""].join("\n"));
    within(`${change}\nexec chroot . ${users[user]} env -i ${variables.join(" ")} sh /data/commands.sh`);
    const read = (name: string, kind: string) =>
      readFileSync(join(folder, "said", `${name}.${kind}`), "utf8");
    return (name: string): Said => ({
      status: Number(read(name, "status")),
      out: read(name, "out").trim(),
      err: read(name, "err").trim(),
    });
  };
}
