# Reads /proc/cpuinfo, as host/cpu/cpuinfo.ts does. add(list) counts the features of one processor: the host has those that every list has.
function trim(s) { sub(/^[ \t\r\n]+/, "", s); sub(/[ \t\r\n]+$/, "", s); return s }
function add(list,  w, k, i) {
  k = split(list, w)
  lists++
  for (i = 1; i <= k; i++) if (seen[w[i]] != lists) { seen[w[i]] = lists; have[w[i]]++ }
}
#if hidden
# Every processor has all features of a list.
function every(list,  a, k) {
  for (k = split(list, a, ","); k; k--) if (have[a[k]] != lists) return 0
  return 1
}
#end
# The distinct values of some keys. Equal lines of 256 processors count once.
function cpuinfo(wanted,  f, l, i, k, s) {
  f = R "/proc/cpuinfo"
  while ((getline l < f) > 0) {
    if ((i = index(l, ":")) < 2) continue
    k = trim(substr(l, 1, i - 1))
    if (index(wanted, "|" k "|") == 0) continue
    s = trim(substr(l, i + 1))
    if ((k, s) in values) continue
    values[k, s] = 1
    value[k] = s
    if (many[k]++ == 0 || k == feature) line[k, many[k]] = s
  }
  close(f)
}
