# Reads the tables: an image with the row I above it, and every other row by letter and number.
NF == 3 && $1 ~ /^[0-9]/ { n++; plat[n] = plat_; set[n] = set_; ker[n] = ker_; req[n] = req_; rank[n] = rank_ $1; tag[n] = $2; dig[n] = $3; next }
$1 == "I" { plat_ = $2; set_ = $3; ker_ = $4; req_ = $5; rank_ = $6 }
{ row[$1, ++rows[$1]] = substr($0, 3) }

# Judges the images and chooses one.
END {
  R = ENVIRON["IMGMATCH_ROOT"]
  n_ = split(ENVIRON["IMGMATCH_FACTS"], facts_, "\n")
  for (i = 1; i <= n_; i++) {
    split(facts_[i], a)
    if (a[1] == "e") has[substr(facts_[i], 3)] = 1
    else if (a[1] == "g") { dir[++dn] = a[2]; info[dn] = a[3] }
    else if (a[1] == "p" && bus(a[2]) != "" && tolower(a[3]) ~ /^0x[0-9a-f][0-9a-f][0-9a-f][0-9a-f]$/) {
      #if amd
      if (a[5] == "0x1002") { cbus[++cards] = short(a[2]); cid[cards] = tolower(substr(a[3], 3)); cheld[cards] = a[4]; continue }
      #end
      pb[++pn] = bus(a[2]); pd[pn] = tolower(substr(a[3], 3)); pv[pn] = a[4]
    }
    else if (a[1] == "h") host = a[2]
    else if (a[1] == "cpu") cpuonly = cpuwanted = 1
    else if (a[1] == "unchecked") unchecked = 1
    #if amd
    else if (a[1] == "k") node[++nodes] = pad(a[2], 5) substr(facts_[i], 3 + length(a[2]))
    #end
    #if brands
    else if (a[1] == "d") cdi[++cn] = substr(facts_[i], 3)
    #end
  }
  if (pinned) cpuwanted = 1
  # Reading an element of an array creates it, so an unset variable is not read.
  for (i in ENVIRON) if (i ~ /^(NVIDIA|CUDA)_VISIBLE_DEVICES$/ && tolower(ENVIRON[i]) ~ /mig-|:/) wantsmig = 1
  release = slurp("/proc/sys/kernel/osrelease") ? trim(text) : ""
  narrow_host()
  if (match(release, /^[0-9]+\.[0-9]+(\.[0-9]+)?/)) kernel = v(substr(release, 1, RLENGTH))
  # The CPU features of each architecture. On others only images without needs fit.
  #if amd64
  if (host == "linux/amd64") {
    feature = "flags"
    cpuinfo("|flags|vendor_id|cpu family|model|")
    for (i = 1; i <= many[feature]; i++) add(line[feature, i])
    #if hidden
    # H GenuineIntel 6 151,154 avx2 serialize: processors of these models (* is any) that have the first features have the last too. A seventh
    # word is the kernel that prints the last.
    for (i = 1; i <= rows["H"]; i++) {
      split(row["H", i], h)
      if (many["vendor_id"] == 1 && h[1] == value["vendor_id"] && many["cpu family"] == 1 && h[2] == value["cpu family"] && many["model"] == 1 && (h[3] == "*" || index("," h[3] ",", "," value["model"] ",")) && lists && every(h[4]) && (h[6] == "" || kernel != "" && kernel < v(h[6]))) have[h[5]] = lists
    }
    #end
  }
  #end
  #if arm64
  if (host == "linux/arm64") {
    feature = "Features"
    cpuinfo("|Features|")
    for (i = 1; i <= many[feature]; i++) add(line[feature, i])
  }
  #end
  #if ppc64le
  # Each POWER generation runs the code of those before it.
  if (host == "linux/ppc64le") {
    feature = "cpu"
    cpuinfo("|cpu|")
    for (i = 1; i <= many[feature]; i++) {
      s = line[feature, i]
      t = s ~ /(^|[^A-Za-z0-9_])altivec supported([^A-Za-z0-9_]|$)/ ? "altivec" : ""
      if (s ~ /^POWER[0-9]/) for (k = 7; k <= (substr(s, 7, 1) ~ /[0-9]/ ? substr(s, 6, 2) : substr(s, 6, 1)) + 0; k++) t = t " power" k
      add(t)
    }
  }
  #end
  #if riscv64
  if (host == "linux/riscv64") {
    feature = "isa"
    cpuinfo("|isa|mvendorid|marchid|mimpid|")
    for (i = 1; i <= many[feature]; i++) {
      s = tolower(line[feature, i])
      t = ""
      if (match(s, /^rv(32|64)[a-z]*(_[a-z0-9]+)*/)) {
        s = substr(s, 5, RLENGTH - 4)
        k = split(s, a, "_")
        for (j = 1; j <= length(a[1]); j++) t = t " " (substr(a[1], j, 1) == "g" ? "i m a f d zicsr zifencei" : substr(a[1], j, 1))
        for (j = 2; j <= k; j++) t = t " " a[j]
        # Kernels before 6.5 print nothing of what was once a part of i.
        if (a[1] ~ /[ig]/ && kernel != "" && kernel < v("6.5")) t = t " zicntr zicsr zifencei zihpm"
      }
      add(t)
    }
    # The draft 0.7 of vectors.
    if (("mvendorid", "0x5b7") in values && ("marchid", "0x0") in values && ("mimpid", "0x0") in values) for (i in have) if (i ~ /^(v$|zv)/) have[i] = 0
  }
  #end
  if (feature && !lists) tell("UNREADABLE", "/proc/cpuinfo lists no CPU features of " host)
  fitsets()
  if (cpuonly) for (i = 1; i <= n; i++) if (req[i] != "-") plat[i] = "--cpu"
  #if guard
  #if nvidia
  nvidia()
  #end
  #else
  if (!cpuonly) { nvidia(); visible(); states() }
  #end
  #if amd
  if (!cpuonly) amdgpus()
  #end
  #if brands
  readruntime()
  #end
  drvkey = v(drv)
  cudakey = v(cuda)
  # Without a driver no image with GPU code runs on any GPU.
  for (j = V - 1; drv != "" && j >= 0; j--) if (cc[seenby[j]] == "") unknown = seenby[j]
  for (i = 1; i <= n; i++) if (req[i] ~ /^[0-9]/) gpuimages = 1
  for (i = 1; i <= n; i++) if (fits(i)) { k_ = key(i); if (doubtful) { if (doubt == "" || k_ < doubt) { doubt = k_; doubted = tag[i] } } else if (winner == 0 || k_ < least) { winner = i; least = k_ } }
  #if guard
  #if amd
  if (stopped != "" || masked || amdstate != "" || "/dev/kfd" in has && !kfds) unsure = 1
  #end
  if (!winner && !unsure && !doubtful && doubt == "" && reached) refuse()
  exit
  #else
  if (refusal != "") { say(refusal); exit 4 }
  if (unsure) { say("FACT_UNKNOWN: the compute capability of GPU " idx[unknown] (nm[unknown] == "" ? "" : " (" nm[unknown] ")") " is unknown, and an image with GPU code may be the better one; update the NVIDIA driver, export the script with a newer imgmatch, ask imgmatch resolve, or take a CPU image (--cpu)"); exit 4 }
  #if classes
  if (doubt != "" && (winner == 0 || doubt < least)) { say("FACT_UNKNOWN: a script does not see whether the container toolkit of this host loads the forward-compatibility package of " doubted "; ask imgmatch resolve, or take a CPU image (--cpu)"); exit 4 }
  #end
  if (winner == 0) {
    if (hurt) { say("HOST_BROKEN: " fault); exit 4 }
    #if amd
    if (stopped != "") { say(stopped); exit 4 }
    #end
    #if arm
    if (stopped != "") { say(stopped); exit 4 }
    #end
    say("NO_MATCH: no image fits this host" (reason == "" ? "" : "; the closest: " reason))
    exit 3
  }
  if (req[winner] == "-" && device && !cpuwanted) say((note == "" ? "" : note "; ") "this host has an NVIDIA device, the image has no GPU code" (reason == "" ? "" : "; the closest that has some: " reason))
  #if amd
  else if (req[winner] == "-" && AV && !cpuwanted) say((note == "" ? "" : note "; ") "this host has an AMD GPU, the image has no GPU code" (reason == "" ? "" : "; the closest that has some: " reason))
  #end
  else if (note != "") say(note)
  print (index(tag[winner], ":") ? "" : repository ":") tag[winner] "@sha256:" dig[winner]
  #end
}
