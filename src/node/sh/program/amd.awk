#if amd
# Reads and judges AMD's GPUs, as host/amd/amd-facts.ts, host/amd/kfd.ts and host/amd/amd-visible-devices.ts do.
function pad(s, k) { return substr("0000000000000000", 17 - k + length(s)) s }
# To hexadecimal, digit by digit: awk has no numbers of 64 bits.
function hex(s,  h, q, i, r) {
  while (s != "") {
    q = ""
    r = 0
    for (i = 1; i <= length(s); i++) { r = 10 * r + substr(s, i, 1); if (q != "" || r > 15) q = q int(r / 16); r %= 16 }
    h = substr("0123456789abcdef", r + 1, 1) h
    s = q
  }
  return h
}
# An address in the kernel's form: a domain of four digits unless it needs more.
function short(t) { t = tolower(bus(t)); return substr(t, 1, 4) == "0000" ? substr(t, 5) : t }
# Puts the row of a device, or without an id of a target, into kind.
function board(id, target,  i) {
  for (i = 1; i <= rows["T"]; i++) {
    split(row["T", i], kind)
    if (id == "" ? "gfx" kind[1] == target : index("," kind[4] ",", "," id ",")) return 1
  }
  split("", kind)
}
function targetof(n,  i, k) {
  i = int(n / 100) % 100
  k = n % 100
  if (n < 60000 || n > 999999 || i > 15 || k > 15) return ""
  return "gfx" int(n / 10000) substr("0123456789abcdef", i + 1, 1) substr("0123456789abcdef", k + 1, 1)
}
# The nodes that are GPUs, in ROCm's order.
function readkfd(  i, j, k, a, p, n) {
  sort(node, nodes)
  for (i = 1; i <= nodes; i++) {
    k = split(node[i], a)
    if (a[2] == "-") { masked++; continue }
    split("", p)
    for (j = 2; j <= k; j++) if (a[j] ~ /^[a-z_]+=[0-9]+$/) { n = index(a[j], "="); p[substr(a[j], 1, n - 1)] = substr(a[j], n + 1) }
    if (p["simd_count"] + 0 == 0 || p["vendor_id"] + 0 != 4098) continue
    kfds++
    n = p["gfx_target_version"] + 0
    board(pad(hex(p["device_id"]), 4))
    aproc[kfds] = p["cpu_cores_count"] + 0 > 0 ? 1 : kind[2]
    atarget[kfds] = n ? targetof(n) : kind[1] == "" ? "" : "gfx" kind[1]
    board("", atarget[kfds])
    if (aproc[kfds] == "") aproc[kfds] = kind[2]
    # A kernel that does not tell the target may be too old to tell sramecc.
    aecc[kfds] = int(p["capability"] / 67108864) % 2 ? 1 : n || kind[3] == "0" ? 2 : 3
    arender[kfds] = p["drm_render_minor"] + 0 ? "/dev/dri/renderD" (p["drm_render_minor"] + 0) : ""
    auuid[kfds] = p["unique_id"] ~ /^0*$/ ? "" : "GPU-" pad(hex(p["unique_id"]), 16)
    adomain[kfds] = p["domain"] + 0
    aplace[kfds] = p["location_id"] % 65536
  }
}
# The bus addresses of the GPUs that the compute driver lists. A partition has its card's id, and its number in place of the function.
function kfdbuses(  c, l, g, i, s, link) {
  c = "cd \"$IMGMATCH_ROOT/\" && ls -ld sys/class/drm/renderD*/device 2>/dev/null"
  while ((c | getline l) > 0) if (match(l, /renderD[0-9]+\/device -> /)) {
    s = substr(l, RSTART + RLENGTH)
    sub(/^.*\//, "", s)
    link["/dev/dri/" substr(l, RSTART, RLENGTH - 11)] = short(s)
  }
  close(c)
  for (g = 1; g <= kfds; g++) {
    s = arender[g] in link ? link[arender[g]] : ""
    if (s == "") {
      c = aplace[g]
      for (i = 1; i <= kfds; i++) if (auuid[g] != "" && auuid[i] == auuid[g] && adomain[i] == adomain[g] && aplace[i] < c) c = aplace[i]
      if (c) s = short(sprintf("%04x:%02x:%02x.%d", adomain[g], int(c / 256), int(c / 8) % 32, c % 8))
    }
    listedat[s] = 1
  }
}
# The GPUs that ROCm can open. If it can open none: all, except in a container.
function reach(  g, k) {
  if ("/dev/kfd" in has) {
    for (g = 1; g <= kfds; g++) if (!("w/dev/kfd" in has) || arender[g] == "" || ("w" arender[g]) in has) mine[++amine] = g
    k = amine
    for (g = 1; g <= kfds; g++) if (!k && (arender[g] in has)) mine[++amine] = g
  }
  k = amine
  for (g = 1; g <= kfds; g++) if (!k && !inside) mine[++amine] = g
}
# Keeps the GPUs that a variable names, in its order, up to the first wrong entry.
function keep(s, hip,  a, e, k, i, j, n, hits, on, list) {
  if (!amine) return
  k = s == "" || trim(s) == "-1" ? 0 : split(s, a, ",")
  for (i = 1; i <= k; i++) {
    e = hip ? a[i] : toupper(trim(a[i]))
    hits = n = 0
    if (e ~ /^[0-9]+$/ && length(e) < 5 && !(hip && e ~ /^0./)) n = e + 1
    else for (j = amine; j > 0; j--) if (hip ? index(e, "GPU-") && index(auuid[mine[j]], e) : length(e) > 4 && index(toupper(auuid[mine[j]]), e) == 1) { n = j; hits++ }
    if (n < 1 || n > amine || !hip && (hits > 1 || n in on)) break
    if (!(n in on)) { on[n] = 1; list[++on[0]] = mine[n] }
  }
  amine = on[0] + 0
  for (i = 1; i <= amine; i++) mine[i] = list[i]
}
function amdgpus(  i, g, k, s, held, had, inner, skipped, undriven) {
  readkfd()
  for (i = 1; i <= cards; i++) if (cheld[i] == "amdgpu") held = 1
  if (!held && !("/sys/module/amdgpu" in has) && !kfds && !masked) {
    if (wsl && !cards && !("/sys/class/kfd" in has)) amdstate = "FACT_UNKNOWN: whether this host has an AMD GPU is unknown, as WSL2 does not tell it; take a CPU image (--cpu)"
    for (i = 1; i <= cards; i++) if (cheld[i] != "radeon") amdwhy = "NO_AMD_DRIVER"
    return
  }
  inside = container()
  kfdbuses()
  reach()
  # A processor's GPU may be missing in a container, or beside another vendor's.
  inner = kfds > 0
  for (g = 1; g <= kfds; g++) if (aproc[g] != "1") inner = 0
  for (i = 1; i <= cards; i++) {
    if (cheld[i] == "radeon" || masked || cbus[i] in listedat || inner && (device || inside)) continue
    if (!board(cid[i]) || kind[2] != "0") continue
    if (cheld[i] != "amdgpu") undriven = 1
    else if (!inside) skipped = cbus[i]
  }
  if (skipped != "") amdstate = "HOST_BROKEN: HOST_AMD_GPU_SKIPPED: amdgpu drives the AMD GPU " skipped ", and its compute driver does not list it; see dmesg for lines of kfd, or take a CPU image (--cpu)"
  had = amine
  if ("ROCR_VISIBLE_DEVICES" in ENVIRON) keep(ENVIRON["ROCR_VISIBLE_DEVICES"], 0)
  k = "HIP_VISIBLE_DEVICES" in ENVIRON ? ENVIRON["HIP_VISIBLE_DEVICES"] : ""
  if (k == "" && "CUDA_VISIBLE_DEVICES" in ENVIRON) k = ENVIRON["CUDA_VISIBLE_DEVICES"]
  if (k != "") keep(k, 1)
  if (had && !amine) tell("AMD_GPUS_HIDDEN", "a variable hides all GPUs")
  for (i = 1; i <= amine; i++) {
    if (arender[mine[i]] != "") undriven = 0
    if (aproc[mine[i]] != "1") s = 1
  }
  if (undriven && !("/sys/module/amdgpu" in has)) { amdwhy = "NO_AMD_DRIVER"; return }
  # A processor's GPU counts only where there is no card. Equal GPUs count once.
  for (i = 1; i <= amine; i++) {
    g = mine[i]
    if (s && aproc[g] == "1" || (atarget[g], aecc[g]) in judging) continue
    judging[atarget[g], aecc[g]] = 1
    judged[++AV] = g
    if (atarget[g] == "" && amdstate == "") amdstate = "FACT_UNKNOWN: the target of an AMD GPU is unknown, and an image with GPU code may be the better one; update the kernel, hide the GPU, or take a CPU image (--cpu)"
  }
}
# Judges the needs of a row A as fitsgpu does. A certain refusal comes before a doubt.
function fitsamd(q,  y, j, e, i, k, seen_, open_) {
  if (!AV) return why(4, amdwhy == "" ? "NO_AMD_GPU" : amdwhy, "this host has no AMD GPU that it can use")
  split(row["A", q], y)
  split(y[3], k, ">")
  worst = 0
  unused = y[1]
  for (j = 1; j <= AV; j++) {
    e = ";" y[2]
    i = index(e, ";" substr(atarget[judged[j]], 4) "=")
    if (i) { e = substr(e, i + length(atarget[judged[j]]) - 1); sub(/;.*/, "", e); e = pick(e, aecc[judged[j]]) }
    if (!i || e == "-") return why(7, "NO_GPU_CODE", "no code of it runs on " atarget[judged[j]])
    if (e == "?") { open_ = 1; continue }
    # Code that AMD does not support on this kernel comes after all other code.
    i = 1000 * substr(e, 1, 1)
    if (y[3] != "" && atarget[judged[j]] == "gfx" k[1] && kernel != "" && kernel >= v(k[2])) i = cpucode - 1000 + 1 + i / 1000
    if (i > worst) worst = i
    if (!(substr(e, 2) in seen_)) { seen_[substr(e, 2)] = 1; unused-- }
  }
  if (open_) stopped = "FACT_UNKNOWN: whether sramecc is on decides for " current ", and this kernel does not tell it; update the kernel"
  return !open_
}
#end
