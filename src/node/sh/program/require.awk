#if brands
# Evaluates an expression of NVIDIA_REQUIRE_CUDA for a GPU.
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
# Reads how containers get the GPU, as host/container-runtime.ts does: 1 cdi, 2 legacy, 3 none, 4 unknown.
function readruntime(  i, k, a) {
  for (i = 1; i <= cn; i++) if (slurp(cdi[i])) {
    gsub(/[^A-Za-z0-9_.:\/\n-]/, "", text)
    if (text ~ /kind:([A-Za-z0-9_.-]+[.])?nvidia[.]com\//) { runtime = 1; return }
  }
  k = split("@programs@", a)
  for (i = 1; i <= k; i++) if (a[i] in has) { runtime = 2; return }
  if (slurp("/etc/docker/daemon.json") && namesnvidia(text)) { runtime = 2; return }
  k = split("@engines@", a)
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
#end
