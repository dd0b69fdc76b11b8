/** `imgmatch hardware`: print the hardware tables behind every check, with their sources. */

import type { HardwareOptions } from "../node/tables/hardware.ts";
import type { CommandContext, Define } from "./command.ts";
import { withJson } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";
import type { HardwareReport } from "../node/tables/describe-hardware.ts";
import type { ReportRow, ReportTable } from "../node/tables/report-table.ts";
import type { Style } from "./report/style.ts";
import { tableRows, wrap } from "../io/table.ts";
import { toldFeature } from "../hardware/cpu-features.ts";

const helpText = `
A name is a toolkit, a ROCm release, a driver, a GPU, a compute capability, a
target, a march, a CPU feature, a machine type, a cloud, or a part of such a name.`;

export const hardware: Define = (command, run) =>
  withJson(command)
    .description("Print what imgmatch knows about CUDA, ROCm, GPUs, CPUs and machine types, with sources")
    .argument("[kind]", "cuda, rocm, gpu, cpu or machine")
    .argument("[name]", "one of them: 12.8, H100, sm_90a, gfx942, broadwell …")
    .addHelpText("after", helpText)
    .action(run(hardwareCommand));

async function hardwareCommand(flags: HardwareOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { hardware } = await import("../node/tables/hardware.ts");
  const report = await hardware(flags);
  print(context, flags, report, (style) => hardwareLines(report, style, context.terminal.columns));
}

/** With more rows, a list that is longer than so many characters becomes a count; the report about one row shows the list. */
const longList = 28;
const mostListedRows = 24;

/** @param columns width of the terminal, in characters */
export function hardwareLines(report: HardwareReport, style: Style, columns: number): string {
  const width = Math.max(60, columns);
  const numbers = new Map(Object.keys(report.sources).map((key, index) => [key, index + 1]));
  const tables = report.tables.map((table) => tableLines(table, numbers, style, width).join("\n"));
  const sources = Object.entries(report.sources).flatMap(([key, text]) =>
    wrap(`${key}: ${text}`, width, `${`[${numbers.get(key)}]`.padEnd(5)}`, "     "),
  );
  const date = style.dim(`Tables of ${report.date}`);
  return [...tables, [style.strong("Sources"), ...sources.map(style.dim), date].join("\n"), ""]
    .join("\n\n")
    .replace(/(?<!\n)\n+$/, "\n");
}

function tableLines(
  { title, columns, rows }: ReportTable,
  numbers: ReadonlyMap<string, number>,
  style: Style,
  width: number,
): readonly string[] {
  const named = columns.filter(
    (column) => column !== "source" && rows.some((row) => cellText(row, column) !== ""),
  );
  const cited = rows.map((row) => citation(row, numbers));
  // A citation that all rows share stands at the title.
  const common = new Set(cited).size === 1 ? ` ${cited[0]}` : "";
  const counted = named.filter(
    (column) =>
      rows.length > mostListedRows &&
      isList(rows, column) &&
      rows.some((row) => cellText(row, column).length > longList),
  );
  const cells = rows.map((row, index) => [
    ...named.map((column) =>
      counted.includes(column) ? countText(row[column]) : cellText(row, column) || "-",
    ),
    ...(common === "" ? [cited[index] ?? ""] : []),
  ]);
  const heads = [...named.map(heading), ...(common === "" ? ["sources"] : [])];
  const [head = [], ...lines] = tableRows([heads, ...cells], { width, heads: true });
  const body = lines.flatMap(([line = "", ...below]) => [line, ...below.map(style.dim)]);
  const hint =
    counted.length === 0 ? [] : [style.dim(`name one to see its ${counted.map(heading).join(" and ")}`)];
  return [style.strong(title) + style.dim(common), ...head.map(style.dim), ...body, ...hint];
}

/** `[1 4 12]`. */
function citation({ source }: ReportRow, numbers: ReadonlyMap<string, number>): string {
  const cited = source.map((key) => numbers.get(key) ?? 0).sort((a, b) => a - b);
  return `[${cited.join(" ")}]`;
}

function cellText(row: ReportRow, column: string): string {
  const values = [row[column] ?? ""].flat();
  return values.map((value) => (/^features?$/.test(column) ? toldFeature(`${value}`) : value)).join(" ");
}

function countText(value: ReportRow[string] | undefined): string {
  return Array.isArray(value) ? String(value.length) : "-";
}

function isList(rows: readonly ReportRow[], column: string): boolean {
  return rows.every((row) => Array.isArray(row[column]) || row[column] === null);
}

/** `minimumDriver` → `minimum driver`. */
function heading(column: string): string {
  return column.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
