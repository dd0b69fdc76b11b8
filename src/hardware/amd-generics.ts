/** The generic targets of AMD and their members: `resolve` loads this part of the table of architectures alone. */

/** SPIR-V for any GPU whose run-time compiler takes it. */
export const spirvTarget = "amdgcnspirv";

/** Generic target → the names of its members without `gfx`. A test compares them with the table. */
const members: Readonly<Record<string, string>> = {
  "gfx10-1-generic": "1010 1011 1012 1013",
  "gfx10-3-generic": "1030 1031 1032 1033 1034 1035 1036",
  "gfx11-generic": "1100 1101 1102 1103 1150 1151 1152 1153",
  "gfx12-5-generic": "1250 1251",
  "gfx12-generic": "1200 1201",
  "gfx9-4-generic": "942 950",
  "gfx9-generic": "900 902 904 906 909 90c",
  "": "803 908 90a 940 941 1154 1170 1171 1172 1310",
};

/** The generic target of a target; null if it has none, undefined if the target is unknown. */
export function genericOf(target: string): string | null | undefined {
  const found = Object.entries(members).find(([, names]) => names.split(" ").includes(target.slice(3)));
  return found === undefined ? undefined : found[0] || null;
}
