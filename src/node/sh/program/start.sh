# Reads the arguments, and the lists and links that awk cannot read. Then comes awk.
set +efu
unset IFS
export LC_ALL=C
#if script
lock=@lockdigest@
#end
f=
fact() {
  f="$f
$1"
}
exists() {
  [ -e "$R$1" ] && fact "e $1"
}
# Mode bits say less than open does. A special command in place of true would end some shells where the file may not be opened.
opens() {
  [ -e "$R$1" ] && { true <>"$R$1"; } 2>/dev/null && fact "e w$1"
}
#if script
for a do
  case $a in
    --cpu|--unchecked) fact "${a#--}" ;;
    --version) echo "imgmatch @version@, @title@"; exit 0 ;;
    --lock-digest) echo "$lock"; exit 0 ;;
    --help) echo "usage: sh FILE [--cpu] [--unchecked] [--version] [--lock-digest]"; exit 0 ;;
    *) echo "imgmatch: USAGE: unknown argument $a; --help lists what there is" >&2; exit 2 ;;
  esac
done
command -v awk >/dev/null || { echo "imgmatch: HOST_UNREADABLE: there is no awk on this host" >&2; exit 4; }
#end
R=${IMGMATCH_ROOT-}
m=
[ -n "$R" ] && [ -r "$R/proc/sys/kernel/arch" ] && read -r m <"$R/proc/sys/kernel/arch"
if [ -z "$m" ]; then
  s=$(uname -sm) || s='unknown unknown'
  m=${s#* }
  [ "${s%% *}" = Linux ] || m=other
fi
case $m in
  x86_64) m=amd64 ;;
  aarch64) m=arm64 ;;
  i[3-6]86) m=386 ;;
  armv[5-8]*) m=arm ;;
  loongarch64) m=loong64 ;;
esac
#if cpuonly
fact cpu
#end
# Facts: the lists and links that awk cannot read.
fact "h linux/$m"
#if guard
for p in /dev/nvidiactl /dev/dxg /proc/device-tree /.dockerenv /run/.containerenv /proc/1/environ \
  /proc/driver/nvidia/version /sys/module/nvidia/version; do
  exists "$p"
done
[ -L "$R/proc/device-tree" ] && fact "e /proc/device-tree"
#else
for p in /dev/nvidiactl /dev/nvidia-uvm /dev/dxg @wsl@/libcuda.so.1 /.dockerenv /run/.containerenv /proc/1/environ \
  /proc/driver/nvidia/version /sys/module/nvidia/version; do
  exists "$p"
done
#if arm
for p in /proc/device-tree/compatible /etc/nv_tegra_release; do
  exists "$p"
done
#end
for d in "$R@wsl@" "$R@wsldrivers@"/*; do
  for p in @wslfiles@; do
    [ -e "$d/$p" ] && fact "e windows"
  done
done
opens /dev/nvidiactl
opens /dev/nvidia-uvm
# The driver's libraries, also links to nothing. An empty one has no content.
export IMGMATCH_FOLDERS="@folders@"
for d in $IMGMATCH_FOLDERS @wsl@; do
  for p in nvidia-ml cuda; do
    l=$R/$d/lib$p.so.1
    [ -e "$l" ] || [ -L "$l" ] || continue
    fact "e $p"
    [ -s "$l" ] || fact "e empty$p"
  done
done
#end
# A file may vanish meanwhile.
{
  for d in "$R"/sys/bus/pci/devices/*; do
    v=
    read -r v <"$d/vendor"
    case $v in
      #if amd
      0x10[dD][eE]|0x1002)
      #else
      0x10[dD][eE])
      #end
      c='' i='' k=none
      read -r c <"$d/class"
      read -r i <"$d/device"
      case $c$v in
        0x0300*|0x0302*|0x0380*0x1002|0x1200*0x1002)
          [ -L "$d/physfn" ] && continue
          if [ -L "$d/driver" ]; then
            k=other
            #if amd
            for p in nvidia nouveau amdgpu radeon; do
            #else
            for p in nvidia nouveau; do
            #end
              [ -e "$R/sys/bus/pci/drivers/$p/${d##*/}" ] && k=$p
            done
          fi
          fact "p ${d##*/} $i $k $v" ;;
        0x0680*0x10[dD]*) fact "e nvswitch" ;;
      esac ;;
    esac
  done
} 2>/dev/null
for d in "$R"/proc/driver/nvidia/gpus/*; do
  [ -e "$d" ] || continue
  i=0
  [ -e "$d/information" ] && i=1
  fact "g ${d##*/} $i"
done
for d in "$R"/dev/nvidia[0-9]*; do
  exists "${d#"$R"}"
done
#if amd
# Properties that may not be read are "-": some awks end at such a file.
for p in /sys/class/kfd /sys/module/amdgpu; do
  exists "$p"
done
for d in "$R"/dev/kfd "$R"/dev/dri/renderD[0-9]*; do
  exists "${d#"$R"}"
  opens "${d#"$R"}"
done
for d in "$R"@kfd@/*; do
  [ -e "$d/properties" ] || continue
  n=-
  while read -r k v; do
    n=${n#-}
    case $k in
      simd_count|vendor_id|device_id|gfx_target_version|capability|cpu_cores_count|drm_render_minor|unique_id|domain|location_id) n="$n $k=$v" ;;
    esac
  done <"$d/properties"
  fact "k ${d##*/} $n"
done 2>/dev/null
#end
#if brands
# For fleets whose images carry NVIDIA_REQUIRE_CUDA.
for p in @programs@ @engines@; do
  exists "$p"
done
for d in @cdi@; do
  case $d in
    *.yaml|*.yml|*.json) [ -e "$d" ] && fact "d ${d#"$R"}" ;;
  esac
done
#end
