/** `IMGMATCH_LONG=1` repeats what depends on luck as often as it takes to be sure; CI takes a sample. */
export const isLong = Boolean(process.env.IMGMATCH_LONG);

export function rounds(inCi: number, long: number): number {
  return isLong ? long : inCi;
}
