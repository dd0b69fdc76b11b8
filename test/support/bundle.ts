/** Sources as one program, for what cannot load them as they are: other threads, and processes whose memory is measured. */

import { resolve } from "node:path";
import { rolldown } from "rolldown";

/** Answers where it is: below node_modules, as packages are found above it. `define` replaces words of the sources. */
export async function bundled(
  source: string,
  name: string,
  define: Readonly<Record<string, string>> = {},
): Promise<string> {
  const file = resolve("node_modules/.cache", name);
  const build = await rolldown({
    input: source,
    platform: "node",
    external: ["iced-x86"],
    transform: { define },
  });
  await build.write({ file, format: file.endsWith(".cjs") ? "cjs" : "esm", codeSplitting: false });
  await build.close();
  return file;
}
