/** The readers of hosts with the port to a cluster's objects that the program hands them. */

import { readHost as readOne } from "../../src/host/read-host.ts";
import { readHostFiles as readFiles } from "../../src/host/read-host-files.ts";
import { readHosts as readMany } from "../../src/host/read-hosts.ts";
import { ports } from "../../src/ports.ts";

export const readHost = (text: string, file: string) => readOne(text, file, ports);

export const readHosts = (text: string, file: string) => readMany(text, file, ports);

export const readHostFiles = (
  paths: readonly string[],
  readStdin: () => Promise<string> | string,
  more?: Parameters<typeof readFiles>[2],
) => readFiles(paths, { ...ports, readStdin: async () => readStdin() }, more);
