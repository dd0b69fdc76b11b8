/** Judges the images and chooses one, in awk. The rules themselves stand in the tables. */

import { enginePrograms, runtimePrograms } from "../../host/container-runtime.ts";
import type { FleetNeeds } from "./image-rows.ts";
import type { OwnText } from "./vendor-texts.ts";

export const judgeFunctions = ({ brands, arm, classes }: FleetNeeds, own: OwnText): string => String.raw`
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
    if (step > reached) { reached = step; reason = code " for " current ": " s }
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
    if (drv == "" || drvkey == "") return why(4, "NO_NVIDIA_DRIVER", device ? "this host has no NVIDIA driver with a version" : "this host has no NVIDIA GPU")
    if (!V) return why(4, "NO_GPU", "driver " drv " and no visible GPU")
    for (j = 0; j < V; j++) {
      g = seenby[j]
      for (k = 1; k <= rows["P"]; k++) if (split(row["P", k], y) && index("," y[1] ",", "," cc[g] ","))
        if (look(pick(y[2], (scale == "linux" ? 1 : ${arm ? 'scale == "l4t" ? 7 : ' : ""}4) + (flavor == "open" ? 1 : flavor == "" ? 2 : 0))) != "+") return why(5, "NO_GPU", "driver " drv " does not drive compute capability " dotted(cc[g]))
    }
    split(row["G", q], y)
    split(y[scale == "linux" ? 3 : ${arm ? 'scale == "l4t" ? 5 : ' : ""}4], x, "/")
    for (j = 0; j < V; j++) {
      s = look(pick(x[1], class[seenby[j]] + 1))
      ${classes ? 'if (s ~ /^[uvw]$/) { k = 2 * index("uvw", s) - 1; if (!doubtful || k < doubtful) doubtful = k; continue }' : ""}
      if (s !~ /^[0-9]$/) return version(6, s == "o" ? "DRIVER_TOO_OLD" : s == "x" ? "DRIVER_NOT_EXACT" : "COMPAT_NOT_SUPPORTED")
    }
    ${classes ? "if (doubtful) s = doubtful" : ""}
    tier = int(s / 2)
    t = s % 2
    worst = 0
    unused = y[1]
    for (j = 0; j < V; j++) {
      g = seenby[j]
      if (!((q, cc[g]) in best)) best[q, cc[g]] = upto(row["K", y[2]], ",", "=", v(cc[g]))
      e = best[q, cc[g]]
      if (e == "" || e == "-") return why(7, "NO_GPU_CODE", "no code of it runs on compute capability " dotted(cc[g]))
      if (substr(e, 2, 1) == "p" && !t) return version(8, "PTX_TOO_NEW")
      match(e, /[0-9]+$/)
      c = 1000 * substr(e, 1, 1) + cc[g] - substr(e, RSTART)
      if (c > worst) worst = c
      if (!(substr(e, 2) in seen_)) { seen_[substr(e, 2)] = 1; unused-- }
    }
    ${brands ? 'e = pick(x[2], runtime); if (e + 0) for (j = 0; j < V; j++) if (!required(row["Q", e], seenby[j])) return version(9, "NVIDIA_REQUIRE_UNSATISFIED")' : ""}
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
    if (plat[i] != host) return why(1, "ARCH_MISMATCH", "it is for " plat[i] ", this host is " host)
    if (fault != "" && (${own("faulty")}req[i] != "-" || !cpuwanted)) { hurt = 1; return 0 }
    if (unknown != "" && gpuimages) { unsure = 1; return 0 }
    ${own("state")}
    if (!fitting[set[i]]) return why(2, "CPU_FEATURES_MISSING", "the CPU of this host does not have " lack[set[i]])
    if (ker[i] != "-") {
      k = v(ker[i])
      if (k == "" || kernel < k) return why(3, "KERNEL_TOO_OLD", "it needs kernel " ker[i] ", this host has " release)
    }
    tier = 0
    return req[i] == "-" ? 1 : ${own("fits")}fitsgpu(req[i])
  }
  # This process's architecture counts: on a 64-bit kernel a 32-bit process has short addresses.
  function narrow_host(  f, l, k, wide) {
    f = R "/proc/self/maps"
    while ((getline l < f) > 0) { k++; if (index(l, "-") > 9) wide = 1 }
    if (k && !wide) { sub(/amd64$/, "386", host); sub(/arm64$/, "arm", host) }
  }
  function say(s) { gsub(/[^ -~]/, "?", s); print "imgmatch: " s > "/dev/stderr" }
`;

/** Evaluates an expression of `NVIDIA_REQUIRE_CUDA` for a GPU. */
export const requireFunctions = String.raw`
  function required(list, g,  a, k, i, b, p) {
    b = brand[g]
    if (b == "" && scale == "linux") b = brandstep(class[g])
    if (b == "") b = "-"
    k = split(list, a, ",")
    for (i = 1; i <= k; i++) { p = index(a[i], ":"); if (substr(a[i], 1, p - 1) == b) return look(upto(substr(a[i], p + 1), "/", "=", v(cc[g] + 0))) == "+" }
  }
  function brandstep(c,  i, a, b, n) {
    n = drv
    sub(/\..*/, "", n)
    for (i = 1; i <= rows["Y"]; i++) { split(row["Y", i], a); if (a[1] == c && a[2] + 0 <= n + 0) b = a[3] == "-" ? "" : a[3] }
    return b
  }
`;

/** Reads how containers get the GPU, as `host/container-runtime.ts` does: 1 cdi, 2 legacy, 3 none, 4 unknown. */
export const runtimeFunctions = String.raw`
  function readruntime(  i, k, a) {
    for (i = 1; i <= cn; i++) if (slurp(cdi[i])) {
      gsub(/[^A-Za-z0-9_.:\/\n-]/, "", text)
      if (text ~ /kind:([A-Za-z0-9_.-]+[.])?nvidia[.]com\//) { runtime = 1; return }
    }
    k = split("PROGRAMS", a)
    for (i = 1; i <= k; i++) if (a[i] in has) { runtime = 2; return }
    if (slurp("/etc/docker/daemon.json") && namesnvidia(text)) { runtime = 2; return }
    k = split("ENGINES", a)
    for (i = 1; !wsl && i <= k; i++) if (a[i] in has) { runtime = 3; return }
    runtime = 4
  }
  # 1 if "runtimes" of a daemon.json has the key "nvidia".
  function namesnvidia(t,  p, depth) {
    gsub(/[ \t\r\n]/, "", t)
    if (!(p = index(t, "\"runtimes\":{"))) return 0
    t = substr(t, p + 12)
    while (match(t, /[{}]|"nvidia":/)) {
      p = substr(t, RSTART, 1)
      if (p == "{") depth++
      else if (p == "}") { if (depth-- == 0) return 0 }
      else if (!depth) return 1
      t = substr(t, RSTART + RLENGTH)
    }
    return 0
  }
`
  .replace("PROGRAMS", runtimePrograms.join(" "))
  .replace("ENGINES", enginePrograms.join(" "));

export const judgeMain = ({ brands, classes, repositories }: FleetNeeds, own: OwnText): string => String.raw`
  END {
    R = ENVIRON["IMGMATCH_ROOT"]
    n_ = split(ENVIRON["IMGMATCH_FACTS"], facts_, "\n")
    for (i = 1; i <= n_; i++) {
      split(facts_[i], a)
      if (a[1] == "e") has[substr(facts_[i], 3)] = 1
      else if (a[1] == "g") { dir[++dn] = a[2]; info[dn] = a[3] }
      else if (a[1] == "p" && bus(a[2]) != "" && tolower(a[3]) ~ /^0x[0-9a-f][0-9a-f][0-9a-f][0-9a-f]$/) {
        ${own("card")}
        pb[++pn] = bus(a[2]); pd[pn] = tolower(substr(a[3], 3)); pv[pn] = a[4]
      }
      else if (a[1] == "h") host = a[2]
      else if (a[1] == "cpu") cpuonly = cpuwanted = 1
      else if (a[1] == "unchecked") unchecked = 1
      ${own("fact")}
      ${brands ? 'else if (a[1] == "d") cdi[++cn] = substr(facts_[i], 3)' : ""}
    }
    if (pinned) cpuwanted = 1
    # Reading an element of an array creates it, so an unset variable is not read.
    for (i in ENVIRON) if (i ~ /^(NVIDIA|CUDA)_VISIBLE_DEVICES$/ && tolower(ENVIRON[i]) ~ /mig-|:/) wantsmig = 1
    release = slurp("/proc/sys/kernel/osrelease") ? trim(text) : ""
    narrow_host()
    if (match(release, /^[0-9]+\.[0-9]+(\.[0-9]+)?/)) kernel = v(substr(release, 1, RLENGTH))
    CPU_PARTS
    if (feature && !lists) tell("UNREADABLE", "/proc/cpuinfo lists no CPU features of " host)
    fitsets()
    if (cpuonly) for (i = 1; i <= n; i++) if (req[i] != "-") plat[i] = "--cpu"
    if (!cpuonly) { nvidia(); visible(); states()${own("read")} }
    ${brands ? "readruntime()" : ""}
    drvkey = v(drv)
    cudakey = v(cuda)
    # Without a driver no image with GPU code runs on any GPU.
    for (j = V - 1; drv != "" && j >= 0; j--) if (cc[seenby[j]] == "") unknown = seenby[j]
    for (i = 1; i <= n; i++) if (req[i] ${own("isFirst") || '!= "-"'}) gpuimages = 1
    for (i = 1; i <= n; i++) if (fits(i)) { k_ = key(i); if (doubtful) { if (doubt == "" || k_ < doubt) { doubt = k_; doubted = tag[i] } } else if (winner == 0 || k_ < least) { winner = i; least = k_ } }
    if (refusal != "") { say(refusal); exit 4 }
    if (unsure) { say("FACT_UNKNOWN: the compute capability of GPU " idx[unknown] (nm[unknown] == "" ? "" : " (" nm[unknown] ")") " is unknown, and an image with GPU code may be the better one; update the NVIDIA driver, export the script with a newer imgmatch, ask imgmatch resolve, or take a CPU image (--cpu)"); exit 4 }
    ${classes ? `if (doubt != "" && (winner == 0 || doubt < least)) { say("FACT_UNKNOWN: a script does not see whether the container toolkit of this host loads the forward-compatibility package of " doubted "; ask imgmatch resolve, or take a CPU image (--cpu)"); exit 4 }` : ""}
    if (winner == 0) {
      if (hurt) { say("HOST_BROKEN: " fault); exit 4 }
      ${own("stopped")}
      say("NO_MATCH: no image fits this host" (reason == "" ? "" : "; the closest: " reason))
      exit 3
    }
    if (req[winner] == "-" && device && !cpuwanted) say((note == "" ? "" : note "; ") "this host has an NVIDIA device, the image has no GPU code" (reason == "" ? "" : "; the closest that has some: " reason))
    ${own("unused")}
    else if (note != "") say(note)
    print ${repositories ? '(index(tag[winner], ":") ? "" : repository ":")' : 'repository ":"'} tag[winner] "@sha256:" dig[winner]
  }
`;
