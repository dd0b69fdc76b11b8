/** Prints which of its arguments its user may open, for a process of another user. */

import { nodeHostIo } from "../../../src/host/node-host-io.ts";

const { mayOpen } = nodeHostIo();
process.stdout.write(JSON.stringify(process.argv.slice(2).map(mayOpen)));
