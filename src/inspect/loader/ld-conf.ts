/** Lists the folders of `/etc/ld.so.conf` and its included files, in the order of ldconfig. Source: glibc, `elf/ldconfig.c`, `parse_conf`. */

const ldConf = "/etc/ld.so.conf";

export interface LdFolder {
  readonly folder: string;
  /** The file that names it. */
  readonly conf: string;
  /** `folder` is a pattern of included files that are not read. Their folders belong here. */
  readonly isUnread?: true;
}

/** Paths of ld.so.conf and its files. */
export const confPath = /^(?:etc\/ld\.so\.conf|(?:.*\/)?ld\.so\.conf\.d\/[^/]+)$/;

const maxFiles = 1000;
const maxFolders = 10_000;

/** `confs` has the lines of each file below `/etc`. */
export function ldFolders(confs: ReadonlyMap<string, readonly string[]>): readonly LdFolder[] {
  const found: LdFolder[] = [];
  const seen = new Set<string>();
  const read = (conf: string) => {
    if (seen.has(conf) || seen.size >= maxFiles) return;
    seen.add(conf);
    for (const line of confs.get(conf) ?? []) {
      const text = (line.split("#")[0] ?? "").trim();
      const [word = "", ...patterns] = text.split(/\s+/);
      if (word === "include") for (const pattern of patterns) include(pattern, conf);
      else if (word !== "" && word !== "hwcap" && found.length < maxFolders)
        found.push({ folder: text.replace(/=\w+$/, "").replace(/\/+$/, "") || "/", conf });
    }
  };
  const names = [...confs.keys()].sort();
  const include = (pattern: string, conf: string) => {
    const whole = pattern.startsWith("/") ? pattern : `${conf.slice(0, conf.lastIndexOf("/"))}/${pattern}`;
    for (const name of names) if (matches(whole, name)) read(name);
    if (!confPath.test(whole.slice(1))) found.push({ folder: whole, conf, isUnread: true });
  };
  read(ldConf);
  return found;
}

/** `*` and `?` as in a shell: neither matches a slash. A hostile pattern takes no exponential time. */
function matches(pattern: string, name: string): boolean {
  const [patterns, parts] = [pattern.split("/"), name.split("/")];
  return patterns.length === parts.length && patterns.every((each, index) => fits(each, parts[index] ?? ""));
}

function fits(pattern: string, text: string): boolean {
  if (text.startsWith(".") && !pattern.startsWith(".")) return false;
  let [at, from, star, kept] = [0, 0, -1, 0];
  while (from < text.length) {
    if (pattern[at] === "?" || (pattern[at] === text[from] && pattern[at] !== "*")) {
      at++;
      from++;
    } else if (pattern[at] === "*") {
      star = at++;
      kept = from;
    } else if (star >= 0) {
      at = star + 1;
      from = ++kept;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}
