// Letters beyond Latin-1, as escapes.

/** A program with a letter beyond Latin-1 is kept by Node in two bytes a letter, all of it. */
export const lettersEscaped = {
  name: "letters-escaped",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk") continue;
      // What stands there raw would become another text.
      if (/String\.raw`[^`]*[^\0-\x7f]/.test(chunk.code))
        throw new Error(`${chunk.fileName} has such a letter in raw text`);
      chunk.code = chunk.code.replace(
        /[^\0-\x7f]/g,
        (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    }
  },
};
