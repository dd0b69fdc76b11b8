// What the bundler does to make the program start sooner: the argument parser as modules, tables as text.
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { compileFunction } from "node:vm";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

/**
 * Commander as modules instead of functions around modules, which Node would parse twice, and without its own main file, which
 * makes a program that nobody asks. It asks for child_process as it starts, for subcommands that are programs: imgmatch has none.
 */
export const commanderAsModules = {
  name: "commander-as-modules",
  async resolveId(source) {
    return source === "commander" ? "\0commander" : null;
  },
  async load(id) {
    if (id !== "\0commander") return null;
    const folder = resolve("node_modules/commander/lib");
    return ["Command command", "CommanderError error"]
      .map((each) => each.split(" "))
      .map(([name, file]) => `export { ${name} } from ${JSON.stringify(`${folder}/${file}.js`)};`)
      .join("\n");
  },
  transform(code, id) {
    // Its smallest file stays as it is: with it the bundler's own helpers come into the program's file, and not into one beside it.
    if (!/commander.lib.(?!error\b)\w+\.js$/.test(id)) return null;
    const modules = code
      .replace("const childProcess = require('node:child_process');", "const childProcess = {};")
      .replace(/^const (\{[^}]+\}) = require\('(\.\/\w+)(?:\.js)?'\);$/gm, "import $1 from '$2.js';")
      .replace(/^exports\.(\w+) = \1;.*$/gm, "export { $1 };");
    if (/require\(['"](?!node:(?:events|path|fs|process)['"])|^\s*(?:module\.)?exports\b/m.test(modules))
      throw new Error(`${id} has another form than this plugin knows`);
    return { code: modules, map: null };
  },
};

/** A table is parsed as JSON three times as fast as the same rows are as a program; what it says about itself stays out. */
export const tablesAsText = {
  name: "tables-as-text",
  async load(id) {
    const text = await tableText(id);
    return text && asModule(`/* @__PURE__ */ JSON.parse(${JSON.stringify(text)})`);
  },
};

/** In a program of one file, tables that few answers need are compressed, as libraries are. */
export const compressedTables = {
  name: "compressed-tables",
  async load(id) {
    const text = largeTables.includes(basename(id)) ? await tableText(id) : null;
    const unpacked = text && `brotliDecompressSync(Buffer.from("${packed(text)}", "base64")).toString()`;
    return text && asModule(`JSON.parse(${unpacked})`, 'import { brotliDecompressSync } from "node:zlib";');
  },
};
const largeTables = ["gpu-pci.json", "machine-types.json"];

function asModule(value, imports = "") {
  return { code: `${imports}\nexport default ${value};`, moduleType: "js" };
}

async function tableText(id) {
  if (!id.endsWith(".json") || !id.startsWith(resolve("src"))) return null;
  const { about, ...table } = JSON.parse(await readFile(id, "utf8"));
  return JSON.stringify(table);
}

function packed(text) {
  return brotliCompressSync(text).toString("base64");
}

/** The script and the style of a fleet's page are texts of the chunk that writes such pages. */
export const pageAsText = {
  name: "page-as-text",
  async load(id) {
    if (id !== resolve("src/cover/page/assets.ts")) return null;
    const { bundlePage } = await import("./page.mjs");
    return `const assets = ${JSON.stringify(await bundlePage())};\nexport const pageAssets = async () => assets;`;
  },
};

/**
 * Sigstore's libraries fetch by a package that can keep answers in a folder and read texts of every encoding. They ask for neither:
 * the folder's part is half a megabyte.
 */
export const fetchWithoutCache = {
  name: "fetch-without-cache",
  async resolveId(source) {
    return source === "cacache" || source === "iconv-lite" ? `\0without ${source}` : null;
  },
  async load(id) {
    return id.startsWith("\0without ") ? "module.exports = {};" : null;
  },
};

/** What shares classes stands together. */
const rarelyAsked = [
  ["yaml"],
  ["@noble/curves/ed25519.js"],
  ["@sigstore/bundle", "@sigstore/protobuf-specs", "@sigstore/verify"],
];

/**
 * In a program of one file, libraries that few answers need are compressed: Node reads and looks through all of a program before it starts
 * it. Unpacked where they are asked for first.
 */
export const compressedLibraries = {
  name: "compressed-libraries",
  async resolveId(source) {
    if (source.startsWith("\0libraries ")) return source;
    return rarelyAsked.some((group) => group.includes(source)) ? `\0library ${source}` : null;
  },
  async load(id) {
    const [kind, name] = id.split(" ");
    if (kind === "\0libraries") return librariesProgram(rarelyAsked[Number(name)]);
    if (kind !== "\0library") return null;
    const group = rarelyAsked.findIndex((each) => each.includes(name));
    const text = await librariesText(rarelyAsked[group]);
    const names = Object.keys(programOf(text)[name]).filter((each) => each !== "default");
    return `import { libraries } from "\0libraries ${group}";\nexport const { ${names.join(", ")} } = libraries[${JSON.stringify(name)}];`;
  },
};

async function librariesProgram(group) {
  return `import { compileFunction } from "node:vm";
import { brotliDecompressSync } from "node:zlib";
const programOf = ${programOf};
export const libraries = programOf(brotliDecompressSync(Buffer.from("${packed(await librariesText(group))}", "base64")).toString());`;
}

function programOf(text) {
  const module = { exports: {} };
  compileFunction(text, ["module", "exports", "require"])(module, module.exports, process.getBuiltinModule);
  return module.exports;
}

/** A CommonJS program whose exports are the libraries, by name. */
async function librariesText(group) {
  const input = "\0group";
  const entry = group.map((name, index) => `export * as library${index} from ${JSON.stringify(name)};`);
  const bundle = await rolldown({
    input,
    platform: "node",
    plugins: [
      {
        name: "group",
        resolveId: (source) => (source === input ? input : null),
        load: (id) => (id === input ? entry.join("\n") : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "cjs", minify: true });
  await bundle.close();
  const named = group.map((name, index) => `${JSON.stringify(name)}: exports.library${index}`);
  return `${output[0].code}\nmodule.exports = { ${named.join(", ")} };`;
}

/** The program's file is a function of what Node gives a module, which src/cli/start.ts calls. Code that was kept has no `import()`. */
export const asFunction = {
  name: "as-function",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk" || !chunk.isEntry) continue;
      const body = chunk.code
        .replace(/^#!.*\n/, "")
        .replace(/\bimport\(([`"']node:[\w/]+[`"'])\)/g, "Promise.resolve(require($1))");
      if (/\bimport\(/.test(body)) throw new Error(`${chunk.fileName} imports what is no part of Node`);
      chunk.code = `(function (exports, require, module, __filename, __dirname) {${body}\n})`;
    }
  },
};
