/** The helpers inside parentheses: what each takes. What they answer: `evaluate-expression.ts`. */

export interface ExpressionHelper {
  /** How many values it takes; `most` null is any number. */
  readonly least: number;
  readonly most: number | null;
  readonly form: string;
}

export const expressionHelpers = {
  eq: { least: 2, most: 2, form: "(eq a b)" },
  ne: { least: 2, most: 2, form: "(ne a b)" },
  includes: { least: 2, most: 2, form: '(includes list "text")' },
  not: { least: 1, most: 1, form: "(not a)" },
  and: { least: 2, most: null, form: "(and a b)" },
  or: { least: 2, most: null, form: "(or a b)" },
} as const satisfies Record<string, ExpressionHelper>;

export type ExpressionHelperName = keyof typeof expressionHelpers;

export function isExpressionHelper(name: string): name is ExpressionHelperName {
  return Object.hasOwn(expressionHelpers, name);
}
