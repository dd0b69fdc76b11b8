# Judges the images. The rules themselves stand in the tables.
# The answer of a grid for this driver and its CUDA version. An unknown version takes the first answer.
function look(g) {
  if (!(g in memo)) memo[g] = upto("=" upto(row["D", g], ";", ":", drvkey), ",", "=", cudakey)
  return memo[g]
}
# An entry of a list, or its only entry.
function pick(list, i,  a) { return split(list, a, ",") == 1 ? a[1] : a[i] }
# The last entry of a table, 80=2s80,90=0a90, that begins at or before a version.
function upto(list, sep, eq, version,  a, k, i, p, e) {
  k = split(list, a, sep)
  for (i = 1; i <= k; i++) { p = index(a[i], eq); if (v(substr(a[i], 1, p - 1)) <= version) e = substr(a[i], p + 1) }
  return e
}
function why(step, code, s) {
  #if guard
  if (step > reached) { reached = step; refused_ = code; reason = s }
  #else
  if (step > reached) { reached = step; reason = code " for " current ": " s }
  #end
}
function version(step, code) { why(step, code, "this host has driver " (drv == "" ? "unknown" : drv) ", CUDA " (cuda == "" ? "unknown" : cuda)) }
# A parent comes before the sets that are based on it.
function fitsets(  i, p, k, w, j) {
  fitting[0] = 1
  for (i = 1; i <= rows["C"]; i++) {
    k = split(row["C", i], w)
    p = w[1]
    fitting[i] = lists > 0 && fitting[p]
    lack[i] = lack[p]
    for (j = 2; j <= k && fitting[i]; j++) if (have[w[j]] != lists) { fitting[i] = 0; lack[i] = w[j] }
    if (!lists) lack[i] = "what it has, which cannot be read"
  }
}
# Judges the GPU needs: 1 with tier, worst and unused set, or a reason.
function fitsgpu(q,  j, g, s, e, x, c, k, t, y, seen_) {
  #if guard
  if (drv == "" && unclear) return 0 * (unsure = 1)
  #end
  if (drv == "" || drvkey == "") return why(4, "NO_NVIDIA_DRIVER", device ? "this host has no NVIDIA driver with a version" : "this host has no NVIDIA GPU")
  #if guard
  # A driver that is too old is so for every card.
  split(row["G", q], y)
  split(y[3], x, "/")
  s = look(pick(x[1], 1))
  if (x[1] !~ /,/ && cuda != "" && (s == "o" || s == "x")) return version(6, s == "o" ? "DRIVER_TOO_OLD" : "DRIVER_NOT_EXACT")
  if (unclear) return 0 * (unsure = 1)
  if (!V) return why(4, "NO_GPU", "driver " drv " and no GPU in this container")
  #else
  if (!V) return why(4, "NO_GPU", "driver " drv " and no visible GPU")
  for (j = 0; j < V; j++) {
    g = seenby[j]
    for (k = 1; k <= rows["P"]; k++) if (split(row["P", k], y) && index("," y[1] ",", "," cc[g] ","))
      if (look(pick(y[2], (scale == "linux" ? 1 : scale == "l4t" ? 7 : 4) + (flavor == "open" ? 1 : flavor == "" ? 2 : 0))) != "+") return why(5, "NO_GPU", "driver " drv " does not drive compute capability " dotted(cc[g]))
  }
  #end
  split(row["G", q], y)
  split(y[scale == "linux" ? 3 : scale == "l4t" ? 5 : 4], x, "/")
  for (j = 0; j < V; j++) {
    s = look(pick(x[1], class[seenby[j]] + 1))
    #if classes
    if (s ~ /^[uvw]$/) { k = 2 * index("uvw", s) - 1; if (!doubtful || k < doubtful) doubtful = k; continue }
    #end
    if (s !~ /^[0-9]$/) return version(6, s == "o" ? "DRIVER_TOO_OLD" : s == "x" ? "DRIVER_NOT_EXACT" : "COMPAT_NOT_SUPPORTED")
  }
  #if classes
  if (doubtful) s = doubtful
  #end
  tier = int(s / 2)
  t = s % 2
  worst = 0
  unused = y[1]
  for (j = 0; j < V; j++) {
    g = seenby[j]
    if (!((q, cc[g]) in best)) best[q, cc[g]] = upto(row["K", y[2]], ",", "=", v(cc[g]))
    e = best[q, cc[g]]
    #if arm
    if ((e == "" || e == "-") && scale == "l4t" && drvkey >= v("580") && cc[g] ~ /^8[78]$/ && upto(row["K", y[2]], ",", "=", v("80")) ~ /s80$/) { stopped = "FACT_UNKNOWN: whether sm_80 of " current " runs on compute capability " dotted(cc[g]) " under JetPack 7 is not known; try it"; return 0 }
    #end
    #if guard
    # Of the cards that a variable chooses among, each must lack code.
    if (e == "" || e == "-" || substr(e, 2, 1) == "p" && !t) { lacking++; odd = dotted(cc[g]); if (e == "" || e == "-") nocode++; continue }
    #else
    if (e == "" || e == "-") return why(7, "NO_GPU_CODE", "no code of it runs on compute capability " dotted(cc[g]))
    if (substr(e, 2, 1) == "p" && !t) return version(8, "PTX_TOO_NEW")
    #end
    match(e, /[0-9]+$/)
    c = 1000 * substr(e, 1, 1) + cc[g] - substr(e, RSTART)
    if (c > worst) worst = c
    if (unused && !(substr(e, 2) in seen_)) { seen_[substr(e, 2)] = 1; unused-- }
  }
  #if guard
  if (lacking && lacking < V && "CUDA_VISIBLE_DEVICES" in ENVIRON) return 0 * (unsure = 1)
  if (nocode) return why(7, "NO_GPU_CODE", "no code of it runs on compute capability " odd)
  if (lacking) return version(8, "PTX_TOO_NEW")
  #end
  #if brands
  e = pick(x[2], runtime); if (e + 0) for (j = 0; j < V; j++) if (!required(row["Q", e], seenby[j])) return version(9, "NVIDIA_REQUIRE_UNSATISFIED")
  #end
  return 1
}
function dotted(c) { return substr(c, 1, length(c) - 1) "." substr(c, length(c)) }
function key(i,  k, m, s, a, r, t) {
  k = split(steps, m)
  split(rank[i], r, "/")
  s = "k"
  for (t = 1; t <= k; t++) s = s sprintf("%07d", m[t] == "C" ? (req[i] == "-" ? cpucode : worst) : m[t] == "U" ? (req[i] == "-" ? 0 : unused) : pick(r[m[t]], tier + 1))
  return s
}
function fits(i,  k) {
  current = tag[i]
  doubtful = 0
  #if guard
  # An emulator runs it, or its own files would not have come this far.
  if (plat[i] != host || !lists && set[i] > 0) return 0 * (unsure = 1)
  #else
  if (plat[i] != host) return why(1, "ARCH_MISMATCH", "it is for " plat[i] ", this host is " host)
  if (fault != "" && (req[i] ~ /^a/ ? gpuimages : req[i] != "-" || !cpuwanted)) { hurt = 1; return 0 }
  if (unknown != "" && gpuimages) { unsure = 1; return 0 }
  #end
  #if amd
  if (amdstate != "" && (req[i] ~ /^a/ || req[i] == "-" && !cpuwanted)) { stopped = amdstate; return 0 }
  #end
  if (!fitting[set[i]]) return why(2, "CPU_FEATURES_MISSING", "the CPU of this host does not have " lack[set[i]])
  if (ker[i] != "-") {
    k = v(ker[i])
    #if guard
    if (k == "" || kernel == "") return 0 * (unsure = 1)
    #end
    if (k == "" || kernel < k) return why(3, "KERNEL_TOO_OLD", "it needs kernel " ker[i] ", this host has " release)
  }
  tier = 0
  #if amd
  if (req[i] ~ /^a/) return fitsamd(substr(req[i], 2))
  #end
  return req[i] == "-" ? 1 : fitsgpu(req[i])
}
# This process's architecture counts: on a 64-bit kernel a 32-bit process has short addresses.
function narrow_host(  f, l, k, w) {
  f = R "/proc/self/maps"
  while ((getline l < f) > 0) { k++; if (index(l, "-") > 9) w = 1 }
  if (k && !w) { sub(/amd64$/, "386", host); sub(/arm64$/, "arm", host) }
}
function say(s) { gsub(/[^ -~]/, "?", s); print "imgmatch: " s > "/dev/stderr" }
