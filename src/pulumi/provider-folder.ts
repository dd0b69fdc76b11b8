/** The folder that the provider of a program runs in, where it can be told. */

/**
 * `pulumi` runs program and provider in one folder, and gives the program the address of its engine by the environment. A function
 * that the Automation API runs is inside a process of its own, anywhere: null.
 */
export function providerFolder(env: Readonly<Record<string, string | undefined>>): string | null {
  return env.PULUMI_NODEJS_MONITOR ? process.cwd() : null;
}
