/** Writes an error that GitHub Actions shows on the page of a run. Source: GitHub Actions, "Workflow commands". */

import type { Place } from "../../errors.ts";
import { mark } from "./terminal-text.ts";

/** @param at a place in the repository */
export function annotation(title: string, message: string, at?: Place): string {
  const { file, line, column: col } = at ?? {};
  const properties = Object.entries({ file, line, col, title })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
  return `${mark("command")}error ${properties.join(",")}::${escapeData(message)}\n`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
