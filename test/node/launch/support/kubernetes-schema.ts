/**
 * Kubernetes' own schema (the OpenAPI document of Kubernetes, as kubernetes-models compiles it for ajv), and what it says of
 * an object: the types, formats, enumerations and required fields that an API server knows.
 */

import * as admission from "kubernetes-models/admissionregistration.k8s.io/v1";
import * as apps from "kubernetes-models/apps/v1";
import * as batch from "kubernetes-models/batch/v1";
import * as rbac from "kubernetes-models/rbac.authorization.k8s.io/v1";
import * as core from "kubernetes-models/v1";

type Value = Record<string | number, unknown>;
type Model = new (data: never) => { validate(): void };

const groups: Readonly<Record<string, object>> = {
  v1: core,
  "admissionregistration.k8s.io/v1": admission,
  "apps/v1": apps,
  "batch/v1": batch,
  "rbac.authorization.k8s.io/v1": rbac,
};

/** Empty for an object that an API server with strict field validation takes. */
export function schemaProblems(object: {
  readonly apiVersion: string;
  readonly kind: string;
}): readonly string[] {
  const { apiVersion, kind, ...data } = object;
  const group: Record<string, unknown> = { ...groups[apiVersion] };
  const model = group[kind];
  if (typeof model !== "function") return [`no such kind: ${apiVersion} ${kind}`];
  const problem = refusal(model as Model, data);
  return problem === null ? unknownFields(model as Model, structuredClone(data)) : [problem];
}

function refusal(Kind: Model, data: object): string | null {
  try {
    new Kind(data as never).validate();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * The schema takes fields that it does not know. Of those that it knows, it refuses a value that is none of JSON: where it
 * does not, the field is unknown. One element of a list stands for all, as they share their schema.
 */
function unknownFields(Kind: Model, data: object): readonly string[] {
  const seen = new Set<string>();
  const unknown: string[] = [];
  const visit = (holder: Value, path: string): void => {
    for (const [key, value] of Object.entries(holder)) {
      const here = `${path}.${Array.isArray(holder) ? "*" : key}`;
      if (!seen.has(here)) {
        seen.add(here);
        holder[key] = () => undefined;
        if (refusal(Kind, data) === null) unknown.push(`unknown field ${here.slice(1)}`);
        holder[key] = value;
      }
      if (typeof value === "object" && value !== null) visit(value as Value, here);
    }
  };
  visit(data as Value, "");
  return unknown;
}
