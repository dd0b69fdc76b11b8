#!/usr/bin/env node
/** The program `imgmatch`: every command. */

import { ports } from "../ports.ts";
import { allCommands } from "./command-table.ts";
import { runProcess } from "./process.ts";

runProcess(allCommands, ports);
