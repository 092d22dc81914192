// Writing YAML that the server reads as it is: the documents of bundles.
import { Exact } from "./json";

const plain = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const words = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"]);

function scalar(v: unknown): string {
  if (typeof v !== "string") return v instanceof Exact ? v.text : JSON.stringify(v);
  return plain.test(v) && !words.has(v.toLowerCase()) ? v : JSON.stringify(v);
}

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof Exact);

/** block tells whether a text can be a literal block: of several lines, without what such blocks cannot hold. */
// eslint-disable-next-line no-control-regex
const block = (v: unknown): v is string => typeof v === "string" && v.includes("\n") && !/^[\s\n]|[^\S\n]\n|\r|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(v) && /\S/.test(v);

/** field writes what comes after a key or a dash, whose own line has the given indent. */
function field(v: unknown, indent: string): string {
  if (block(v)) {
    const [, body = "", end = ""] = /^([^]*?)(\n*)$/.exec(v)!;
    const mark = end === "" ? "|-" : end === "\n" ? "|" : "|+";
    return ` ${mark}\n${(body + end.slice(1)).split("\n").map((l) => (l ? `${indent}  ${l}` : "")).join("\n")}`;
  }
  if (Array.isArray(v)) {
    if (!v.length) return " []";
    if (v.every((x) => !isMap(x) && !Array.isArray(x) && !block(x))) return ` [${v.map(scalar).join(", ")}]`;
    return v.map((x) => `\n${indent}- ${isMap(x) && Object.keys(x).length ? map(x, `${indent}  `).trimStart() : field(x, `${indent}  `).trimStart()}`).join("");
  }
  if (isMap(v)) return Object.keys(v).length ? `\n${map(v, `${indent}  `)}` : " {}";
  return ` ${scalar(v)}`;
}

const map = (v: Record<string, unknown>, indent: string) => Object.entries(v).map(([k, x]) => `${indent}${scalar(k)}:${field(x, indent)}`).join("\n");

/** yaml writes a document. */
export const yaml = (v: Record<string, unknown>) => `${map(v, "")}\n`;

const own = new Set(["revision", "create_time", "update_time"]);

const isEmpty = (v: unknown) => v === "" || v === null || v === 0 || v === false || Array.isArray(v) && !v.length || isMap(v) && !Object.keys(v).length;

/** document is the document of a bundle for a resource: without what the server sets, and without what is not set. */
export function document(kind: string, of: Record<string, unknown>): string {
  return yaml({ kind, ...Object.fromEntries(Object.entries(of).filter(([k, v]) => !own.has(k) && !isEmpty(v) && !(k === "display_name" && v === of.id))) });
}

export interface LineError { line: number; text: string }

/** lineErrors finds the lines that the problems of a bundle name. */
export function lineErrors(fields: { field: string; message: string }[], detail: string): LineError[] {
  const all = fields.length ? fields.map((f) => `${f.field} ${f.message}`) : [detail];
  return all.map((text) => ({ line: Number(/\bline (\d+)/.exec(text)?.[1] ?? 0), text: text.replace(/^document \d+( \([^)]*\))?,? ?(line \d+:? ?)?/, "") }));
}
