/** Adds members to an answer that its JSON does not have. */
export function withUnprinted<Answer extends object, More extends object>(
  answer: Answer,
  more: More,
): Answer & More {
  const hidden = Object.entries(more).map(([key, value]) => [key, { value, enumerable: false }] as const);
  return Object.defineProperties(answer, Object.fromEntries(hidden)) as Answer & More;
}
