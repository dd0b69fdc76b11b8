#if script
# Asks nvidia-smi under a time limit and reads its answers, as host/nvidia/run-nvidia-smi.ts does.

# The reader stops at "end" and waits for no child: a program that hangs inside the kernel survives SIGKILL. A shell reads the pipe: mawk
# would wait until its buffer is full or the pipe is closed. dd ends after the longest answer, and passes on at once what it reads: it counts
# its reads, and even a program that writes each line by itself may write 999 of them. A longer line, and more than 256 GPUs, are refused by
# name. The watchdog ends with the program, and both have closed the caller's files.
function run(args,  c, l, a, p, s) {
  c = "exec 2>/dev/null </dev/null; s=nvidia-smi; " (wsl ? "l=$IMGMATCH_ROOT@wsl@/nvidia-smi; [ -x \"$l\" ] && s=$l; " : "") \
    "command -v \"$s\" >/dev/null || { echo IMGMATCH none; exit; }; " \
    "{ { { trap \"kill \\$t; exit\" TERM; sleep @seconds@ >/dev/null & t=$!; wait $t && printf \"\\nIMGMATCH end late\\n\"; } 2>/dev/null & w=$!; " \
    "{ sh -c \"echo IMGMATCH pid \\$\\$; exec \\\"\\$0\\\" \\\"\\$@\\\"\" \"$s\" " args "; e=$?; kill $w 2>/dev/null; echo; echo IMGMATCH end $e; } & } 2>&1 | dd bs=128 count=999 & } | while IFS= read -r l; do printf \"%s\\n\" \"$l\"; case $l in IMGMATCH\\ end*) break ;; esac; done"
  output = s = ""
  status = "long"
  while ((c | getline l) > 0) {
    if (length(l) > 999) break
    # Each line goes into a short text first: a copy of all that came before it would take quadratic time.
    if (l !~ /^IMGMATCH /) { s = s l "\n"; if (length(s) > 99) { output = output s; s = "" }; continue }
    split(l, a)
    if (a[2] == "none") return 0
    if (a[2] == "pid") p = a[3]
    if (a[2] == "end") { status = a[3]; break }
  }
  output = output s
  # The shell's words for a program that cannot be started.
  if (status ~ /^12[67]$/) { unstarted = 1; return 0 }
  if (status ~ /l/ && p != "") system("kill -9 " p " 2>/dev/null")
  return 1
}
function toolong() { if (status == "long") { broken("SMI_GARBAGE", "nvidia-smi printed too much"); return 1 } }
function nothing(s) {
  s = tolower(s)
  return s == "" || s ~ /^\[.*\]$/ || s == "n/a" || s == "err!" || s == "not supported" || s == "unknown error" ? 1 : 0
}
# The problem that nvidia-smi reports in words in place of an answer.
function complaint(t) {
  t = tolower(t)
  # The patterns below backtrack over runs of blanks.
  gsub(/[ \t]+/, " ", t)
  if (index(t, "driver/library version mismatch")) return "DRIVER_LIBRARY_MISMATCH: kernel module and driver library differ"
  if (t ~ /couldn.t communicate with the nvidia driver/) return "NVML_FAILED: nvidia-smi cannot communicate with the driver"
  if (match(t, /device handle for gpu[ \t]*[0-9a-f:.]*[ \t]*:[ \t]*[^.\n]+/))
    return (substr(t, RSTART, RLENGTH) ~ /gpu is lost|fallen off/ ? "GPU_LOST: " : "NVML_FAILED: ") substr(t, RSTART, RLENGTH)
  if (t ~ /gpu is lost|fallen off the bus/) return "GPU_LOST: a GPU has fallen off the bus"
  if (t ~ /no devices (were )?found/) return "NO_DEVICES: the driver is loaded and lists no GPU"
  if (t ~ /insufficient permissions|no permission/) return "NO_PERMISSION: no permission for NVML"
  if (match(t, /failed to initialize nvml:[^\n\[]+/)) return "NVML_FAILED: " substr(t, RSTART, RLENGTH)
}
function cells(l, c,  k, i) { k = split(l, c, ","); for (i = 1; i <= k; i++) c[i] = trim(c[i]); return k }
function header(l,  k, i, c, named) {
  k = cells(l, c)
  if (k < 2) return 0
  for (i = 1; i <= k; i++) {
    sub(/[ \t]*\[.*\]$/, "", c[i])
    if (c[i] !~ /^[A-Za-z][A-Za-z0-9_.]*$/) return 0
    if (c[i] == "name") named = 1
  }
  if (!named) return 0
  split("", col)
  for (i = 1; i <= k; i++) col[c[i]] = i
  return k
}
function get(c, name) { return (name in col) && !nothing(c[col[name]]) ? c[col[name]] : "" }
# Asks for all fields, then drops one that this nvidia-smi does not know with all newer ones. 0 if there is no nvidia-smi.
function nvidiasmi(  f, i, k, l, n, c, w, s, t, x, strays, alive, mig, numbers, seen_, place) {
  f = ",@queryfields@,"
  if (module + 0 >= @newbranch@) f = f "@newfields@,"
  do {
    if (!run("--query-gpu=" substr(f, 2, length(f) - 2) " --format=csv")) return
    s = match(output, /Field "[A-Za-z0-9_.]+" is not a valid field to query/) ? substr(output, RSTART + 7, RLENGTH - 38) : ""
    if ((i = index(f, "," s ","))) f = substr(f, 1, i)
  } while (i)
  if (status == "late") { broken("SMI_TIMEOUT", "nvidia-smi gave no answer in @seconds@ s"); return 1 }
  s = complaint(output)
  n = split(output, l, "\n")
  for (i = 1; i <= n; i++) { l[i] = trim(l[i]); if ((w = header(l[i]))) break }
  for (i++; w && i <= n; i++) {
    l[i] = trim(l[i])
    if (l[i] == "") continue
    if (cells(l[i], c) != w) { strays++; continue }
    if (++alive > 256) status = "long"
    row[alive] = l[i]
    for (k in col) if ((t = tolower(c[col[k]])) ~ /^\[?gpu (is lost|requires reset)\]?$/ && k != "fabric.status" || t ~ /^\[?(unknown error|err!)\]?$/ && k ~ /^(@vitalfields@)$/) x = l[i]
  }
  if (toolong()) return 1
  # NVML knows no device either. The PCI bus tells why.
  if (s ~ /^NO_DEVICES/) { N = 0; listed = 1; fromsmi = 1; return 1 }
  if (s ~ /^NVML_FAILED: failed/ && control && !("w/dev/nvidiactl" in has)) s = "NO_PERMISSION"
  if (s ~ /^NO_PERMISSION/) forbidden("NVML")
  else if (s != "") { k = index(s, ":"); broken(substr(s, 1, k - 1), substr(s, k + 2)) }
  if (!alive) {
    if (s == "" && status != 0) broken("SMI_FAILED", "nvidia-smi ended with status " status)
    else if (s == "") tell("SMI_GARBAGE", "nvidia-smi printed something else than its table")
    return 1
  }
  if (strays && s == "") tell("SMI_GARBAGE", "nvidia-smi printed something beside its table")
  if (x != "") broken("NVML_FAILED", "a GPU does not answer: " x)
  fromsmi = 1
  listed = 1
  N = 0
  for (i = 1; i <= alive; i++) {
    cells(row[i], c)
    s = get(c, "index")
    if (s !~ /^[0-9]+$/ || length(s) > 9) s = ""
    else if (!(s + 0 in seen_)) { seen_[s + 0] = 1; numbers++ }
    place[i] = substr("000000000" s, length(s) + 1) " " i
  }
  # Sorts by index, unless two GPUs have the same one.
  if (numbers == alive) sort(place, alive)
  for (i = 1; i <= alive; i++) {
    cells(row[substr(place[i], 11)], c)
    if (smidriver == "") smidriver = leading(get(c, "driver_version"))
    t = get(c, "name")
    if (t == "Graphics Device" || t == "NVIDIA Graphics Device" || t ~ /\.\.\.$/) t = ""
    s = tolower(get(c, "pci.device_id"))
    s = s ~ /^0x[0-9a-f]+10de$/ && length(s) == 10 ? substr(s, 3, 4) : ""
    x = get(c, "compute_cap")
    x = x ~ /^[0-9][0-9]?\.[0-9]$/ ? x : ""
    if (x != "" && x !~ /^[1-9]/) x = ""
    sub(/\./, "", x)
    w = get(c, "uuid")
    gpu(numbers == alive ? get(c, "index") + 0 : i - 1, tolower(w) ~ /^gpu-[0-9a-f-]+$/ ? w : "", t, x, s, bus(get(c, "pci.bus_id")))
    if (tolower(get(c, "mig.mode.current")) == "enabled") mig = divided[N - 1] = 1
    if (!("fabric.state" in col)) untold[N - 1] = 1
    for (s in col) cell[N - 1, s] = c[col[s]]
  }
  if (wsl || module == "" || branchcuda(module) == "" || ("emptycuda" in has) || ("nvidia-ml" in has) && !("cuda" in has)) readheader()
  if (mig) readmig()
  return 1
}
function label(name,  i, s, t) {
  s = tolower(substr(output, 1, 4096))
  name = tolower(name)
  if (!(i = index(s, name))) return ""
  t = substr(s, i + length(name))
  return match(t, /^[ \t]*:[ \t]*[0-9][0-9.]*/) ? trim(substr(t, index(t, ":") + 1, RLENGTH - index(t, ":"))) : ""
}
# Only the text above the table has the CUDA version, and on WSL2 the driver's Linux version.
function readheader(  s) {
  if (!run("") || status == "late") return
  if (match(output, /NVIDIA-SMI( version)?[ \t]*:?[ \t]+[0-9][0-9.]*/)) {
    s = substr(output, RSTART, RLENGTH)
    sub(/^[^0-9]*/, "", s)
    if (wsl) library = leading(s)
  }
  if (smidriver == "") smidriver = leading(label("KMD Version"))
  if (smidriver == "") smidriver = leading(label("Driver Version"))
  if (tolower(output) ~ /cuda (umd )?version *: *n\/a/) lackscuda = 1
  s = label("CUDA UMD Version")
  if (s == "") s = label("CUDA Version")
  if (s ~ /^[0-9]+\.[0-9][0-9]?$/ && length(s) < 7) smicuda = s
}
function readmig(  n, l, i, j) {
  if (!run("-L")) return
  toolong()
  n = split(output, l, "\n")
  j = -1
  for (i = 1; i <= n; i++) {
    if (match(l[i], /\(UUID: GPU-[A-Za-z0-9-]+\)/)) { for (j = 0; j < N; j++) if (uu[j] == substr(l[i], RSTART + 7, RLENGTH - 8)) break; told_[j] = 1 }
    else if (j >= 0 && j < N && match(l[i], /\(UUID: MIG-[A-Za-z0-9_\/-]+\)/)) { migs[++mn] = substr(l[i], RSTART + 7, RLENGTH - 8); migof[mn] = j; instances[j]++ }
  }
}
#end
