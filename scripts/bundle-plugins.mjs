// Plugins of the bundler. They make the programs smaller, and their start sooner. Each says by a filter which modules it wants: the bundler
// calls a plugin without one for every module, which took more time than all else.
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { compileFunction } from "node:vm";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";
import { modulesNoted } from "./bundle-cache.mjs";

/** A filter for modules that a plugin makes: their names begin as Rollup wants it. */
function made(name) {
  return new RegExp(`^\0${name}`);
}

/**
 * Bundles Commander as modules: Node would parse functions around CommonJS twice. Its main file stays out, as it creates a program that
 * nobody uses. So does child_process, which Commander loads for subcommands that are programs: imgmatch has none.
 */
export const commanderAsModules = {
  name: "commander-as-modules",
  resolveId: { filter: { id: /^commander$/ }, handler: () => "\0commander" },
  load: {
    filter: { id: made("commander$") },
    handler() {
      const folder = resolve("node_modules/commander/lib");
      return ["Command command", "CommanderError error"]
        .map((each) => each.split(" "))
        .map(([name, file]) => `export { ${name} } from ${JSON.stringify(`${folder}/${file}.js`)};`)
        .join("\n");
    },
  },
  transform: {
    // One CommonJS file stays, so that the bundler's helpers for CommonJS come into the program's file.
    filter: { id: /commander.lib.(?!error\b)\w+\.js$/ },
    handler(code, id) {
      const modules = code
        .replace("const childProcess = require('node:child_process');", "const childProcess = {};")
        .replace(/^const (\{[^}]+\}) = require\('(\.\/\w+)(?:\.js)?'\);$/gm, "import $1 from '$2.js';")
        .replace(/^exports\.(\w+) = \1;.*$/gm, "export { $1 };");
      if (/require\(['"](?!node:(?:events|path|fs|process)['"])|^\s*(?:module\.)?exports\b/m.test(modules))
        throw new Error(`${id} has another form than this plugin knows`);
      return { code: modules, map: null };
    },
  },
};

/** Bundles tables as JSON text, which is parsed three times as fast as a program. The table's `about` stays out. */
export const tablesAsText = {
  name: "tables-as-text",
  load: {
    filter: { id: /\.json$/ },
    async handler(id) {
      const text = await tableText(id);
      return text && asModule(`/* @__PURE__ */ JSON.parse(${JSON.stringify(text)})`);
    },
  },
};

/** Compresses tables that few answers need, in the program of one file. */
export const compressedTables = {
  name: "compressed-tables",
  load: {
    filter: { id: /[\\/](?:gpu-names|gpu-pci|machine-types|other-words)\.json$/ },
    async handler(id) {
      const text = await tableText(id);
      const unpacked = text && `brotliDecompressSync(Buffer.from("${packed(text)}", "base64")).toString()`;
      return text && asModule(`JSON.parse(${unpacked})`, 'import { brotliDecompressSync } from "node:zlib";');
    },
  },
};

function asModule(value, imports = "") {
  return { code: `${imports}\nexport default ${value};`, moduleType: "js" };
}

async function tableText(id) {
  if (!id.startsWith(resolve("src"))) return null;
  const { about, ...table } = JSON.parse(await readFile(id, "utf8"));
  return JSON.stringify(table);
}

function packed(text) {
  return brotliCompressSync(text).toString("base64");
}

/** The library that reads instructions. */
export const decoder = "iced-x86";

/**
 * Brings what a CommonJS program takes from the decoder into constants. The bundler reads an external's exports through getters, and the
 * reader of instructions takes some for each instruction: libraries of NVIDIA took half as long again.
 */
export const decoderAsConstants = {
  name: "decoder-as-constants",
  resolveId: {
    filter: { id: new RegExp(`^${decoder}$`) },
    handler: (source, importer) => (importer === "\0decoder" ? { id: source, external: true } : "\0decoder"),
  },
  load: {
    filter: { id: made("decoder$") },
    handler() {
      // `import()` would read the whole library once more, for the names alone.
      const names = Object.keys(createRequire(import.meta.url)(decoder)).sort();
      return `export const { ${names.join(", ")} } = require("${decoder}");`;
    },
  },
};

/** Bundles the sh and awk of `imgmatch export sh` as texts. */
export const programsAsText = {
  name: "programs-as-text",
  load: {
    filter: { id: /[\\/]src[\\/]node[\\/]sh[\\/]program-texts\.ts$/ },
    async handler() {
      const folder = resolve("src/node/sh/program");
      const texts = (await readdir(folder))
        .sort()
        .map(async (name) => [name, await readFile(`${folder}/${name}`, "utf8")]);
      return `export const programTexts = ${JSON.stringify(Object.fromEntries(await Promise.all(texts)))};`;
    },
  },
};

/** Leaves out the cache and the text encodings of sigstore's HTTP client, half a megabyte that sigstore never uses. */
export const fetchWithoutCache = {
  name: "fetch-without-cache",
  resolveId: { filter: { id: /^(?:cacache|iconv-lite)$/ }, handler: (source) => `\0without ${source}` },
  load: { filter: { id: made("without ") }, handler: () => "module.exports = {};" },
};

/** Libraries that share classes are one group. */
const rarelyAsked = [
  ["yaml"],
  ["@noble/curves/ed25519.js"],
  ["@sigstore/bundle", "@sigstore/protobuf-specs", "@sigstore/verify"],
];

/**
 * Compresses libraries that few answers need, in the program of one file: Node reads all of a program before it starts. The first import
 * unpacks them.
 */
export const compressedLibraries = {
  name: "compressed-libraries",
  resolveId: {
    filter: { id: new RegExp(`^(?:\0libraries |(?:${rarelyAsked.flat().join("|")})$)`) },
    handler: (source) => (source.startsWith("\0") ? source : `\0library ${source}`),
  },
  load: {
    filter: { id: made("librar(?:y|ies) ") },
    async handler(id) {
      const [kind, name] = id.split(" ");
      if (kind === "\0libraries") return librariesProgram(Number(name));
      const group = rarelyAsked.findIndex((each) => each.includes(name));
      const names = Object.keys(programOf(await textOf(group))[name]).filter((each) => each !== "default");
      return `import { libraries } from "\0libraries ${group}";\nexport const { ${names.join(", ")} } = libraries[${JSON.stringify(name)}];`;
    },
  },
};

/** Each library of a group asks for the text, and so does the group. */
const textOfGroup = [];
function textOf(group) {
  textOfGroup[group] ??= librariesText(rarelyAsked[group]);
  return textOfGroup[group];
}

async function librariesProgram(group) {
  return `import { compileFunction } from "node:vm";
import { brotliDecompressSync } from "node:zlib";
const programOf = ${programOf};
export const libraries = programOf(brotliDecompressSync(Buffer.from("${packed(await textOf(group))}", "base64")).toString());`;
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
      modulesNoted,
    ],
  });
  const { output } = await bundle.generate({ format: "cjs", minify: true });
  await bundle.close();
  const named = group.map((name, index) => `${JSON.stringify(name)}: exports.library${index}`);
  return `${output[0].code}\nmodule.exports = { ${named.join(", ")} };`;
}

/** The statements at a bundle's end: names, texts, and getters of what is assigned later. */
const exportsAlone =
  /^(?:(?:exports\.[$\w]+=(?:[$\w!.-]+|(["'`])(?:(?!\1)[^\\]|\\.)*\1)|Object\.defineProperty\(exports,["'`][$\w]+["'`],\{enumerable:!0,get:function\(\)\{return [$\w]+\}\}\))[,;]\s*)+$/;

/**
 * NVML is what a node with a GPU waits for. koffi finds its compiled file by 10 ms of JavaScript, which then wraps what imgmatch does not call;
 * the file alone takes 2 ms. Where it lies elsewhere, koffi is asked. A machine may lack the package.
 */
const loadKoffi = `() => {
  const { platform, arch } = process, native = { exports: {} };
  for (const folder of module.paths) for (const libc of ["linux", "musl"]) try {
    process.dlopen(native, folder + "/@koromix/koffi-" + platform + "-" + arch + "/" + libc + "_" + arch + "/koffi.node");
    return native.exports;
  } catch {}
  return require("koffi");
}`;

/** Wraps the program into a function of a CommonJS module's variables, for src/cli/start.ts. Cached code has no `import()`. */
export const asFunction = {
  name: "as-function",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk" || !chunk.isEntry) continue;
      const body = chunk.code
        .replace(/^#!.*\n/, "")
        .replace(/\n\/\/# sourceMappingURL=.*\s*$/, "")
        .replace(/\bimport\(([`"']node:[\w/]+[`"'])\)/g, "Promise.resolve(require($1))")
        .replace(/\bimport\([`"']koffi[`"']\)/g, "Promise.resolve().then(() => (" + loadKoffi + ")())");
      if (/\bimport\(/.test(body))
        throw new Error(`${chunk.fileName} imports a module that is neither part of Node nor koffi`);
      const at = body.search(/(?<=[;}])exports\.[$\w]+=/);
      const list = body.slice(at);
      if (at < 0 || !exportsAlone.test(list))
        throw new Error(`${chunk.fileName} does not end with its exports alone: ${list.slice(0, 80)}`);
      // V8 takes milliseconds to define hundreds of exports, and resolve loads no chunk.
      const first = `Object.defineProperty(module,"exports",{configurable:true,get(){Object.defineProperty(module,"exports",{value:exports});${list}return exports}});`;
      chunk.code = `(function (exports, require, module, __filename, __dirname) {${first}${body.slice(0, at)}\n})`;
    }
  },
};

/** Escapes letters beyond Latin-1: one such letter makes Node keep the whole program in two bytes a letter. */
export const lettersEscaped = {
  name: "letters-escaped",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk") continue;
      // An escape in raw text would be another text.
      if (/String\.raw`[^`]*[^\0-\x7f]/.test(chunk.code))
        throw new Error(`${chunk.fileName} has such a letter in raw text`);
      chunk.code = chunk.code.replace(
        /[^\0-\x7f]/g,
        (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    }
  },
};
