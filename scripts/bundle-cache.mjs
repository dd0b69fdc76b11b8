// Keeps the bundles that were written last, with the digest of all that they were made of: `npm test` builds what `npm ci` has just built.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";

const entry = "node_modules/.cache/imgmatch-bundle";
// npm's own list of what it has installed: resolving a package depends on more than the modules that are read.
const installed = "node_modules/.package-lock.json";
// The clock of files may be some milliseconds behind this one.
const begun = Date.now() - 20;
const packageModules = new Set();

/** Notes the modules of packages that a bundle was made of. */
export const modulesNoted = {
  name: "modules-noted",
  buildEnd() {
    for (const id of this.getModuleIds()) {
      const file = /^\0?(.*[\\/]node_modules[\\/][^?]+)/.exec(id)?.[1];
      if (file !== undefined) packageModules.add(file);
    }
  },
};

/** Whether the last bundles are those of these sources: then they are in the folder. */
export function bundledBefore(folder) {
  if (!existsSync(entry) || !existsSync(installed)) return false;
  const [seal, text] = splitAt(readFileSync(entry, "utf8"), 64);
  // One digest for both: an entry of other sources and a damaged one are the same to the bundler.
  if (digestOf(ownFiles(), text) !== seal) return false;
  const { modules, digest, files } = JSON.parse(text);
  if (digestOf(modules) !== digest) return false;
  rmSync(folder, { recursive: true, force: true });
  for (const [name, content] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return true;
}

/** Keeps the bundles in this folder. */
export function keepBundles(folder) {
  const modules = [...packageModules].sort();
  const own = ownFiles();
  // Whether a file that changed meanwhile was read before or after the change is unknown.
  if (!existsSync(installed) || [...own, ...modules].some((file) => statSync(file).ctimeMs >= begun)) return;
  const files = filesIn(folder).map((file) => [relative(folder, file), readFileSync(file, "utf8")]);
  const text = JSON.stringify({ modules, digest: digestOf(modules), files });
  mkdirSync(dirname(entry), { recursive: true });
  // Tests bundle at the same time.
  writeFileSync(`${entry}.${process.pid}`, digestOf(own, text) + text);
  renameSync(`${entry}.${process.pid}`, entry);
}

function ownFiles() {
  return [...filesIn("src"), ...filesIn("scripts"), "package.json", "tsconfig.json", installed];
}

function filesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((each) => !each.isDirectory())
    .map((each) => join(each.parentPath, each.name))
    .sort();
}

function digestOf(files, text = "") {
  const hash = createHash("sha256").update(`${process.version} ${text.length}\n${text}`);
  for (const file of files) {
    const content = existsSync(file) ? readFileSync(file) : null;
    hash.update(`\n${file} ${content?.length}\n`).update(content ?? "");
  }
  return hash.digest("hex");
}

function splitAt(text, length) {
  return [text.slice(0, length), text.slice(length)];
}
