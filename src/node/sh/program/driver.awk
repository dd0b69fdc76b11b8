# Reads driver and GPUs from /proc and /sys, as host/nvidia/surroundings.ts, host/nvidia/read-driver.ts and host/nvidia/nvidia-facts.ts do.
# Only fleets with Arm images get the questions about a Jetson.
# Reads a file into text. 0 for a file that cannot be read.
function slurp(p,  f, l, r) {
  f = R p
  text = ""
  while ((r = (getline l < f)) > 0) text = text l "\n"
  if (r < 0) return 0
  close(f)
  return 1
}
# A version as a text that compares as its numbers do. Empty for a text that is no version.
function v(t,  a, k, i, s) {
  if (t !~ /^[0-9]+(\.[0-9]+)*$/) return ""
  if ((k = split(t, a, ".")) > 4) return ""
  s = "v"
  for (i = 1; i <= 4; i++) {
    if (length(a[i]) > 9) return ""
    s = s substr("000000000" a[i], length(a[i]) + 1)
  }
  return s
}
function bus(t,  p) {
  t = toupper(trim(t))
  if (t !~ /^([0-9A-F]+:)?[0-9A-F][0-9A-F]:[0-9A-F][0-9A-F]\.[0-7]$/) return ""
  if (length(t) == 7) return "00000000:" t
  p = index(t, ":")
  return p > 4 && p < 10 ? substr("00000000", p) t : ""
}
# The version right after "Kernel Module", or after "for" and an architecture.
function kernelmodule(t,  k, l, i, a, s, n) {
  k = split(t, l, "\n")
  for (i = 1; i <= k; i++) if (l[i] ~ /^[ \t]*NVRM version:/) break
  if (i > k || !match(l[i], /[^A-Za-z0-9_]Kernel Module[ \t]+/)) return 0
  open = l[i] ~ /[^A-Za-z0-9_]Open Kernel Module/
  n = split(substr(l[i], RSTART + RLENGTH), a)
  s = leading(a[1] == "for" && n > 2 ? a[3] : a[1])
  if (s == "") return 0
  #if arm
  if (a[1] == "for" && a[2] == "aarch64" && !open && s + 0 < 100) { l4t = 1; open = 0; return 1 }
  #end
  module = s
  flavor = open ? "open" : "proprietary"
  return 1
}
# The version at the start of a text, unless more than a version follows without a blank.
function leading(s) {
  if (!match(s, /^[0-9]+\.[0-9]+(\.[0-9]+)?(\.[0-9]+)?/)) return ""
  return substr(s, RLENGTH + 1, 1) ~ /[A-Za-z0-9_.]/ ? "" : substr(s, 1, RLENGTH)
}
function number(s) { return s != "" && leading(s) == s }
# Problems of the host, without the HOST_ of their codes: a fault, a note, a lack of permission.
function broken(code, what) { if (fault == "") fault = "HOST_" code ": " what; told++ }
function tell(code, what) { if (note == "") note = "HOST_" code ": " what; told++ }
function forbidden(what) { tell("NO_PERMISSION", "no permission for " what) }
function container(  k, a, i) {
  if ("/.dockerenv" in has || "/run/.containerenv" in has || "container" in ENVIRON || "KUBERNETES_SERVICE_HOST" in ENVIRON) return 1
  if (slurp("/proc/1/cgroup") && text ~ /docker|kubepods|containerd|libpod|lxc/) return 1
  if (slurp("/run/systemd/container") && manager(text)) return 1
  k = "/proc/1/environ"
  k = k in has ? split(plain(k), a, "\n") : 0
  for (i = 1; i <= k; i++) if (a[i] ~ /^container=/) return manager(substr(a[i], 11))
}
function manager(s) { gsub(/[ \t\r\n]/, "", s); return s != "" && s != "wsl" }
# A file with NUL between its words, at which some awks end.
function plain(p,  c, l, s) {
  c = "tr \"\\000\" \"\\n\" 2>/dev/null <\"$IMGMATCH_ROOT" p "\""
  s = ""
  while ((c | getline l) > 0) s = s l "\n"
  close(c)
  return s
}
function gpu(index_, uuid, name, compute, id, where) {
  idx[N] = index_; uu[N] = uuid; nm[N] = name; cc[N] = compute; id_[N] = id; at[N] = where; N++
}
function idof(where,  i) { for (i = 1; i <= pn; i++) if (pb[i] == where) return pd[i] }
function field(t, k,  l, n, i) {
  n = split(t, l, "\n")
  for (i = 1; i <= n; i++) if (index(l[i], k ":") == 1) return trim(substr(l[i], length(k) + 2))
}
# The GPUs that the kernel module lists. listed is 0 where it lists nothing.
function procgpus(  i, j, t, m, w, s, k, refused) {
  k = N = listed = 0
  s = "/proc/driver/nvidia/gpus"
  for (i = 1; i <= dn; i++) {
    if (!slurp(s "/" dir[i] "/information")) { if (info[i]) refused = 1; continue }
    t = text
    w = bus(field(t, "Bus Location"))
    if (w == "") w = bus(dir[i])
    if (tolower(field(t, "GPU Excluded")) == "yes") { excluded[w] = 1; continue }
    m = field(t, "Device Minor")
    buses[++k] = w
    src[w] = t
    m = m ~ /^[0-9]+$/ && length(m) < 5 ? "/dev/nvidia" (m + 0) : ""
    if (m != "") cardnode[++cardnodes] = m
    #if guard
    # Outside of a runtime that is known, a card without a device node may be another container's.
    if (m == "") unclear = 1
    absent[w] = m != "" && !(m in has)
    #else
    absent[w] = inside && m != "" && !(m in has)
    #end
  }
  if (refused) forbidden(s)
  #if guard
  if (refused) unclear = 1
  #end
  if (dn && !refused) {
    listed = 1
    sort(buses, k)
    for (i = 1; i <= k; i++) if (!absent[w = buses[i]]) {
      s = field(src[w], "GPU UUID")
      if (tolower(s) !~ /^gpu-[0-9a-f-]+$/) s = ""
      t = field(src[w], "Model")
      gpu(N, s, t == "Unknown" ? "" : t, "", idof(w), w)
    }
    return
  }
  #if script
  for (i = 1; i <= pn; i++) if (pv[i] == "nvidia") { listed = 1; gpu(N, "", "", "", pd[i], pb[i]) }
  #end
}
#if script
# Why nvidia-smi lists no card, as host/nvidia/device-nodes.ts finds it. The cards that this user may not open are there for a container.
function nocards(kept,  i, k, s, given) {
  # Where no list of cards can be read.
  if (!(given = cardnodes)) for (i = 0; i < 16; i++) cardnode[++cardnodes] = "/dev/nvidia" i
  for (i = 1; i <= cardnodes; i++) if (cardnode[i] in has) {
    if (!system("{ true <>\"$IMGMATCH_ROOT" cardnode[i] "\"; } 2>/dev/null")) return
    s = s (k++ ? ", " : "") cardnode[i]
  }
  if (k) { N = kept; forbidden(s) }
  else if (inside) tell("CONTAINER_WITHOUT_DEVICES", (given ? given " GPU" (given > 1 ? "s" : "") " in the machine, none" : "no GPU") " given to this container")
}
#end
function sort(a, k,  i, j, t) {
  for (i = 2; i <= k; i++) { t = a[i]; for (j = i - 1; j > 0 && a[j] > t; j--) a[j + 1] = a[j]; a[j + 1] = t }
}
#if script
# A driver library on disk of another version than the loaded module.
function mismatch(  c, l, i, k, s, first) {
  if (module == "") return
  c = "cd \"$IMGMATCH_ROOT/\" && for d in $IMGMATCH_FOLDERS; do set -- \"$@\" $d/libnvidia-ml.so.1 $d/libcuda.so.1; done && ls -ld \"$@\" 2>/dev/null"
  while ((c | getline l) > 0) if ((i = index(l, " -> "))) {
    s = substr(l, i + 4)
    sub(/^.*\//, "", s)
    if (s !~ /^lib(nvidia-ml|cuda)\.so\.[0-9]/) continue
    sub(/^lib(nvidia-ml|cuda)\.so\./, "", s)
    if (!number(s)) continue
    if (s == module) first = "same"
    else if (first == "") first = s
  }
  close(c)
  if (first != "" && first != "same") broken("DRIVER_LIBRARY_MISMATCH", "kernel module " module " and driver library " first)
}
#if arm
function readtegra(  t, i, k, a) {
  if (host != "linux/arm64") return
  t = "/proc/device-tree/compatible" in has ? plain("/proc/device-tree/compatible") : ""
  @chips@
  if ("/etc/nv_tegra_release" in has || chip) tegra = 1
  else if (slurp("/sys/devices/soc0/family") && tolower(text) ~ /^tegra/) tegra = 1
}
# The compute capability of a chip by the name that the driver prints.
function chipof(name) {
  @chipnames@
  return chip
}
#end
# 1 if the file of a loaded module can be read.
function readable(p) {
  if (slurp(p)) return loaded = 1
  if (p in has) denied = 1
}
function nvidia(  i, p, s, free, lost, kept) {
  p = "/proc/driver/nvidia/version"
  if (readable(p)) known = kernelmodule(text)
  if (!known && readable("/sys/module/nvidia/version") && number(s = trim(text))) { module = s; known = 1 }
  if (!known && denied) forbidden(p)
  wsl = ("/dev/dxg" in has) || (tolower(release) ~ /microsoft/ && ("@wsl@/libcuda.so.1" in has))
  control = "/dev/nvidiactl" in has
  #if arm
  readtegra()
  #end
  scale = wsl ? "wsl" : tegra ? "l4t" : "linux"
  driver = loaded || denied || wsl || control
  if (!driver && !pn && !tegra) return
  device = 1
  inside = container()
  if (!driver) {
    #if arm
    if (tegra) { tell("UNSUPPORTED", "this Jetson has no NVIDIA driver with a version"); return }
    #end
    for (i = 1; i <= pn; i++) if (pv[i] == "nouveau") tell("NOUVEAU", "nouveau holds " pb[i] "; CUDA needs the NVIDIA driver")
    for (i = 1; i <= pn; i++) if (pv[i] == "none" || pv[i] == "nvidia") tell("NO_DRIVER", "NVIDIA GPU " pb[i] " and no NVIDIA kernel module loaded")
    if (!told) tell("GPU_TAKEN", "another driver holds " pb[1])
    return
  }
  #if arm
  if (l4t) tell("UNSUPPORTED", "the driver of this Jetson names an L4T release and no driver version")
  #end
  told = 0
  if (inside && !control && !wsl && !tegra) {
    tell("CONTAINER_WITHOUT_DEVICES", "inside a container without /dev/nvidiactl")
    drv = module
    return
  }
  procgpus()
  named = told
  kept = N
  # The old Jetson stack has no nvidia-smi.
  if (!l4t && !cpuonly && !(unchecked && enough())) {
    s = fault
    p = note
    i = nvidiasmi()
    # Every GPU of Windows gives WSL2 /dev/dxg. NVIDIA's Windows driver brings files.
    if (wsl && !loaded && !denied && !control && !("windows" in has) && !(fromsmi && N)) { device = N = 0; fault = s; note = p; return }
    if (!i) {
      if (wsl) broken("NVML_FAILED", "neither libnvidia-ml nor nvidia-smi is there")
      else if (!tegra && !unchecked) refusal = (unstarted ? "FACT_UNKNOWN: nvidia-smi cannot be started" : "HOST_UNCHECKED: nvidia-smi is not there") ", and nothing else says whether the GPUs work; --unchecked goes without it"
      mismatch()
    }
    else if (fromsmi) { told = told - named; if (!N && !wsl && !tegra) nocards(kept) }
  } else if (!l4t && !cpuonly) mismatch()
  named = told
  #if arm
  if (!listed && tegra && chip) { gpu(0, "", "", "", "", ""); listed = 1 }
  #end
  drv = wsl ? library : module != "" ? module : l4t ? "" : smidriver
  cudaversion()
  for (i = 0; i < N; i++) complete(i)
  # A problem that is already named explains a missing GPU.
  if (named) return
  s = "driver " drv " is loaded and lists no GPU"
  # A container sees the whole bus and lists its own GPUs alone. WSL2 and a Jetson have theirs elsewhere.
  if (inside || wsl || tegra) { if (!N && fromsmi) broken("NO_DEVICES", s); return }
  # GPUs that the bus or the module has and that the driver does not list.
  for (i = 1; i <= pn; i++) if (!at_(pb[i])) {
    if (pv[i] == "none") free++
    else if (pv[i] == "nvidia" && !(pb[i] in excluded)) lost = pb[i]
  }
  for (p in src) if (idof(p) == "" && !at_(p)) lost = p
  if (lost != "") s = s ", the machine has " lost
  if (!N) { if (!free || lost != "") broken("NO_DEVICES", s) }
  else if (lost != "" && !at_("")) broken("NO_DEVICES", "the driver does not list " lost)
}
#else
# From inside a container: a source that is silent, or that another container's card may stand in, leaves the answer open.
function nvidia(  p, s, i) {
  p = "/proc/driver/nvidia/version"
  if (slurp(p)) known = kernelmodule(text)
  if (!known && slurp("/sys/module/nvidia/version") && number(s = trim(text))) { module = s; known = 1 }
  control = "/dev/nvidiactl" in has
  scale = "linux"
  inside = container()
  for (s in has) if (s ~ /^.dev.nvidia[0-9]/) given = 1
  for (i = 1; i <= pn; i++) if (pv[i] == "nvidia") bound = 1
  unclear = "/dev/dxg" in has || "/proc/device-tree" in has || !known && (p in has || "/sys/module/nvidia/version" in has || control || given || bound)
  device = known || pn
  if (!known) return
  drv = module
  cuda = branchcuda(drv)
  if (cuda == "") unclear = 1
  if (inside && !control && !given) return
  procgpus()
  if (!dn || N == 0 && (given || !inside) || !inside && tolower(ENVIRON["NVIDIA_VISIBLE_DEVICES"]) !~ /^(all|void)?$/) unclear = 1
  for (i = 0; i < N; i++) { complete(i); seenby[V++] = i; if (cc[i] == "") unclear = 1 }
}
#end
function at_(where,  i) { for (i = 0; i < N; i++) if (at[i] == where) return 1 }
function branchcuda(t) {
  sub(/\..*/, "", t)
  t = "," t + 0 "="
  if (!index(branches, t)) return ""
  t = substr(branches, index(branches, t) + length(t))
  return substr(t, 1, index(t, ",") - 1)
}
# The driver's CUDA version, but never more than its branch offers: a compatibility library may answer in its place.
function cudaversion(  b) {
  b = drv == "" ? "" : branchcuda(drv)
  cuda = smicuda == "" ? b : smicuda
  if (b != "" && smicuda != "" && v(smicuda) > v(b) && !wsl && !tegra) cuda = b
}
#if script
# 1 if /proc and /sys alone suffice for an answer.
function enough(  i) {
  if (wsl || module == "" || !N || branchcuda(module) == "" || wantsmig) return 0
  for (i = 0; i < N; i++) if (id_[i] == "" || !product(id_[i])) return 0
  return 1
}
#end
function product(id,  i, j, k, m, a, s, t) {
  for (i = 1; i <= rows["V"]; i++) {
    k = split(row["V", i], a)
    for (j = 2; j <= k; j++) if (substr(a[j], 1, 2) == substr(id, 1, 2))
      for (m = 4; m < length(a[j]); m += 2) {
        s = t = substr(a[j], m, 2)
        if (substr(a[j], m + 2, 1) == "-") t = substr(a[j], m += 3, 2)
        if (s <= substr(id, 3) && substr(id, 3) <= t) {
          s = a[1]
          split(s, a, "/")
          pcc = a[1]; pclass = a[2]; pbrand = a[3]
          return 1
        }
      }
  }
}
# Fills in compute capability, class and brand of a GPU from the tables.
function complete(i,  k, c) {
  if (id_[i] == "") id_[i] = idof(at[i])
  k = id_[i] != "" && product(id_[i])
  if (cc[i] == "") {
    if (k) cc[i] = pcc
    #if arm
    else if (tegra && (c = chipof(nm[i]))) cc[i] = c
    #end
  }
  #if classes
  class[i] = tegra ? 3 : k && pclass != 4 ? pclass : classof(nm[i])
  #end
  #if brands
  brand[i] = brandof(nm[i]); if (brand[i] == "" && nm[i] == "" && k) brand[i] = pbrand
  #end
  if (cc[i] == "") tell("GPU_FIELD_UNKNOWN", "GPU " idx[i] " does not tell its compute capability")
}
