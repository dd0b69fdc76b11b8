#!/usr/bin/env node
/** The program in one file, for nodes: their commands, and no code that fetches the public root. */

import { nodePorts } from "../node-ports.ts";
import { noPublicRoot } from "../trust/no-public-root.ts";
import { nodeCommands } from "./node-command-table.ts";
import { runProcess } from "./process.ts";

runProcess(nodeCommands, { ...nodePorts, publicRoot: noPublicRoot });
