// Makes the script and the style of the page that `imgmatch cover --html` writes: one text each, small, for any browser of today.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { lettersEscaped } from "./letters-escaped.mjs";

const folder = new URL("../src/cover/page/browser/", import.meta.url);

// In their order: the later ones win.
const styles = ["base", "top", "summary", "to-do", "map", "table", "detail", "phone", "preferences"];

export async function bundlePage() {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("main.ts", folder)),
    platform: "browser",
    plugins: [lettersEscaped, markupEscaped],
    // What is imported for nothing but types and rules of others stays out.
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

// What would end the script's element (HTML, 4.12.1.3), or begin another, as the same text in a string or a pattern.
const markupEscaped = {
  name: "markup-escaped",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      if (chunk.type === "chunk") chunk.code = chunk.code.replace(/<(?=\/?script|!--)/gi, "\\x3c");
  },
};
