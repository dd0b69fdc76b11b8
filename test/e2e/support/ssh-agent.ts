/** OpenSSH's agent with a key of its own, and a program that asks one inside an image. */

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endProcess } from "./children.ts";
import { whyNoGcc, whyNot } from "../../support/programs.ts";

export const whyNoAgent: string | null =
  whyNot("ssh-agent", ["true"], { install: "apt-get install openssh-client" }) ?? whyNoGcc();

export interface RunningAgent {
  readonly socket: string;
  /** How many keys it has. */
  keys(): number;
  /** Puts a static program there: `agent TYPE` asks with this type, and prints the answer's type and its first number. */
  addTo(folder: string): void;
  stop(): Promise<void>;
}

export async function startAgent(): Promise<RunningAgent> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-agent-"));
  const [socket, key, program] = ["socket", "key", "agent"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const child = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
  const env = { ...process.env, SSH_AUTH_SOCK: socket };
  const add = (...args: readonly string[]) =>
    execFileSync("ssh-add", args, { env, encoding: "utf8", stdio: "pipe" });
  for (let tries = 0; !existsSync(socket) && tries < 100; tries++) await sleep(50);
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  add("-q", key);
  writeFileSync(join(folder, "agent.c"), source);
  execFileSync("gcc", ["-static", "-O1", "-o", program, join(folder, "agent.c")], { stdio: "pipe" });
  return {
    socket,
    keys: () => add("-l").trim().split("\n").length,
    addTo: (to) => copyFileSync(program, join(to, "agent")),
    stop: async () => {
      await endProcess(child, 5_000);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const source = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static unsigned number(unsigned char *at) { return at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]; }
int main(int count, char **words) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  unsigned char ask[5] = {0, 0, 0, 1, count > 1 ? atoi(words[1]) : 11}, got[65536] = {0};
  const char *path = getenv("SSH_AUTH_SOCK");
  int agent = socket(AF_UNIX, SOCK_STREAM, 0);
  strncpy(to.sun_path, path ? path : "", sizeof to.sun_path - 1);
  if (connect(agent, (struct sockaddr *)&to, sizeof to) || write(agent, ask, 5) != 5) return perror("agent"), 1;
  for (size_t have = 0; have < 4 || have < 4 + number(got);) {
    ssize_t more = read(agent, got + have, sizeof got - have);
    if (more <= 0) return perror("agent"), 1;
    have += more;
  }
  return printf("%d %u\\n", got[4], number(got + 5)) < 0;
}
`;
