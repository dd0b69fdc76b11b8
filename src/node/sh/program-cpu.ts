/** Reads `/proc/cpuinfo` in awk, as `host/cpu/cpuinfo.ts` does: one part for each architecture. */

import type { FleetNeeds } from "./image-rows.ts";

/** `add(list)` counts the features of one processor. The host has the features that every list has. */
export const cpuCommon = String.raw`
  function trim(s) { sub(/^[ \t\r\n]+/, "", s); sub(/[ \t\r\n]+$/, "", s); return s }
  function add(list,  w, k, i) {
    k = split(list, w)
    lists++
    for (i = 1; i <= k; i++) if (seen[w[i]] != lists) { seen[w[i]] = lists; have[w[i]]++ }
  }
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
`;

/** `H GenuineIntel 6 151,154 avx2 serialize`: processors of these models that have the first feature have the second too. */
const hiddenFeatures = String.raw`
      for (i = 1; i <= rows["H"]; i++) {
        split(row["H", i], h)
        if (many["vendor_id"] == 1 && h[1] == value["vendor_id"] && many["cpu family"] == 1 && h[2] == value["cpu family"] && many["model"] == 1 && index("," h[3] ",", "," value["model"] ",") && lists && have[h[4]] == lists) have[h[5]] = lists
      }`;

/** The reader of CPU features for each architecture. On others only images without needs fit. */
export const cpuParts: Readonly<Record<string, (needs: FleetNeeds) => string>> = {
  amd64: ({ hidden }) => String.raw`
    if (host == "linux/amd64") {
      feature = "flags"
      cpuinfo("|flags|${hidden ? "vendor_id|cpu family|model|" : ""}")
      for (i = 1; i <= many[feature]; i++) add(line[feature, i])
      ${hidden ? hiddenFeatures : ""}
    }`,
  arm64: () => String.raw`
    if (host == "linux/arm64") {
      feature = "Features"
      cpuinfo("|Features|")
      for (i = 1; i <= many[feature]; i++) add(line[feature, i])
    }`,
  // Each POWER generation runs the code of those before it.
  ppc64le: () => String.raw`
    if (host == "linux/ppc64le") {
      feature = "cpu"
      cpuinfo("|cpu|")
      for (i = 1; i <= many[feature]; i++) {
        s = line[feature, i]
        t = s ~ /(^|[^A-Za-z0-9_])altivec supported([^A-Za-z0-9_]|$)/ ? "altivec" : ""
        if (s ~ /^POWER[0-9]/) for (k = 7; k <= (substr(s, 7, 1) ~ /[0-9]/ ? substr(s, 6, 2) : substr(s, 6, 1)) + 0; k++) t = t " power" k
        add(t)
      }
    }`,
  riscv64: () => String.raw`
    if (host == "linux/riscv64") {
      feature = "isa"
      cpuinfo("|isa|")
      for (i = 1; i <= many[feature]; i++) {
        s = tolower(line[feature, i])
        t = ""
        if (match(s, /^rv(32|64)[a-z]*(_[a-z0-9]+)*/)) {
          s = substr(s, 5, RLENGTH - 4)
          k = split(s, a, "_")
          for (j = 1; j <= length(a[1]); j++) t = t " " (substr(a[1], j, 1) == "g" ? "i m a f d zicsr zifencei" : substr(a[1], j, 1))
          for (j = 2; j <= k; j++) t = t " " a[j]
        }
        add(t)
      }
    }`,
};
