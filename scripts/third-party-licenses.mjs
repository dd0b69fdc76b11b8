// The licence texts of every package whose code is in the bundle, which their licences ask to be passed on with it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The packages that these modules belong to, by name and version: the nearest folder in node_modules above each.
 * Modules are as a bundler names them: a path, maybe with a prefix of its own (`\0`) or a query.
 */
export async function packagesOf(modules) {
  const folders = new Set();
  for (const id of modules) {
    const folder = /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1];
    if (folder !== undefined) folders.add(folder);
  }
  const packages = await Promise.all([...folders].map(readPackage));
  // One version may lie in several folders.
  const byTitle = new Map(packages.map((each) => [each.title, each]));
  return [...byTitle.values()].sort((a, b) => (a.title < b.title ? -1 : 1));
}

/** Packages that name their licence and bring no copy of it, and another one of the same authors under the same licence that does. */
const copies = { "@npmcli/agent": "@npmcli/fs", "@sigstore/verify": "@sigstore/sign" };

/** One text, with each licence under the package's name; throws for a package that brings none. */
export function thirdPartyLicenses(packages) {
  const parts = packages.map(({ title, license, texts }) => {
    if (texts.length === 0) throw new Error(`${title} is bundled and brings no licence text`);
    return [`${title} (${license})`, ...texts.map((text) => text.trim())].join("\n\n");
  });
  const rule = `\n\n${"-".repeat(80)}\n\n`;
  return `${["The programs of this package contain code of these packages.", ...parts].join(rule)}\n`;
}

async function readPackage(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const own = await textsIn(folder);
  const copy = copies[name];
  const texts = own.length > 0 || copy === undefined ? own : await textsIn(await folderOf(copy, license));
  return { title: `${name} ${version}`, license: license ?? "see below", texts };
}

async function textsIn(folder) {
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  return Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
}

async function folderOf(name, wanted) {
  const folder = join("node_modules", name);
  const { license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (license !== wanted)
    throw new Error(`${name} is under ${license}, and ${wanted} was to be copied from it`);
  return folder;
}
