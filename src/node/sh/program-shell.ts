/** The script's shell half: reads the arguments, and the lists and links that awk cannot read, then starts awk. */

import { cdiFolders, enginePrograms, runtimePrograms, wslLibraries } from "../../host/container-runtime.ts";
import type { FleetNeeds } from "./image-rows.ts";
import type { OwnText } from "./vendor-texts.ts";

export interface ShellText {
  readonly version: string;
  readonly title: string;
  readonly lockDigest: string;
}

/** Paths whose existence is a fact. */
const paths = [
  "/dev/nvidiactl",
  "/dev/nvidia-uvm",
  "/dev/dxg",
  `${wslLibraries}/libcuda.so.1`,
  "/.dockerenv",
  "/run/.containerenv",
  "/proc/1/environ",
  "/proc/driver/nvidia/version",
  "/sys/module/nvidia/version",
];
const tegraPaths = ["/proc/device-tree/compatible", "/etc/nv_tegra_release"];

/** `uname -m` → the architecture of an OCI platform. */
const machines: readonly (readonly [string, string])[] = [
  ["x86_64", "amd64"],
  ["aarch64", "arm64"],
  ["i[3-6]86", "386"],
  ["armv[5-8]*", "arm"],
  ["loongarch64", "loong64"],
];

export function shellHead({ version, title, lockDigest }: ShellText): string {
  return `
set +efu
unset IFS
export LC_ALL=C
lock=${lockDigest}
f=
fact() {
f="$f
$1"
}
exists() {
[ -e "$R$1" ] && fact "e $1"
}
for a do
case $a in
--cpu|--unchecked) fact "\${a#--}" ;;
--version) echo "imgmatch ${version}, ${title}"; exit 0 ;;
--lock-digest) echo "$lock"; exit 0 ;;
--help) echo "usage: sh FILE [--cpu] [--unchecked] [--version] [--lock-digest]"; exit 0 ;;
*) echo "imgmatch: USAGE: unknown argument $a; --help lists what there is" >&2; exit 2 ;;
esac
done
command -v awk >/dev/null || { echo "imgmatch: HOST_UNREADABLE: there is no awk on this host" >&2; exit 4; }
R=\${IMGMATCH_ROOT-}
m=
[ -n "$R" ] && [ -r "$R/proc/sys/kernel/arch" ] && read -r m <"$R/proc/sys/kernel/arch"
if [ -z "$m" ]; then
s=$(uname -sm) || s='unknown unknown'
m=\${s#* }
[ "\${s%% *}" = Linux ] || m=other
fi
case $m in
${machines.map(([machine, word]) => `${machine}) m=${word} ;;`).join("\n")}
esac`;
}

/** The reading of `/sys` drops error messages: a file may vanish meanwhile. */
export function shellFacts(needs: FleetNeeds, own: OwnText): string {
  return `
fact "h linux/$m"
for p in ${[...paths, ...(needs.arm ? tegraPaths : [])].join(" ")}; do
exists "$p"
done
[ -r "$R/dev/nvidiactl" ] && [ -w "$R/dev/nvidiactl" ] && fact "e w"
{
for d in "$R"/sys/bus/pci/devices/*; do
v=
read -r v <"$d/vendor"
case $v in
0x10[dD][eE]${own("pciVendor")})
c='' i='' k=none
read -r c <"$d/class"
read -r i <"$d/device"
case $c${own("classOf")} in
0x0300*|0x0302*${own("classes")})
[ -L "$d/physfn" ] && continue
if [ -L "$d/driver" ]; then
k=other
for p in nvidia nouveau${own("drivers")}; do
[ -e "$R/sys/bus/pci/drivers/$p/\${d##*/}" ] && k=$p
done
fi
fact "p \${d##*/} $i $k${own("vendor")}" ;;
0x0680*${own("bridge")}) fact "e nvswitch" ;;
esac ;;
esac
done
} 2>/dev/null
for d in "$R"/proc/driver/nvidia/gpus/*; do
[ -e "$d" ] || continue
i=0
[ -e "$d/information" ] && i=1
fact "g \${d##*/} $i"
done
for d in "$R"/dev/nvidia[0-9]*; do
exists "\${d#"$R"}"
done${own("facts")}${needs.brands ? runtimeFacts() : ""}`;
}

/** For fleets whose images carry NVIDIA_REQUIRE_CUDA. */
function runtimeFacts(): string {
  return `
for p in ${[...runtimePrograms, ...enginePrograms].join(" ")}; do
exists "$p"
done
for d in ${cdiFolders.map((folder) => `"$R"${folder}/*`).join(" ")}; do
case $d in
*.yaml|*.yml|*.json) [ -e "$d" ] && fact "d \${d#"$R"}" ;;
esac
done`;
}

/** The tables are a here-document: an argument has at most 128 KiB, and a string of some awks less. */
export function shellStart(program: string, rows: readonly string[]): string {
  return `
IMGMATCH_ROOT=$R IMGMATCH_FACTS=$f exec awk '
${program}
' <<'IMGMATCH_TABLES'
${rows.join("\n")}
IMGMATCH_TABLES
`;
}
