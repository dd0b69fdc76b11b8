/** The script's reading of the two `…_VISIBLE_DEVICES`: what `host/visible-devices.ts` does, in awk. */

export const visibleFunctions = String.raw`
  function matches(whole, wanted, cudas) {
    whole = tolower(whole); wanted = tolower(wanted)
    return cudas ? length(wanted) > 4 && index(whole, wanted) == 1 : whole == wanted
  }
  # The GPU that an entry names, or -1.
  function entry(e, cudas,  i, p, k, found) {
    if (e ~ /^[0-9]+$/ && length(e) < 5) { for (i = 0; i < N; i++) if (idx[i] == e + 0) return i; return -1 }
    if (!cudas && e ~ /^[0-9]+:[0-9]+$/) {
      p = index(e, ":")
      if (p > 5 || length(e) - p > 4) return -1
      for (i = 0; i < N; i++) if (idx[i] == substr(e, 1, p - 1) + 0) return substr(e, p + 1) + 0 < instances[i] + 0 ? i : -1
      return -1
    }
    found = -1
    if (tolower(e) ~ /^mig-/) { for (i = 1; i <= mn; i++) if (matches(migs[i], e, cudas)) { k++; found = migof[i] } }
    else if (tolower(e) ~ /^gpu-/) { for (i = 0; i < N; i++) if (uu[i] != "" && matches(uu[i], e, cudas)) { k++; found = i } }
    # A beginning that fits two GPUs names neither.
    return k == 1 ? found : -1
  }
  # Hides what the list does not name. CUDA ignores everything from the first wrong entry on.
  function narrow(name, cudas,  s, a, k, i, j, on, count, kinds, x) {
    if (!(name in ENVIRON) || !N || (ENVIRON[name] == "" && !cudas)) return
    s = trim(ENVIRON[name])
    if (s == "all" && !cudas) return
    if (!(s == "" || s == "none" || s == "void" || s == "NoDevFiles" || (s == "-1" && cudas))) {
      k = split(s, a, ",")
      for (i = 1; i <= k; i++) {
        if ((j = entry(trim(a[i]), cudas)) < 0) {
          if (!x++) tell("VISIBLE_DEVICES_UNCLEAR", name ": there is no GPU " trim(a[i]))
          if (cudas) break
        } else if (!(j in on)) { on[j] = 1; count++ }
      }
    }
    if (cudas && s ~ /^[0-9]/ && count && count < N && ENVIRON["CUDA_DEVICE_ORDER"] != "PCI_BUS_ID") {
      x = 0
      for (i = 0; i < N; i++) x += kinds[nm[i] == "" ? id_[i] : nm[i], cc[i]]++ == 0
      if (x > 1) { tell("VISIBLE_DEVICES_UNCLEAR", name " counts unlike GPUs by speed, which only CUDA knows; all GPUs count as visible"); return }
    }
    for (i = 0; i < N; i++) if (!(i in on)) hide[i] = 1
  }
  function visible(  i) {
    # Inside a container the runtime has applied the first one already, in the host's numbers.
    if (!inside) narrow("NVIDIA_VISIBLE_DEVICES", 0)
    narrow("CUDA_VISIBLE_DEVICES", 1)
    for (i = 0; i < N; i++) if (!(i in hide)) seenby[V++] = i
  }
`;
