// Bundles the script and the style of the page that `imgmatch cover --html` writes, each as one text.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { modulesNoted } from "./bundle-cache.mjs";
import { lettersEscaped } from "./bundle-plugins.mjs";

const folder = new URL("../src/cover/page/browser/", import.meta.url);

// In the order of the cascade.
const styles = ["base", "top", "summary", "to-do", "map", "table", "detail", "phone", "preferences"];

export async function bundlePage() {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("main.ts", folder)),
    platform: "browser",
    // Shared rules import modules of Node; the check below fails if the page itself needs one.
    external: /^node:/,
    plugins: [lettersEscaped, markupEscaped, modulesNoted],
    // Modules of which the page uses nothing stay out.
    treeshake: { moduleSideEffects: false },
    transform: { target: "es2022" },
  });
  const { output } = await bundle.generate({ format: "iife", minify: true, codeSplitting: false });
  await bundle.close();
  const [{ code, imports }] = output;
  if (output.length > 1 || imports.length > 0)
    throw new Error(`the page's script is not one file: ${imports}`);
  const sheets = await Promise.all(
    styles.map((name) => readFile(new URL(`style/${name}.css`, folder), "utf8")),
  );
  const style = sheets.join("");
  return { script: code, style: style.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\s*\n\s*/g, "\n") };
}

/** Escapes, in strings and patterns, the text that ends a script element or begins another (HTML, 4.12.1.3). */
const markupEscaped = {
  name: "markup-escaped",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      if (chunk.type === "chunk") chunk.code = chunk.code.replace(/<(?=\/?script|!--)/gi, "\\x3c");
  },
};
