/** A bug is not a user's mistake: say so, and hand over what a report needs. */
export function bugReport(error: unknown, version: string): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const cause =
    error instanceof Error && error.cause instanceof Error ? `\ncaused by ${error.cause.stack ?? ""}` : "";
  return [
    "This is a bug in imgmatch, not a mistake of yours. Please report it with these lines:",
    `imgmatch ${version}, Node ${process.version}, ${process.platform}/${process.arch}`,
    `${stack}${cause}`,
    "",
  ].join("\n");
}
