/** Sources as one program, for what cannot load them as they are: other threads, and processes whose memory is measured. */

import { join, resolve } from "node:path";
import { type OutputOptions, rolldown } from "rolldown";
// @ts-expect-error: the bundler's script has no types
import { programsAsText } from "../../scripts/bundle-plugins.mjs";

/** Answers where it is: below node_modules, as packages are found above it. `define` replaces words of the sources. */
export async function bundled(
  source: string,
  name: string,
  define: Readonly<Record<string, string>> = {},
): Promise<string> {
  const file = resolve("node_modules/.cache", name);
  const format = file.endsWith(".cjs") ? "cjs" : "esm";
  await write(source, { file, format, codeSplitting: false }, define);
  return file;
}

/** As a folder of modules: what a module loads when it needs it is not in memory before. */
export async function bundledInParts(source: string, name: string): Promise<string> {
  const dir = resolve("node_modules/.cache", name);
  await write(source, { dir, entryFileNames: "main.mjs", chunkFileNames: "[name].mjs" });
  return join(dir, "main.mjs");
}

async function write(source: string, output: OutputOptions, define = {}): Promise<void> {
  const build = await rolldown({
    input: source,
    platform: "node",
    external: ["iced-x86", /^@pulumi\//, /\/scripts\/page\.mjs$/],
    plugins: [programsAsText],
    transform: { define },
  });
  await build.write(output);
  await build.close();
}
