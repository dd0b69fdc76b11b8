/** dpkg's database. Sources: dpkg(1), `/var/lib/dpkg/status` and `info/*.md5sums`; deb-control(5), Maintainer. */

import type { PackageRecords } from "./package-records.ts";

/** Debian's and Ubuntu's own, their teams included. Others' packages (NVIDIA's, a company's) are not the distribution's. */
const maintainers = /@(?:[\w-]+\.)*(?:debian\.(?:org|net)|ubuntu\.com|canonical\.com)>?\s*$/;

/** `NAME` or, where several architectures may be installed together, `NAME:ARCHITECTURE`: both are answered. */
export function readDpkgStatus(text: string): PackageRecords {
  const distribution: string[] = [];
  for (const paragraph of text.split(/\n\n+/)) {
    const field = (name: string) => new RegExp(`^${name}: *(.*)$`, "m").exec(paragraph)?.[1]?.trim();
    const name = field("Package");
    if (name === undefined || !maintainers.test(field("Maintainer") ?? "")) continue;
    distribution.push(name, `${name}:${field("Architecture") ?? "all"}`);
  }
  return { distribution, files: {} };
}

/** Lines of `<32 digits>  <path>`. Documentation and the like holds no code. */
export function readMd5sums(text: string, name: string): PackageRecords {
  const files: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, md5, path] = /^([0-9a-f]{32}) [ *](.+)$/.exec(line) ?? [];
    if (md5 !== undefined && path !== undefined && !path.startsWith("usr/share/doc/"))
      files[path] = `md5:${md5}`;
  }
  return { distribution: [], files: { [name]: files } };
}
