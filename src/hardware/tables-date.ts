/** The day on which the tables were last held against their sources, by bench/tables. */
export const tablesDate = "2026-11-29";
