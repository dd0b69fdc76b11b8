// `release.mjs FOLDER TAG REPOSITORY` writes the files of a release from sources that are built: the npm package, the one file for nodes,
// an SBOM (CycloneDX), the checksums of these three, and the notes. It asks no registry.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, tag, repository] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { name, version } = manifest;
if (tag !== `v${version}`) refuse(`the tag ${tag} is not that of version ${version} in package.json`);
const notes = notesOf(readFileSync("CHANGELOG.md", "utf8"));
mkdirSync(folder);

// npm accepts provenance only if the package names its repository.
writeFileSync(
  "package.json",
  `${JSON.stringify({ ...manifest, repository: { type: "git", url: `git+${repository}.git` } }, null, 2)}\n`,
);
npm("pack", "--ignore-scripts", "--pack-destination", folder);
const files = [`${name}-${version}.tgz`, "imgmatch.cjs", `${name}-${version}.cdx.json`];
cpSync("dist/imgmatch.cjs", join(folder, "imgmatch.cjs"));
writeFileSync(join(folder, files[2]), `${JSON.stringify(billOfMaterials(), null, 2)}\n`);
const sums = files.map((file) => {
  const digest = createHash("sha256").update(readFileSync(join(folder, file)));
  return `${digest.digest("hex")}  ${file}\n`;
});
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
writeFileSync(join(folder, "notes.md"), notes);

function notesOf(changelog) {
  const start = changelog.search(new RegExp(`^## \\[${version.replaceAll(".", "\\.")}\\]`, "m"));
  if (start < 0) refuse(`CHANGELOG.md has no section of ${version}`);
  const [, ...lines] = changelog.slice(start).split("\n");
  const end = lines.findIndex((line) => line.startsWith("## "));
  return `${lines
    .slice(0, end < 0 ? undefined : end)
    .join("\n")
    .trim()}\n`;
}

/** Lists the packages that npm installs with this one, and those bundled into its programs. */
function billOfMaterials() {
  const bill = JSON.parse(
    npm("sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application", "--package-lock-only"),
  );
  const licenses = readFileSync("dist/THIRD-PARTY-LICENSES", "utf8");
  const bundled = [...licenses.matchAll(/^(\S+) (\S+) \([^)]+\)$/gm)].map(([, of, at]) => `${of}@${at}`);
  const isDevelopment = ({ properties }) =>
    properties.some((each) => each.name === "cdx:npm:package:development" && each.value === "true");
  const components = bill.components.filter(
    (each) => !isDevelopment(each) || bundled.includes(`${each.name}@${each.version}`),
  );
  const missing = bundled.filter((one) => !components.some((each) => `${each.name}@${each.version}` === one));
  if (missing.length > 0)
    refuse(`package-lock.json does not have ${missing.join(", ")}, whose code is in dist`);
  const { component } = bill.metadata;
  const known = new Set([component, ...components].map((each) => each["bom-ref"]));
  return {
    ...bill,
    metadata: { ...bill.metadata, component: { ...component, name } },
    components,
    dependencies: bill.dependencies
      .filter(({ ref }) => known.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) })),
  };
}

function npm(...args) {
  return execFileSync("npm", [...args, "--offline"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 26,
  });
}

function refuse(why) {
  console.error(`no release: ${why}`);
  process.exit(1);
}
