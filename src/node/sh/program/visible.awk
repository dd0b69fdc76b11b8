#if script
# Reads the two …_VISIBLE_DEVICES, as host/nvidia/visible-devices.ts does.
function matches(whole, wanted, cudas) {
  whole = tolower(whole); wanted = tolower(wanted)
  return cudas ? length(wanted) > 4 && index(whole, wanted) == 1 : whole == wanted
}
# The GPU that an entry names, or -1, and in part the instance if it names one.
function entry(e, cudas,  i, p, k, found) {
  part = 0
  if (e ~ /^[0-9]+$/ && length(e) < 5) { for (i = 0; i < N; i++) if (idx[i] == e + 0) return i; return -1 }
  if (!cudas && e ~ /^[0-9]+:[0-9]+$/) {
    p = index(e, ":")
    if (p > 5 || length(e) - p > 4) return -1
    for (i = 1; i <= mn; i++) if (idx[migof[i]] == substr(e, 1, p - 1) + 0 && k++ == substr(e, p + 1) + 0) { part = i; return migof[i] }
    return -1
  }
  found = -1
  if (tolower(e) ~ /^mig-/) { for (i = 1; i <= mn; i++) if (matches(migs[i], e, cudas)) { k++; found = migof[part = i] } }
  else if (tolower(e) ~ /^gpu-/) { for (i = 0; i < N; i++) if (uu[i] != "" && matches(uu[i], e, cudas)) { k++; found = i } }
  # A prefix that fits two GPUs names neither.
  return k == 1 ? found : -1
}
# Hides the GPUs that the list does not name. CUDA ignores the list from the first wrong entry on.
function narrow(name, cudas,  s, a, k, i, j, on, count, kinds, x, whole, parts) {
  if (!(name in ENVIRON) || !N || (ENVIRON[name] ~ /^(void)?$/ && !cudas)) return
  s = trim(ENVIRON[name])
  if (s == "all" && !cudas) return
  if (!(s == "" || s == "none" || s == "void" || s == "NoDevFiles" || (s == "-1" && cudas))) {
    k = split(s, a, ",")
    for (i = 1; i <= k; i++) {
      if ((j = entry(trim(a[i]), cudas)) < 0) {
        if (!x++) tell("VISIBLE_DEVICES_UNCLEAR", name ": there is no GPU " trim(a[i]))
        if (cudas) break
      } else {
        if (!(j in on)) { on[j] = 1; count++ }
        if (part) parts[part] = 1; else whole[j] = 1
      }
    }
  }
  if (cudas && s ~ /^[0-9]/ && count && count < N && ENVIRON["CUDA_DEVICE_ORDER"] != "PCI_BUS_ID") {
    x = 0
    for (i = 0; i < N; i++) x += kinds[nm[i] == "" ? id_[i] : nm[i], cc[i]]++ == 0
    if (x > 1) { tell("VISIBLE_DEVICES_UNCLEAR", name " counts unlike GPUs by speed; all count as visible"); return }
  }
  for (i = 0; i < N; i++) if (!(i in on)) { hide[i] = 1; hider = name }
  # A GPU without an instance that both variables name is not visible.
  for (i = 1; i <= mn; i++) if (!(migof[i] in whole) && !(i in parts) && !(i in gone)) { gone[i] = 1; if (++lost_[migof[i]] == instances[migof[i]]) hide[migof[i]] = 1 }
}
function visible(  i) {
  # Inside a container the runtime has applied the first variable already, by the host's numbers.
  if (!inside) narrow("NVIDIA_VISIBLE_DEVICES", 0)
  narrow("CUDA_VISIBLE_DEVICES", 1)
  for (i = 0; i < N; i++) if (!(i in hide)) seenby[V++] = i
  if (N && !V) tell("GPUS_HIDDEN", hider " hides all GPUs")
}
# Facts of states that no word of one column tells.
function fabricfact(i,  s, t) {
  s = tolower(cell[i, "fabric.state"])
  t = tolower(cell[i, "fabric.status"])
  return s ~ /in progress$/ ? "in-progress" : s ~ /not started$/ ? "not-started" : s ~ /completed$/ && t != "" && t !~ /success$|n\/a\]?$/ ? "failed" : ""
}
function migfact(i) { return i in divided && i in told_ && !instances[i] ? "empty" : "" }
function uvmfact() { return inside && control && scale == "linux" && !("/dev/nvidia-uvm" in has) && cudagiven() ? "false" : "" }
# States in which the driver answers and CUDA fails: those of facts/broken-states.ts, which state-checks.ts writes here, and those that readers
# such as host/nvidia/container-toolkit.ts find.
function states(  i, j, allin) {
  for (j = 0; j < V; j++) {
    i = seenby[j]
    @gpustates@
    if (i in untold && cc[i] + 0 >= 90 && "nvswitch" in has && !unchecked) refusal = "FACT_UNKNOWN: this nvidia-smi does not tell whether the NVSwitch fabric is up: update the driver, or take --unchecked"
  }
  @allstates@
  if (lackscuda && scale == "linux" && (!inside || "/dev/nvidia-uvm" in has || cudagiven())) broken("NO_LIBCUDA", "the driver finds no libcuda.so.1 that loads: install its compute libraries")
  if (V && scale == "linux" && ("/dev/nvidia-uvm" in has) && !("w/dev/nvidia-uvm" in has)) forbidden("/dev/nvidia-uvm")
  @driverstates@
}
function cudagiven(  a, k, i) {
  if (!("NVIDIA_DRIVER_CAPABILITIES" in ENVIRON)) return !("NVIDIA_VISIBLE_DEVICES" in ENVIRON)
  k = split(ENVIRON["NVIDIA_DRIVER_CAPABILITIES"], a, ",")
  for (i = 1; i <= k; i++) if (trim(a[i]) ~ /^(all|compute)$/) return 1
}
#end
