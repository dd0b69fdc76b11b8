/** Single words: options, variables, what registries and engines say, each with texts that are hard for its reader. */

import { matchesLabel } from "../../../src/fleet/matrix/meets.ts";
import { narrowGpus } from "../../../src/host/nvidia/visible-devices.ts";
import { questionKeys } from "../../../src/node/launch/labels/image-labels.ts";
import { labelValue } from "../../../src/node/launch/labels/vocabulary.ts";
import { shellWord } from "../../../src/node/launch/shell.ts";
import { dnsName } from "../../../src/node/launch/workload-name.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { parseChallenge } from "../../../src/oci/registry/authorize.ts";
import {
  findDockerAuth,
  findHelper,
  listLogins,
  parseDockerConfig,
} from "../../../src/oci/registry/docker-config.ts";
import { checkPins, compilePins } from "../../../src/resolve/pins.ts";
import { evaluateRequire, parseRequire } from "../../../src/resolve/rules/nvidia/parse-nvidia-require.ts";
import { compareFleetVersions } from "../../../src/trust/seen-indexes.ts";
import { numbered, type Reader, repeated } from "./reader.ts";

export const wordReaders: Readonly<Record<string, Reader>> = {
  "a pattern of --only": {
    read: (text) => matchesLabel(text.slice(0, text.indexOf("!")), text.slice(text.indexOf("!") + 1)),
    texts: {
      "*": (size) => `${"*".repeat(size / 2)}!${"a".repeat(size / 2)}b`,
      "*a": (size) => `${"*a".repeat(size / 4)}*b!${"a".repeat(size / 2)}`,
      "1.": (size) => `1${".1".repeat(size / 4)}!1${".1".repeat(size / 4)}x`,
    },
  },
  pins: {
    read: async (text) => {
      const [pattern = "", value = ""] = text.split("!");
      checkPins({ a: value }, await compilePins({ a: pattern }));
    },
    texts: {
      "*": (size) => `${"*".repeat(size / 2)}!${"a".repeat(size / 2)}b`,
      "*a": (size) => `${"*a".repeat(size / 4)}*b!${"a".repeat(size / 2)}`,
      ">=1": repeated(">=1 ", "", "!1.2.3"),
      "||": repeated("||", ">1", "!1.2.3"),
      spaces: repeated(" ", ">1", "2!1.2.3"),
      digits: repeated("1", ">", "!1.2.3"),
      "1 - 2": repeated("1 - ", ">", "2!1.2.3"),
      "~": repeated("~", "", "1!1.2.3"),
      "^": repeated("^", "", "1!1.2.3"),
      "x.": repeated("x.", ">", "!1.2.3"),
      prerelease: repeated("-a.", ">1.2.3", "!1.2.3"),
    },
  },
  "versions of a fleet": {
    read: (text) => [compareFleetVersions(text, `${text}x`), compareFleetVersions(text, `${text}-`)],
    texts: { prerelease: repeated("1-a.", "1.0-"), digits: repeated("1") },
  },
  NVIDIA_REQUIRE: {
    read: (text) => {
      const expression = parseRequire(text);
      return expression === null
        ? null
        : evaluateRequire(expression, { cuda: null, driver: null, arch: null, brand: "tesla" });
    },
    texts: {
      "cuda>=1": repeated("cuda>=1 "),
      "brand=a,": repeated("brand=a,"),
      "<": repeated("<"),
      "1.": repeated("1.", "cuda>="),
      ",": repeated(","),
      spaces: repeated(" "),
      names: repeated("a"),
    },
  },
  "an image reference": {
    read: (text) => parseImageReference(text),
    texts: {
      a: repeated("a"),
      "a.": repeated("a."),
      "a-": repeated("a-", "", "_"),
      "-": repeated("-", "a", "_"),
      "a/": repeated("a/"),
      ":": repeated(":"),
      "1:": repeated("1:", "a.b:"),
      "@": repeated("@"),
      "[": repeated("["),
      "[::": repeated(":", "[", "]/a"),
      a__b: repeated("a__b", "r.io/", "."),
      "host of dashes": repeated("-", "a", ".io/b"),
      digits: repeated("1", "", "/a"),
    },
  },
  challenge: {
    read: (text) => parseChallenge(text),
    texts: {
      a: repeated("a"),
      "a-": repeated("a-"),
      spaces: repeated(" ", "Bearer", "x"),
      "spaces and names": repeated("a ", "Bearer "),
      quotes: repeated('"', "Bearer realm="),
      "open quotes": repeated('a="', "Bearer "),
      backslashes: repeated("\\", 'Bearer realm="'),
      parameters: repeated('a="b",', "Bearer "),
      commas: repeated(",", "", "basi"),
      "a =": repeated("a =", "Bearer "),
    },
  },
  "Docker's configuration": {
    read: (text) => {
      listLogins(text, "config.json");
      findHelper(parseDockerConfig(text, "config.json"), "r.io");
      findDockerAuth(parseDockerConfig(text, "config.json"), "r.io");
    },
    texts: {
      logins: numbered((index) => `"r${index}.io":{},`, '{"auths":{', '"x":{}}}'),
      "an address of slashes": repeated("/", '{"auths":{"', '":{}}}'),
      "a login of zeros": repeated("AAAA", '{"auths":{"r.io":{"auth":"', 'YTpi"}}}'),
      "[": repeated("["),
    },
  },
  "names for --gpus": {
    read: (text) => narrowGpus([], text),
    texts: {
      ",": repeated(","),
      "0,": repeated("0,"),
      "MIG-": repeated("MIG-"),
      spaces: repeated(" ", "0", "x"),
    },
  },
  "names for other programs": {
    read: (text) => {
      labelValue(text);
      questionKeys({ name: text, version: text });
      dnsName(text);
      shellWord(text);
    },
    texts: {
      "-": repeated("-", "a", "b"),
      "!": repeated("!", "a", "b"),
      "-!": repeated("-!", "a", "b"),
      "'": repeated("'"),
    },
  },
};
