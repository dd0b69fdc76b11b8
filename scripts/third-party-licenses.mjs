// Collects the licence texts of every bundled package. Their licences demand that the text goes with the code.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The packages of these modules, by name and version: the nearest folder in node_modules above each.
 *
 * @param modules as a bundler names them: a path, maybe with a prefix (`\0`) or a query
 */
export async function packagesOf(modules) {
  const folders = new Set();
  for (const id of modules) {
    const folder = /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1];
    if (folder !== undefined) folders.add(folder);
  }
  const packages = await Promise.all([...folders].map(readPackage));
  // npm may install one version in several folders.
  const byTitle = new Map(packages.map((each) => [each.title, each]));
  return [...byTitle.values()].sort((a, b) => (a.title < b.title ? -1 : 1));
}

/** Packages without the text of their licence → a package of the same authors and licence that has the text. */
const copies = { "@npmcli/agent": "@npmcli/fs", "@sigstore/verify": "@sigstore/sign" };

/** One text with each licence under the name of its package. Throws for a package without a licence text. */
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
  if (license !== wanted) throw new Error(`${name} is under ${license}, not under ${wanted}`);
  return folder;
}
