/** Damage to texts, repeatable from a number: the same seed and index give the same text. */

export type Random = (below: number) => number;

/** Mulberry32, a small generator of 32 bits. */
export function randomFrom(seed: number, index: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function pick<T>(random: Random, list: readonly T[]): T {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** Texts that parsers stumble over: separators, words for "no value", numbers out of range, terminal codes, names of prototypes. */
const poison = [
  "\0",
  "\n",
  "\r\n",
  "\t",
  ":",
  ",",
  '"',
  "\\",
  "[N/A]",
  "N/A",
  "ERR!",
  "[Unknown Error]",
  "No devices were found",
  "Failed to initialize NVML: Driver/library version mismatch",
  'Field "name" is not a valid field to query.',
  "99999999999999999999",
  "-1",
  "1e999",
  "0x",
  "NaN",
  "__proto__",
  "constructor",
  "\u001b[2J",
  "\u0085",
  "\uFEFF",
  "\uD800",
  "{",
  "}",
  "[",
  "null",
  "cuda>=",
  "580.999999999999999999.1",
] as const;

/** Up to four stretches are cut out, doubled, swapped for poison, or filled with much of the same. */
export function mutateText(text: string, random: Random): string {
  let now = text;
  for (let left = 1 + random(4); left > 0; left--) {
    const start = random(now.length + 1);
    const length = pick(random, [0, 1, 3, 40, 400]);
    const stretch = now.slice(start, start + length);
    const inserted = pick(random, [
      "",
      stretch + stretch,
      pick(random, poison),
      String.fromCharCode(random(256)),
      String.fromCodePoint(random(0xd800)),
      pick(random, poison).repeat(random(200)),
    ]);
    now = now.slice(0, start) + inserted + now.slice(start + length);
  }
  // Once in a while as long as the probe lets a program's output be.
  return random(1000) === 0
    ? now +
        pick(random, [now, ...poison])
          .repeat(2000)
          .slice(0, 1 << 20)
    : now;
}

/** JSON that stays JSON, with values swapped, removed, renamed, nested or repeated; else text that is damaged as text. */
export function mutateJson(text: string, random: Random): string {
  if (random(3) === 0) return mutateText(text, random);
  let value = JSON.parse(text) as unknown;
  for (let left = 1 + random(3); left > 0; left--) value = change(value, random);
  const changed = JSON.stringify(value);
  return changed.replaceAll('"hostile nesting"', () => nested(random));
}

function change(value: unknown, random: Random): unknown {
  if (typeof value !== "object" || value === null || random(12) === 0) return strange(value, random);
  const entries = Object.entries(value);
  if (entries.length === 0) return strange(value, random);
  const at = random(entries.length);
  const [key, inner] = entries[at] ?? ["", null];
  const next: [string, unknown][] = pick(random, [
    [[key, change(inner, random)]],
    [[key, change(inner, random)]],
    [[key, change(inner, random)]],
    [[key, change(inner, random)]],
    [],
    [[pick(random, poison), inner]],
    [
      [key, inner],
      [`${key}${random(9)}`, inner],
    ],
  ]);
  entries.splice(at, 1, ...next);
  // Not Object.fromEntries of a list: a list stays one.
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

function strange(value: unknown, random: Random): unknown {
  return pick(random, [
    null,
    true,
    -1,
    1e308,
    2 ** 53,
    0.5,
    "",
    {},
    [],
    [value, value],
    { [pick(random, poison)]: value },
    pick(random, poison),
    typeof value === "string" ? mutateText(value, random) : String(value),
    "x".repeat(random(5000)),
    "hostile nesting",
  ]);
}

/** Deeper than a function that calls itself can go. */
function nested(random: Random): string {
  const depth = pick(random, [10, 1000, 20_000]);
  const [open, close] = pick(random, [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const);
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
}

/** Words that a program or a terminal reads as more than a name; most still pass a careless check. */
const smuggled = [
  "--privileged",
  "-v",
  " --mount=type=bind",
  ";id",
  "$(id)",
  "`id`",
  "'",
  '"',
  "\n",
  "\r",
  "\t",
  " ",
  "\u001b[2J",
  "\u0007",
  "\u009b",
  "\u202e",
  "\u2028",
  "\0",
  "@sha256:",
  ":",
  "/",
  "//",
  "..",
  "=",
  ",",
  "%",
  "*",
  "A",
  "_",
  "-",
  ".",
  "9",
] as const;

/** JSON of the same form in which one text or key has one stretch more or less: much of it is still accepted, and goes further. */
export function smuggle(json: string, random: Random): string {
  const root = JSON.parse(json) as unknown;
  const places = textPlaces(root);
  for (let left = 1 + random(2); left > 0; left--) pick(random, places)(random);
  return JSON.stringify(root);
}

function textPlaces(value: unknown): ((random: Random) => void)[] {
  if (typeof value !== "object" || value === null) return [];
  const object = value as Record<string, unknown>;
  return Object.entries(object).flatMap(([key, inner]) => {
    const rename = (random: Random) => {
      if (!Object.hasOwn(object, key)) return;
      delete object[key];
      object[smuggleInto(key, random)] = inner;
    };
    const text = (random: Random) => {
      if (Object.hasOwn(object, key)) object[key] = smuggleInto(String(inner), random);
    };
    return [
      ...(typeof inner === "string" ? [text, text, text] : []),
      ...(Array.isArray(value) ? [] : [rename]),
      ...textPlaces(inner),
    ];
  });
}

function smuggleInto(text: string, random: Random): string {
  const at = pick(random, [0, text.length, random(text.length + 1)]);
  const cut = pick(random, [0, 0, 0, 1, 5]);
  return text.slice(0, at) + pick(random, smuggled) + text.slice(at + cut);
}

/** Numbers at which sizes, counts and offsets break. */
const edges = [0, 1, 7, 63, 64, 0x7f, 0xff, 0x100, 0xffff, 0x7fffffff, 0xffffffff, 0x50ed55ba, 0xfd2fb528];

/** Bytes flipped, overwritten by edge numbers, cut off, repeated or moved. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  let now = Buffer.from(bytes);
  for (let left = 1 + random(6); left > 0 && now.length > 8; left--) {
    // Headers stand in front and behind: more damage goes there.
    const at = pick(random, [
      random(now.length),
      random(Math.min(600, now.length)),
      now.length - 1 - random(Math.min(300, now.length)),
    ]);
    const kind = random(8);
    if (kind < 3) now[at] = random(256);
    else if (kind < 5 && at + 4 <= now.length) now.writeUInt32LE(pick(random, edges) >>> 0, at);
    else if (kind === 5)
      now = Buffer.concat([now.subarray(0, at), now.subarray(Math.min(now.length, at + 1 + random(64)))]);
    else if (kind === 6)
      now = Buffer.concat([now.subarray(0, at), now.subarray(Math.max(0, at - random(600)))]);
    else if (random(3) === 0) now = now.subarray(0, at);
  }
  return now;
}
