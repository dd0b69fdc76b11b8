/** Patterns of names: `*` stands for any text, all else for itself. */

const expressions = new Map<string, RegExp>();

/** Whether the whole text meets the pattern. */
export function matchesGlob(pattern: string, text: string): boolean {
  let expression = expressions.get(pattern);
  if (expression === undefined) {
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    expression = new RegExp(`^${parts.join(".*")}$`, "s");
    expressions.set(pattern, expression);
  }
  return expression.test(text);
}
