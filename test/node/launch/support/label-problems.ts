/** Kubernetes' rules for names and values of labels, stated a second time. It knows nothing of imgmatch. */

export type Labels = Readonly<Record<string, string>>;

/** apimachinery, util/validation: IsQualifiedName with a DNS subdomain before the slash, and IsValidLabelValue. */
export function labelProblems(labels: Labels): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const [prefix = "", name = "", rest] = key.split("/");
    const problems: string[] = [];
    if (rest !== undefined || !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(prefix))
      problems.push(`prefix of ${key}`);
    if (!/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(name)) problems.push(`name of ${key}`);
    if (!/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/.test(value))
      problems.push(`value of ${key}: ${value}`);
    return problems;
  });
}
