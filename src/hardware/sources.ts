/** Sources of the rows of the hardware tables. Every row names one or more of these keys. */

import table from "./sources.json" with { type: "json" };

export const hardwareSources = table;

export type SourceKey = keyof typeof hardwareSources;
