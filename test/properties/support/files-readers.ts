/** The project's own files, facts and labels, each with texts that are hard for its reader. */

import { readHost } from "../../support/read-hosts.ts";
import { readHosts } from "../../support/read-hosts.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import { parseRequirement } from "../../../src/lock/parse-requirement.ts";
import { findBases } from "../../../src/fleet/dockerfile/bases.ts";
import { missingSources } from "../../../src/fleet/context/context-inputs.ts";
import { writtenSecrets } from "../../../src/fleet/dockerfile/written-secrets.ts";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";
import { endOfTarget } from "../../../src/fleet/dockerfile/stages.ts";
import { compileTemplate } from "../../../src/fleet/template/template.ts";
import { coded, numbered, type Reader, repeated } from "./reader.ts";

export const fileReaders: Readonly<Record<string, Reader>> = {
  facts: {
    read: (text) => readHost(text, "facts.json"),
    texts: {
      "{": repeated('{"a":'),
      "[": repeated("["),
      "a list that ends in no JSON": repeated("1,", "[", "x"),
      lines: repeated("\n", "{", "x"),
      spaces: repeated(" ", "{", "x"),
      quotes: repeated('","', '{"a":["', "x"),
      features: repeated('"a",', '{"schemaVersion":1,"cpu":{"features":[', '"a"]}}'),
      "features of no form": repeated('"a b",', '{"schemaVersion":1,"cpu":{"features":[', '"a"]}}'),
      "a long version": repeated("1.", '{"schemaVersion":1,"kernel":"', '"}'),
      GPUs: repeated('{"index":0},', '{"schemaVersion":1,"nvidia":{"gpus":[', "{}]}}"),
    },
  },
  "Kubernetes node": {
    read: (text) => readHost(text, "node.json"),
    texts: {
      labels: numbered(
        (index) => `"feature.node.kubernetes.io/cpu-cpuid.K${index}":"true",`,
        '{"kind":"Node","metadata":{"labels":{',
        '"kubernetes.io/arch":"amd64"}}}',
      ),
      "a map of labels": numbered(
        (index) => `"nvidia.com/k${index}":"1",`,
        "{",
        '"kubernetes.io/arch":"amd64"}',
      ),
      "one label of dots": repeated("a.", '{"', 'x":"1"}'),
      "a long product": repeated("-MIG-", '{"nvidia.com/gpu.product":"', '","kubernetes.io/arch":"amd64"}'),
      nodes: repeated('{"kind":"Node"},', '{"kind":"List","items":[', "{}]}"),
    },
  },
  "a list of hosts": {
    read: (text) => readHosts(text, "hosts.jsonl"),
    texts: {
      "{": repeated("{"),
      "{ on lines": repeated("{\n"),
      "lists on lines": repeated("[]\n", "{", '"'),
      "one deeper than is read": repeated("[", "\n", "\n"),
      words: repeated("connection refused\n"),
      quotes: repeated('"', "{", "x"),
      backslashes: repeated("\\", '{"a":"', '"}'),
      lines: repeated("\n", "{", "x"),
      "facts of nothing": repeated("{}\n"),
      nodes: repeated(
        '{"kind":"Node","metadata":{"labels":{}}},',
        '{"kind":"List","items":[',
        '{"kind":"Node"}]}',
      ),
    },
  },
  lock: {
    read: (text) => parseLock(text, "imgmatch.lock.json"),
    texts: {
      "{": repeated('{"a":'),
      "a list that ends in no JSON": repeated("1,", "[", "x"),
      lines: repeated("\n", "{", "x"),
      "lines of a merge": repeated("<<<<<<\n"),
      quotes: repeated('","', '{"a":["', "x"),
      images: numbered((index) => `"k${index}":{},`, '{"schemaVersion":2,"images":{', '"k":{}}}'),
      "a repository of dots": repeated("a.", '{"schemaVersion":2,"repository":"', '/","images":{}}'),
      "a repository of dashes": repeated("-", '{"schemaVersion":2,"repository":"a', '_","images":{}}'),
    },
  },
  requirement: {
    read: (text) => parseRequirement(text),
    texts: {
      "[": (size) => "[".repeat(size / 2) + "]".repeat(size / 2),
      features: repeated('"a",', '{"cuda":null,"cpu":{"march":"x86-64","features":[', '"a"]}}'),
    },
  },
  template: {
    read: (text) => compileTemplate(text, "app.hbs"),
    texts: {
      names: repeated("{{a}}"),
      "unknown helpers": repeated("{{a b}}\n"),
      "unknown helpers in one line": repeated("{{a b}}"),
      options: repeated("{{#if a=b}}{{/if}}\n"),
      partials: repeated("{{> a}}\n"),
      blocks: repeated("{{#nope a}}{{/nope}}"),
      "{": repeated("{"),
      "{{": repeated("{{"),
      "{{!": repeated("{{!"),
      "{{!--": repeated("{{!--"),
      "{{#if a": repeated("{{#if a"),
      "\\{{": repeated("\\{{"),
      "\\": repeated("\\", "", "{{a}}"),
      dots: repeated("a.", "{{", "a}}"),
      spaces: repeated(" ", "{{a", "b}}"),
      "{{else}}": repeated("{{else}}", "{{#if a}}", "{{/if}}"),
      quotes: repeated('"', "{{#if (eq a "),
      "open blocks side by side": repeated("{{#if a}}{{/if}}"),
    },
  },
  Dockerfile: {
    read: (text) =>
      [
        () => findBases(text, "Dockerfile"),
        () =>
          endOfTarget(parseDockerfile(text), {
            target: { value: "x", at: { file: "m" } },
            template: { value: "t", at: { file: "t" } },
          }),
        () =>
          parseDockerfile(text).instructions.map((each) => [
            writtenSecrets(each, "f"),
            missingSources(each, "f", { dir: ".", paths: new Set(["a"]) }),
          ]),
      ].map(coded),
    texts: {
      FROM: repeated("FROM a AS b\n"),
      "FROM of nothing": repeated("FROM\n"),
      "stages of one another": numbered((index) => `FROM k${index} AS l${index}\n`),
      "continued lines": repeated("\\\n", "RUN a ", "\n"),
      "continued FROM": repeated("a \\\n", "FROM x AS ", "\n"),
      "flags over lines": repeated("--mount=from=a \\\n", "FROM a\nRUN ", "x\n"),
      words: repeated("a ", "RUN ", "\n"),
      quotes: repeated('"', "RUN a ", "\n"),
      "open quotes": repeated("\"'", "RUN <<a ", "\n"),
      escaped: repeated("\\a", "RUN <<a ", "\n"),
      "here-documents": repeated("<<a ", "RUN ", "\n"),
      "here-documents that never end": repeated("RUN <<a\nb\n"),
      digits: repeated("1", "RUN <<a ", "<\n"),
      "spaces before nothing": repeated(" ", "FROM a AS b", "c d\n"),
      "spaces behind a backslash": repeated(" ", "RUN a \\", "x\n"),
      backslashes: repeated("\\ ", "RUN a ", "x\n"),
      directives: repeated("# a = b\n"),
      "a directive of spaces": repeated(" ", "# a", "= b c"),
      "a directive of spaces in its value": repeated(" ", "# a = b", "c\n"),
      "a directive with spaces": repeated("a ", "# a =", "\n"),
      "# of spaces": repeated(" ", "#", "x"),
      $: repeated("$", "FROM ", "\n"),
      "${": repeated("${", "FROM ", "\n"),
      "${a:-": repeated("${a:-", "ARG a\nFROM ", "\n"),
      "${a:+b}": repeated("${a:+b}", "ARG a=1\nFROM ", "\n"),
      $a: repeated("$a", "ARG a=1\nFROM ", "\n"),
      ARG: numbered((index) => `ARG k${index}=a\n`, "", "FROM a\n"),
      "ARG of ARG": repeated("ARG a=${a}\n", "ARG a=1\n", "FROM a\n"),
      ENV: repeated("ENV A_TOKEN=eyJ-\n", "FROM a\n"),
      COPY: repeated("COPY a b c\n", "FROM a\n"),
      "COPY of a pattern": repeated("*a", "FROM a\nCOPY ", " b\n"),
      "COPY of ?": repeated("?", "FROM a\nCOPY ", " b\n"),
      "COPY of [": repeated("[", "FROM a\nCOPY a", " b\n"),
      "COPY of a list": repeated('"a",', "FROM a\nCOPY [", '"b"]\n'),
      "COPY of parts": repeated("a/", "FROM a\nCOPY ", " b\n"),
      "--mount": repeated(",", "FROM a\nRUN --mount=", " b\n"),
      "--mount from": repeated("from,", "FROM a\nRUN --mount=", " b\n"),
      ONBUILD: repeated("ONBUILD ", "FROM a\n", "RUN a\n"),
    },
  },
};
