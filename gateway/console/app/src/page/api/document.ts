// What the OpenAPI document says, in the form in which page API shows it. Pure.
import type { Schema } from "../../api";

export interface Parameter { name: string; in: "path" | "query" | "header"; description?: string; required?: boolean; example?: unknown; schema: Schema }
interface Content { schema?: Schema; example?: unknown }
interface Response { $ref?: string; description?: string; content?: Record<string, Content>; headers?: Record<string, { description?: string }> }
interface Described {
  operationId: string; summary?: string; description?: string; tags?: string[]; parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Content> };
  responses: Record<string, Response>; security?: Record<string, string[]>[];
}
export interface Document {
  info: { title: string; description?: string; version: string };
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
}

export interface Operation {
  id: string; method: string; path: string; tag: string; summary: string; description: string;
  parameters: Parameter[];
  /** bodies are the forms in which it takes a body, by media type; empty: it takes none. */
  bodies: [media: string, content: Content][];
  responses: [status: string, response: Response][];
  /** permissions are those that a caller needs. */
  permissions: string[];
  /** accepts are the media types of its answers. */
  accepts: string[];
}

export const events = "text/event-stream";
export const json = "application/json";

/** operations are those of the document, in the order of its tags. */
export function operations(of: Document): Operation[] {
  const order = new Map(of.tags.map((t, i) => [t.name, i]));
  const all: Operation[] = [];
  for (const [path, methods] of Object.entries(of.paths)) {
    for (const [method, o] of Object.entries(methods)) {
      const responses = Object.entries(o.responses).map(([status, r]): [string, Response] => [status, response(of, r)]);
      all.push({
        id: o.operationId, method: method.toUpperCase(), path, tag: o.tags?.[0] ?? "", summary: o.summary ?? "", description: o.description ?? "",
        parameters: o.parameters ?? [], bodies: Object.entries(o.requestBody?.content ?? {}), responses,
        permissions: [...new Set((o.security ?? []).flatMap((s) => Object.values(s).flat()))],
        accepts: [...new Set(responses.filter(([s]) => s[0] === "2").flatMap(([, r]) => Object.keys(r.content ?? {})))],
      });
    }
  }
  const rank = (o: Operation) => order.get(o.tag) ?? order.size;
  return all.sort((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path) || a.method.localeCompare(b.method));
}

const response = (of: Document, r: Response): Response => (r.$ref ? of.components.responses[r.$ref.split("/").pop()!] ?? r : r);

/** group is what people call a tag. */
export const group = (tag: string) => (tag.replace(/Service$/, "").replace(/(?<=[a-z])(?=[A-Z])/g, " ") || "Other").replace(/ [A-Z](?=[a-z])/g, (c) => c.toLowerCase());

/** found are the operations that have all words of a text. */
export function found(all: Operation[], text: string): Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return all;
  return all.filter((o) => {
    const own = `${o.method} ${o.path} ${o.id} ${o.tag} ${o.summary}`.toLowerCase();
    return words.every((w) => own.includes(w));
  });
}

/** named is the name of the schema to which one refers, "" if it is its own. */
export const named = (of: Schema) => of.$ref?.split("/").pop() ?? "";

/** resolved is a schema without a reference, and without the null that only says that it can be left out. */
export function resolved(of: Document, s: Schema): Schema {
  for (let depth = 0; depth < 8; depth++) {
    const rest = s.anyOf?.filter((a) => a.type !== "null");
    if (rest?.length === 1) s = { ...s, anyOf: undefined, ...rest[0], description: s.description };
    else if (s.$ref) {
      const target = of.components.schemas[named(s)];
      if (!target) return s;
      s = { ...target, description: s.description ?? target.description };
    } else break;
  }
  return s;
}

/** inlined is a schema with what it refers to, for SchemaForm: some levels deep, below which it is JSON. */
export function inlined(of: Document, s: Schema, levels = 3): Schema {
  const own = resolved(of, s);
  const out: Schema = { ...own };
  delete out.$ref;
  if (own.properties) {
    if (levels === 0) return { description: own.description };
    out.properties = Object.fromEntries(Object.entries(own.properties)
      .filter(([, p]) => !(p as { readOnly?: boolean }).readOnly)
      .map(([name, p]) => [name, inlined(of, p, levels - 1)]));
  }
  if (own.items) out.items = inlined(of, own.items, levels - 1 < 0 ? 0 : levels - 1);
  return out;
}

/** typeName is the type of a schema in words. */
export function typeName(of: Document, s: Schema): string {
  const name = named(s) || named(s.anyOf?.find((a) => a.$ref) ?? {});
  const own = resolved(of, s);
  if (own.enum) return "enum";
  if (own.type === "array" && own.items) return `list of ${typeName(of, own.items)}`;
  if (own.properties && name) return name;
  const types = (Array.isArray(own.type) ? own.type : [own.type ?? "any"]).filter((t) => t !== "null").join(" or ");
  const values = own.additionalProperties;
  if (types === "object" && values && typeof values === "object") return `map of ${typeName(of, values as Schema)}`;
  return own.format && own.format !== "int32" && own.format !== "double" ? `${types} (${own.format})` : types;
}

/** inner is the schema whose fields a field has: its own, or those of the items of a list or the values of a map. Null if it has none. */
export function inner(of: Document, s: Schema): Schema | null {
  const own = resolved(of, s);
  if (own.properties) return own;
  if (own.items) return inner(of, own.items);
  const values = own.additionalProperties;
  return values && typeof values === "object" ? inner(of, values as Schema) : null;
}

/** choices are the values of an enum, as the API takes and gives them. */
export const choices = (of: Document, s: Schema): unknown[] => {
  const own = resolved(of, s);
  return own.enum ?? (own.items ? choices(of, own.items) : []);
};
