/** A line about facts: its label, and its text. */

export type FactsRow = readonly [label: string, text: string];

export const unknown = "unknown";
