// A request of an operation, and how programs make it. Pure.
import { pretty } from "../../json";
import { events, json, type Operation, type Parameter } from "./document";

/** Values are what is typed for parameters, by place and name. */
export type Values = Record<string, string>;

export const keyOf = (p: Parameter) => `${p.in} ${p.name}`;

/** Body is what is sent: JSON, fields of a form with its files, or a file. */
export interface Body { media: string; value?: unknown; files?: Record<string, File> }

interface Built { method: string; path: string; headers: [string, string][]; body: string | FormData | File | undefined; missing: string[] }

/** built is the request with what is typed. Parameters without a value are left out; missing are the required ones among them. */
export function built(o: Operation, values: Values, body: Body | null, accept: string): Built {
  const missing: string[] = [], headers: [string, string][] = [], query = new URLSearchParams();
  let path = o.path;
  for (const p of o.parameters) {
    const value = values[keyOf(p)] ?? "";
    if (!value) {
      if (p.required) missing.push(p.name);
      if (p.in === "path") path = path.replace(`{${p.name}}`, p.name.toUpperCase());
    } else if (p.in === "path") path = path.replace(`{${p.name}}`, encodeURIComponent(value));
    else if (p.in === "header") headers.push([p.name, value]);
    else for (const one of p.schema.type === "array" ? value.split("\n").filter(Boolean) : [value]) query.append(p.name, one);
  }
  if (accept && accept !== "*/*") headers.push(["Accept", accept]);
  const { content, media } = contentOf(body);
  if (media) headers.push(["Content-Type", media]);
  const text = query.toString();
  return { method: o.method, path: path + (text && `?${text}`), headers, body: content, missing };
}

function contentOf(body: Body | null): { content: Built["body"]; media: string } {
  if (!body) return { content: undefined, media: "" };
  if (body.media === json) return { content: pretty(body.value ?? {}), media: json };
  const files = Object.entries(body.files ?? {});
  if (body.media !== "multipart/form-data") return { content: files[0]?.[1], media: body.media };
  const form = new FormData();
  for (const [name, value] of Object.entries((body.value ?? {}) as Record<string, unknown>)) {
    for (const one of Array.isArray(value) ? value : [value]) form.append(name, typeof one === "string" ? one : pretty(one));
  }
  for (const [name, file] of files) form.append(name, file, file.name);
  return { content: form, media: "" }; // the browser adds the boundary
}

const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const parts = (b: FormData): [string, string][] => {
  const all: [string, string][] = [];
  b.forEach((v, k) => { all.push([k, typeof v === "string" ? v : `@${v.name}`]); });
  return all;
};

export const languages = ["curl", "TypeScript", "Go"] as const;
export type Language = (typeof languages)[number];

/** snippet is the request as a program makes it. token: the program needs one. */
export function snippet(of: Language, r: Built, origin: string, token: boolean): string {
  return { curl, TypeScript: typescript, Go: go }[of](r, origin, token);
}

const streams = (r: Built) => r.headers.some(([k, v]) => k === "Accept" && v === events);
const fileName = (b: Built["body"]) => (b && typeof b !== "string" && !(b instanceof FormData) ? b.name : "FILE");
const oneLine = (text: string) => (text.length <= 80 ? text.replace(/\n\s*/g, " ").replace(/\{ (.*) \}/s, "{$1}") : text);

function curl(r: Built, origin: string, token: boolean): string {
  const lines = [`curl ${streams(r) ? "-N " : ""}${r.method === "GET" ? "" : r.method === "HEAD" ? "-I " : `-X ${r.method} `}${shell(origin + r.path)}`];
  if (token) lines.push(`-H "Authorization: Bearer $WINDLASS_TOKEN"`);
  for (const [k, v] of r.headers) if (k !== "Accept" || v !== json) lines.push(`-H ${shell(`${k}: ${v}`)}`);
  if (typeof r.body === "string") lines.push(`-d ${shell(oneLine(r.body))}`);
  else if (r.body instanceof FormData) for (const [k, v] of parts(r.body)) lines.push(`-F ${shell(`${k}=${v}`)}`);
  else if (r.headers.some(([k]) => k === "Content-Type")) lines.push(`--data-binary @${fileName(r.body)}`);
  return lines.join(" \\\n  ");
}

function typescript(r: Built, origin: string, token: boolean): string {
  const headers = r.headers.map(([k, v]) => `    ${JSON.stringify(k)}: ${JSON.stringify(v)},`);
  if (token) headers.unshift("    Authorization: `Bearer ${process.env.WINDLASS_TOKEN}`,");
  const lines = [`const response = await fetch(${JSON.stringify(origin + r.path)}, {`];
  if (r.method !== "GET") lines.push(`  method: ${JSON.stringify(r.method)},`);
  if (headers.length) lines.push("  headers: {", ...headers, "  },");
  if (typeof r.body === "string") lines.push(`  body: JSON.stringify(${oneLine(r.body).replaceAll("\n", "\n  ")}),`);
  else if (r.body) lines.push("  body, // a FormData or a Blob");
  lines.push("});", "if (!response.ok) throw new Error((await response.json()).detail);");
  if (streams(r)) lines.push("for await (const text of response.body.pipeThrough(new TextDecoderStream())) {", "  console.log(text);", "}");
  else lines.push(r.method === "HEAD" ? "console.log(response.headers);" : "console.log(await response.json());");
  return lines.join("\n");
}

function go(r: Built, origin: string, token: boolean): string {
  const text = typeof r.body === "string" ? r.body : "";
  const quoted = text.includes("`") ? JSON.stringify(text) : `\`${oneLine(text)}\``;
  const body = typeof r.body === "string" ? `strings.NewReader(${quoted})` : r.body ? "body" : "nil";
  const lines = [`req, err := http.NewRequestWithContext(ctx, ${JSON.stringify(r.method)}, ${JSON.stringify(origin + r.path)}, ${body})`, "if err != nil {", "\treturn err", "}"];
  if (token) lines.push(`req.Header.Set("Authorization", "Bearer "+os.Getenv("WINDLASS_TOKEN"))`);
  for (const [k, v] of r.headers) lines.push(`req.Header.Set(${JSON.stringify(k)}, ${JSON.stringify(v)})`);
  lines.push("resp, err := http.DefaultClient.Do(req)", "if err != nil {", "\treturn err", "}", "defer resp.Body.Close()");
  if (streams(r)) lines.push("for lines := bufio.NewScanner(resp.Body); lines.Scan(); {", "\tfmt.Println(lines.Text())", "}");
  else lines.push("_, err = io.Copy(os.Stdout, resp.Body)", "return err");
  return lines.join("\n");
}

export interface ServerEvent { id: string; type: string; data: string }

/** readEvents takes the complete events from the beginning of a stream's text, and gives the rest of it back. */
export function readEvents(text: string): { events: ServerEvent[]; rest: string } {
  const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  const all: ServerEvent[] = [];
  for (const block of blocks) {
    const e: ServerEvent = { id: "", type: "message", data: "" };
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (name === "id") e.id = value;
      else if (name === "event") e.type = value;
      else if (name === "data") data.push(value);
    }
    if (data.length) all.push({ ...e, data: data.join("\n") });
  }
  return { events: all, rest };
}
