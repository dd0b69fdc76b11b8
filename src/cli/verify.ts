/** `imgmatch verify`: compare the registry with the lock: tags, index, signatures, provenance. */

import { formatProblem } from "../errors.ts";
import { type ExitCode, exitCodes, problemCodes } from "../problem-codes.ts";
import type { Sweep } from "../fleet/publish/sweep.ts";
import type { ChannelDrift, LookEvent, RegistryDrift } from "../fleet/publish/verify-lock.ts";
import type { SignedLock } from "../fleet/publish/verify-signed.ts";
import type { VerifyAnswer, VerifyOptions } from "../fleet/verify.ts";
import { count, formatTable } from "../io/table.ts";
import type { World } from "../io/world.ts";
import { lockPath } from "../lock/lock.ts";
import type { ImageProvenance, ProvenanceVerification } from "../oci/verified-provenance.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { withJson, withRegistries, withTrust } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import { signedLine } from "./report/verdict-lines.ts";
import type { Style } from "./report/style.ts";

const helpText = `
Exit code 1 when a tag differs from the lock or an index lacks cells of it, 6
when an index says something else than the lock.`;

export const verify: Define = (command, run) =>
  withTrust(
    withRegistries(
      withJson(command)
        .description("Check that the registry holds the lock's digest under every tag of the lock")
        .option("--lock <file>", "Read this lock", lockPath)
        .option("--heal", "Give each tag the lock's digest again, where the registry still has that image")
        .option("--provenance", "Check also that each image's attestations agree with the lock")
        .option(
          "--sweep",
          "Remove the tags imgmatch-… that killed publishers left; only while nobody publishes there",
        ),
    ),
  )
    .addHelpText("after", helpText)
    .action(run(verifyCommand));

async function verifyCommand(flags: VerifyOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { verifyWith } = await import("../fleet/verify.ts");
  const verify = verifyWith(ports);
  const progress = progressTo(context);
  const onEvent: World<LookEvent>["onEvent"] = (event) => {
    if (event.type !== "look") context.onEvent(event);
    else progress.draw(`${event.what}: ${event.done} of ${count(event.total, "image")}`);
  };
  const answer = await verify(flags, { ...context, onEvent }).finally(progress.clear);
  print(context, flags, answer, (style) => verifyLines(answer, flags, style));
  return exitCodeOf(answer);
}

/** A wrong or foreign image counts before a missing one. */
function exitCodeOf({ conflicts, drift, channels, provenance }: VerifyAnswer): ExitCode {
  const ofImages = (provenance?.images ?? []).flatMap(({ problems }) => problems);
  const codes = [...conflicts, ...ofImages].map(({ code }) => problemCodes[code]);
  if (codes.includes(exitCodes.conflict)) return exitCodes.conflict;
  const isDrifted = [...drift, ...channels].some(({ healed }) => !healed);
  return isDrifted || codes.length > 0 ? exitCodes.failed : exitCodes.ok;
}

type Asked = Pick<VerifyOptions, "lock" | "heal">;

function verifyLines(answer: VerifyAnswer, asked: Asked, style: Style): readonly string[] {
  const { swept, signed, provenance } = answer;
  return [
    ...(swept === undefined ? [] : sweepLines(swept)),
    ...verificationLines(answer, asked, style),
    ...(signed === undefined ? [] : signedLockLines(signed)),
    ...(provenance === undefined ? [] : provenanceLines(provenance, style)),
  ];
}

function verificationLines(
  { intact, unpublished, drift, channels, conflicts, adopted }: VerifyAnswer,
  asked: Asked,
  style: Style,
): readonly string[] {
  const all = [
    ...drift.map((found) => ({ ...found, name: found.cell })),
    ...channels.map((found) => ({ ...found, name: `channel ${found.channel}` })),
  ];
  const rows = all.map((found) => [
    found.healed ? "healed" : found.finding,
    found.name,
    found.reference,
    detail(found),
  ]);
  const lines = formatTable(rows).map((line, index) =>
    all[index]?.healed ? style.good(line) : style.bad(line),
  );
  const unhealed = drift.filter(({ healed }) => !healed);
  const parts = [
    `${count(intact, "image")} as the lock says`,
    ...(drift.length > 0 ? [`${drift.length} not`] : []),
    ...(channels.length > 0 ? [`${count(channels.length, "channel")} not as recorded`] : []),
    ...(drift.length > unhealed.length ? [`${drift.length - unhealed.length} healed`] : []),
    ...(unpublished.length > 0 ? [`${unpublished.length} never pushed`] : []),
  ];
  const wrong = conflicts.flatMap(({ code, message, details = [], fix }) => [
    style.bad(`${code}: ${message}`),
    ...details,
    ...(fix === undefined ? [] : [`  fix: ${fix}`]),
  ]);
  return [
    ...lines,
    parts.join(", "),
    ...wrong,
    ...advice(unhealed, adopted, asked),
    ...channelAdvice(channels),
  ];
}

function sweepLines({ removed, emptied }: Sweep): readonly string[] {
  const all = removed.length + emptied.length;
  if (all === 0) return ["no transient tags"];
  return [
    `${count(removed.length, "transient tag")} removed`,
    ...(emptied.length === 0
      ? []
      : [`${count(emptied.length, "transient tag")} emptied, which this registry does not remove`]),
  ];
}

function detail({ finding, digest, found }: Omit<RegistryDrift, "cell">): string {
  switch (finding) {
    case "moved":
      return `holds ${found}, the lock says ${digest}`;
    case "vanished":
      return `no such tag; ${digest} is still there`;
    case "lost":
      return `${digest} is gone${found === null ? "" : `; the tag holds ${found}`}`;
  }
}

function advice(
  unhealed: readonly RegistryDrift[],
  adopted: boolean,
  { heal, lock = lockPath }: Asked,
): string[] {
  const canHeal = !heal && unhealed.some(({ finding }) => finding !== "lost");
  const lost = unhealed.filter(({ finding }) => finding === "lost").map(({ cell }) => cell);
  const where = lock === lockPath ? "" : ` --lock ${lock}`;
  return [
    ...(canHeal ? ["imgmatch verify --heal gives each tag its digest again"] : []),
    ...(lost.length > 0
      ? [
          adopted ? "what is lost must come back, or leave the lock:" : "what is lost must be built again:",
          `  imgmatch lock${where} rm ${lost.join(" ")}`,
          ...(adopted ? [] : [`  imgmatch build --push${where} --only ${lost.join(",")}`]),
        ]
      : []),
  ];
}

/** Only people know whether the channel was moved by mistake or by a move that this lock does not have. */
function channelAdvice(channels: readonly ChannelDrift[]): string[] {
  const names = channels.flatMap(({ healed, channel }) => (healed ? [] : [channel]));
  if (names.length === 0) return [];
  return [
    "take the lock with the move, or move the channel back: imgmatch verify --heal, or",
    `  imgmatch promote --replace-index ${names.map((name) => `--channel ${name}`).join(" ")}`,
  ];
}

function signedLockLines({ index, named, own }: SignedLock): readonly string[] {
  const signed = Object.entries(own);
  return [
    ...(index === null
      ? []
      : [`the index ${signedLine(index)}; it names ${count(named, "image")} of the lock`]),
    ...signed.map(([cell, by]) => `${cell}: ${signedLine(by)}`),
  ];
}

/** Problems first, then the count of images as the lock says, and the claims that nobody attested. */
function provenanceLines({ signed, images }: ProvenanceVerification, style: Style): string[] {
  const good = images.filter(({ problems }) => problems.length === 0);
  const problems = images.flatMap((image) => image.problems.map(formatProblem));
  const who = new Set(good.map(({ builtBy }) => builtBy));
  const whose = good.length === 0 ? "" : ` by provenance of ${[...who].join(" and ")}`;
  return [
    ...problems.flatMap((text) => text.split("\n")).map((line) => style.bad(line)),
    `${count(good.length, "image")} as the lock says${whose}, ${signatureOf(good, signed)}`,
    ...silentLines(good),
  ];
}

function signatureOf(good: readonly ImageProvenance[], signed: boolean): string {
  if (signed) return "signed by whom was asked for";
  const notSigned = good.filter(({ signature }) => signature === "unsigned").length;
  if (notSigned === good.length) return "unsigned: whoever may write to the repository may have written it";
  return notSigned === 0 ? "signed, and by whom was not asked" : `${notSigned} of them unsigned`;
}

const mostSilent = 5;

function silentLines(good: readonly ImageProvenance[]): string[] {
  const cells = new Map<string, number>();
  for (const claim of good.flatMap(({ unstated }) => unstated)) cells.set(claim, (cells.get(claim) ?? 0) + 1);
  if (cells.size === 0) return [];
  const named = [...cells].slice(0, mostSilent).map(([claim, number]) => `${claim} (${number})`);
  return [`not attested: ${named.join(", ")}${cells.size > mostSilent ? " …" : ""}`];
}
