/** Finds the code that a module of Python names: files with code, and what it imports from a folder of tests. */

/** Endings of files that are loaded by their names. */
const codeEnding = /\.(?:ptx|cubin|fatbin|so|co|hsaco)\b/g;
const fileName = /[\w.+-]+$/;
const maxName = 128;
const testMember = /\btests?\.(\w+)/g;
const testImport = /\bfrom\s+[\w.]*\btests?\s+import\s+([\w ,()]+)/g;

/** `jitlink.ptx`, and `helpers` of `import app.tests.helpers`. */
export function namedCode(text: string): readonly string[] {
  const files = [...text.matchAll(codeEnding)].flatMap(({ 0: ending, index }) => {
    const [name = ""] = fileName.exec(text.slice(Math.max(0, index - maxName), index)) ?? [];
    return name === "" ? [] : [name + ending];
  });
  const members = [...text.matchAll(testMember)].map(([, name = ""]) => name);
  const imported = [...text.matchAll(testImport)].flatMap(([, names = ""]) => names.match(/\w+/g) ?? []);
  return [...new Set([...files, ...members, ...imported])].sort();
}

const testFolder = /(?:^|\/)tests?\//;

export function isInTests(path: string): boolean {
  return testFolder.test(path);
}
