/** How a bench says what it found. */

export function line(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(44)} ${figure}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
