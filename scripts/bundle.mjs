// Bundles the command line and the library into a folder (default: dist).
// cli.cjs starts the program: one file with the code of `imgmatch resolve`, and chunks that other commands load.
// imgmatch.cjs is one file with all commands of a node. It can be copied alone.
// The programs are CommonJS, which Node starts about 5 of 65 ms sooner than a module.
import { readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { bundledBefore, keepBundles, modulesNoted } from "./bundle-cache.mjs";
import { packagesOf, thirdPartyLicenses } from "./third-party-licenses.mjs";

const [folder = "dist", ...flags] = process.argv.slice(2);
// Source maps name the folder: they are made anew.
const cached = flags.length === 0;
if (cached && bundledBefore(folder)) process.exit();
// Loaded now: bundles of before need no bundler.
const { rolldown } = await import("rolldown");
const {
  asFunction,
  commanderAsModules,
  decoder,
  decoderAsConstants,
  fetchWithoutCache,
  compressedLibraries,
  compressedTables,
  lettersEscaped,
  programsAsText,
  tablesAsText,
} = await import("./bundle-plugins.mjs");
const { bundlePage } = await import("./page.mjs");
const { version, ...manifest } = JSON.parse(await readFile("package.json", "utf8"));
// Packages that users install stay outside of the bundle. All others are bundled into the chunk that needs them.
const packages = Object.keys({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.peerDependencies,
});
const external = new RegExp(`^(?:${packages.join("|")})(?:/|$)`);
// A plugin brings the decoder's exports into constants.
const externalOfPrograms = new RegExp(`^(?!${decoder}$)${external.source.slice(1)}`);
// src/cover/page/assets.ts takes the texts of the page.
const page = await bundlePage();
// Threads that open files load this bundle. It lies beside the programs, and one folder above their chunks.
const workerName = "inspect-worker.cjs";
const workerPlace = {
  name: "worker-place",
  renderChunk: {
    filter: { code: "IMGMATCH_WORKER" },
    handler: (code, { fileName }) =>
      code.replaceAll(
        "IMGMATCH_WORKER",
        JSON.stringify(`${fileName.includes("/") ? ".." : "."}/${workerName}`),
      ),
  },
};
const options = {
  plugins: [
    commanderAsModules,
    fetchWithoutCache,
    tablesAsText,
    programsAsText,
    workerPlace,
    lettersEscaped,
    modulesNoted,
  ],
  platform: "node",
  // imgmatch uses only the parser of Handlebars. The main file would bring compiler, runtime and source maps.
  resolve: {
    alias: { handlebars: "handlebars/dist/cjs/handlebars/compiler/base.js" },
    // The names of chunks hold the paths of their modules: a folder of packages that is a link gives the same names.
    symlinks: false,
  },
  external,
  // A module that one bundle loads at once may be a later chunk of another.
  checks: { ineffectiveDynamicImport: false },
  transform: {
    define: {
      IMGMATCH_VERSION: JSON.stringify(version),
      IMGMATCH_PAGE_SCRIPT: JSON.stringify(page.script),
      IMGMATCH_PAGE_STYLE: JSON.stringify(page.style),
    },
    target: "node20.19",
  },
};

const bundledModules = new Set();
const hot = new Set();
/** Collects the modules that `imgmatch resolve` imports at once, without those of `import()`. */
const hotModules = {
  name: "hot-modules",
  buildEnd() {
    const visit = (id) => {
      if (hot.has(id)) return;
      hot.add(id);
      for (const next of this.getModuleInfo(id)?.importedIds ?? []) visit(next);
    };
    for (const entry of ["src/cli/bin.ts", "src/node/resolve.ts"]) visit(resolve(entry));
  },
};
await rm(folder, { recursive: true, force: true });
// The library is another bundle: a chunk shared with the program's file would start the program.
const program = await write({ cli: "src/cli/bin.ts" }, "cli", {
  format: "cjs",
  ending: "cjs",
  entryFileNames: "cli-chunks/[name]-[hash].cjs",
  codeSplitting: { groups: [{ name: "cli", test: (id) => hot.has(id) }] },
  plugins: [...options.plugins, hotModules, asFunction],
});
await write({ cli: "src/cli/start.ts" }, "cli", {
  format: "cjs",
  ending: "cjs",
  codeSplitting: false,
  define: { IMGMATCH_PROGRAM: JSON.stringify(program) },
});
await write({ imgmatch: "src/cli/node-bin.ts" }, "imgmatch", {
  format: "cjs",
  ending: "cjs",
  codeSplitting: false,
  plugins: [compressedTables, ...options.plugins, compressedLibraries],
});
// The library's entries share their chunks, so that all throw the same class of error.
const entries = ["index", "inspect", "resolve"].map((name) => [name, `src/${name}.ts`]);
await write({ ...Object.fromEntries(entries), pulumi: "src/pulumi/image-fleet.ts" }, "index", {
  format: "esm",
  ending: "js",
  codeSplitting: true,
});
await write({ "inspect-worker": "src/inspect/workers/inspect-worker.ts" }, "inspect-worker", {
  format: "cjs",
  ending: "cjs",
  codeSplitting: false,
});
await writeFile(`${folder}/THIRD-PARTY-LICENSES`, await thirdPartyLicenses(await packagesOf(bundledModules)));
if (cached) keepBundles(folder);

/** Answers with the file name of the first entry. */
async function write(
  input,
  name,
  { format, ending, codeSplitting, entryFileNames = `[name].${ending}`, plugins = options.plugins, define },
) {
  const transform = { ...options.transform, define: { ...options.transform.define, ...define } };
  const forFormat =
    format === "cjs"
      ? { plugins: [...plugins, decoderAsConstants], external: externalOfPrograms }
      : { plugins };
  const bundle = await rolldown({ ...options, transform, input, ...forFormat });
  const { output } = await bundle.write({
    dir: folder,
    format,
    // Node prints the line of an error that a user's program does not catch.
    minify: format === "esm" ? { compress: true, mangle: true, codegen: { removeWhitespace: false } } : true,
    // A test compares the bundled modules with THIRD-PARTY-LICENSES.
    sourcemap: flags.includes("--maps"),
    chunkFileNames: `${name}-chunks/[name]-[hash].${ending}`,
    entryFileNames,
    codeSplitting,
  });
  await bundle.close();
  for (const { moduleIds = [] } of output) for (const id of moduleIds) bundledModules.add(id);
  return output[0].fileName;
}
