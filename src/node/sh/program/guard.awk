#if guard
# The highest generic level of this CPU.
function level(  a, w, i, j, k, m, s) {
  k = split("@levels@", a, ";")
  for (i = 1; i <= k; i++) {
    m = split(a[i], w, " ")
    for (j = 2; j <= m; j++) if (have[w[j]] != lists) return s
    s = w[1]
  }
  return s
}
# Says what is missing, and the axes of a sibling by what this host has: never what else was built.
function refuse(  a, i, k, p, axis, to, s, j, whole, hint) {
  k = split(cuda, a, ".")
  to = "-"
  if (refused_ == "CPU_FEATURES_MISSING") { axis = "march"; to = level() }
  else if (refused_ ~ /^(DRIVER_TOO_OLD|COMPAT_NOT_SUPPORTED|PTX_TOO_NEW)$/) { axis = "@accel@"; to = k ? "@prefix@" (refused_ == "PTX_TOO_NEW" ? cuda : a[1]) : "" }
  else if (refused_ == "DRIVER_NOT_EXACT") { axis = "@accel@"; to = "" }
  else if (refused_ == "NO_GPU_CODE") { axis = "compute"; to = odd }
  else if (refused_ ~ /^NO_/) { axis = "@accel@"; to = "none"; if (device || kfds) hint = "Give this container a GPU, or take " }
  s = reason
  if (refused_ ~ /^(DRIVER|PTX|COMPAT)/) s = s "; this image needs @driver@"
  if (refused_ == "NO_GPU_CODE") s = s "; it has @code@"
  k = split("@axes@", a, ",")
  for (i = 1; i <= k; i++) {
    p = index(a[i], "=")
    if (substr(a[i], 1, p - 1) == axis) { if (to == "") continue; a[i] = axis "=" to }
    else if (to == "none" && a[i] ~ /^compute=/) continue
    whole = whole (whole == "" ? "" : ", ") a[i]
    sub(/=/, "\":\"", a[i])
    j = j (j == "" ? "" : ",") "\"" a[i] "\""
  }
  gsub(/[^ -~]|["\\]/, "?", s)
  if (ENVIRON["IMGMATCH_GUARD"] == "json") print "{\"code\":\"" refused_ "\",\"message\":\"" s "\",\"repository\":\"" repository "\",\"axes\":{" j "}}"
  else print "imgmatch: " refused_ ": " s ". " (refused_ ~ /^KERNEL/ ? "Update the kernel" : (hint == "" ? "Take " : hint) repository " with " whole)
  exit 78
}
#end
