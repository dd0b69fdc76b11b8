/** Tells the reference in the words of `imgmatch run` from the options of `docker run` and their values. */

import { type ImgmatchError, usageError } from "../../errors.ts";

export interface RunWords {
  /** The fleet in a registry; absent if there are only options. */
  readonly reference?: string;
  readonly options: readonly string[];
}

/**
 * Reads the words before `--` that are no options of imgmatch. Throws `USAGE` for an unknown option: the word after it may be its value or the
 * reference.
 */
export function readRunWords(words: readonly string[]): RunWords {
  const options: string[] = [];
  const references: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string;
    if (!word.startsWith("-") || word === "-") references.push(word);
    else {
      options.push(word);
      if (!takesNext(word)) continue;
      const value = words[++index];
      if (value === undefined) throw usageError(`${word} has no value`, `write ${word} VALUE`);
      options.push(value);
    }
  }
  const [reference, second] = references;
  if (second !== undefined) throw twoReferences(`${reference}`, second);
  return { options, ...(reference === undefined ? {} : { reference }) };
}

/** Source: docker/cli 28, cli/command/container/opts.go and `docker run --help`. imgmatch itself takes `--gpus` and writes `--cidfile`. */
const valued = new Set(
  `add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cpu-count cpu-percent
  cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device
  device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns dns-opt dns-option dns-search
  domainname entrypoint env env-file expose group-add health-cmd health-interval health-retries health-start-interval
  health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6 ipc isolation kernel-memory label label-file
  link link-local-ip log-driver log-opt mac-address memory memory-reservation memory-swap memory-swappiness mount name net
  net-alias network network-alias oom-score-adj pid pids-limit platform publish pull restart runtime security-opt shm-size
  stop-signal stop-timeout storage-opt sysctl tmpfs ulimit user userns uts volume volume-driver volumes-from workdir`.split(
    /\s+/,
  ),
);
const plain = new Set(
  `detach disable-content-trust init interactive no-healthcheck oom-kill-disable privileged publish-all quiet read-only rm
  sig-proxy tty use-api-socket`.split(/\s+/),
);
const valuedLetters = "acehlmpuvw";
const plainLetters = "ditPq";

/** Tells whether the next word is this option's value. */
function takesNext(word: string): boolean {
  if (!word.startsWith("--")) return lettersTakeNext(word);
  const [name = ""] = word.slice(2).split("=", 1);
  if (!valued.has(name) && !plain.has(name)) throw unknown(word);
  return valued.has(name) && !word.includes("=");
}

/** `-it`, `-v`, `-p8080:80`: the first letter with a value takes the rest of the word, or the next word. */
function lettersTakeNext(word: string): boolean {
  for (let at = 1; at < word.length; at++) {
    const letter = word.charAt(at);
    if (valuedLetters.includes(letter)) return at === word.length - 1;
    if (!plainLetters.includes(letter)) throw unknown(word);
  }
  return false;
}

function unknown(word: string): ImgmatchError {
  return usageError(
    `${word} is an option neither of imgmatch run nor, as far as it knows, of docker run`,
    "hand a newer option of docker to docker with --option WORD, each word by itself",
  );
}

function twoReferences(first: string, second: string): ImgmatchError {
  return usageError(
    `${first} and ${second}: run takes one reference`,
    "write -- before the arguments for the container",
  );
}
