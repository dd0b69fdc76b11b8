/** A file of log lines for one cell, written as they come. */

import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { ImgmatchError } from "../../errors.ts";
import { makeFolderFor } from "../../io/project-folder.ts";
import { writeFailed } from "../../io/system-error.ts";

export interface CellLog {
  readonly path: string;
  write(line: string): void;
  /** Writes a last line. Answers the path, or null when not everything could be written. */
  close(last: string | null): Promise<string | null>;
}

/** The path of a cell's log: its id if that is a file name on every system, else a safe name with a short hash. */
export function cellLogPath(folder: string, cell: string): string {
  const safeName = cell.replace(/[^a-zA-Z0-9._+-]/g, "_").slice(0, 150);
  const hash = createHash("sha256").update(cell).digest("hex").slice(0, 8);
  return join(
    folder,
    safeName === cell && !cell.startsWith(".")
      ? `${cell}.log`
      : `${safeName.replace(/^\.+/, "")}-${hash}.log`,
  );
}

/** Starts an empty log, creating its folder. Throws `WRITE_FAILED`. A disk that fills up later does not end the build. */
export async function openCellLog(folder: string, cell: string): Promise<CellLog> {
  const path = cellLogPath(folder, cell);
  let whole = true;
  try {
    makeFolderFor(path);
    // A link of this name is removed and not written through.
    await rm(path, { force: true });
    const stream = createWriteStream(path, { flags: "wx" });
    await new Promise((resolve, reject) => stream.once("open", resolve).once("error", reject));
    stream.on("error", () => {
      whole = false;
    });
    const write = (line: string): void => {
      if (!stream.destroyed) stream.write(`${line}\n`);
    };
    return {
      path,
      write,
      close: async (last) => {
        if (last !== null) write(last);
        stream.end();
        await finished(stream).catch(() => {
          whole = false;
        });
        return whole ? path : null;
      },
    };
  } catch (error) {
    throw error instanceof ImgmatchError ? error : writeFailed(path, error);
  }
}
