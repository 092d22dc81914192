// The public REST API, as far as the pages use it.
import type * as schema from "./schema";
import { parse, pretty } from "./json";

/** Failed is a problem that the server answered (RFC 9457), or, with status 0, that it did not answer. */
export class Failed extends Error {
  constructor(
    readonly status: number, readonly code: string, message: string,
    /** todo says what to do about it, id is the request's, permission the one that is missing, and fields say what is wrong where. */
    readonly todo = "", readonly id = "", readonly permission = "", readonly fields: { field: string; message: string }[] = [],
  ) {
    super(message);
  }
}

/** asFailed is what was thrown as a problem: other errors are those of an answer that cannot be read. */
export const asFailed = (e: unknown) => (e instanceof Failed ? e : new Failed(0, "", (e as Error).message));

/** failure reads the problem of a response. */
export async function failure(r: Response): Promise<Failed> {
  const json = await r.text().then(parse).catch(() => ({}));
  const detail = json.detail || json.title || r.statusText || `The server answered ${r.status}`;
  const permission = json.details?.permission ?? json.permission ?? /permission "([^"]+)"/.exec(detail)?.[1] ?? "";
  return new Failed(r.status, json.code ?? "", detail, json.todo ?? "", json.request_id ?? r.headers.get("X-Request-Id") ?? "",
    r.status === 403 ? permission : "", json.fields ?? []);
}

/** reach is fetch, whose own errors are Failed as well. */
export async function reach(path: string, init?: RequestInit): Promise<Response> {
  let r: Response;
  try {
    r = await fetch(path, init);
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new Failed(0, "unreachable", "The server does not answer.", "Check that it runs; this page tries again by itself.");
  }
  if (!r.ok) throw await failure(r);
  return r;
}

export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<T> {
  const init: RequestInit = { method, headers, signal };
  if (body !== undefined) {
    init.headers = { "Content-Type": "application/json", ...headers };
    init.body = pretty(body); // with numbers as they were read
  }
  const text = await (await reach(path, init)).text();
  return (text ? parse(text) : {}) as T;
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown = {}) => call<T>("POST", path, body);
export const patch = <T>(path: string, body: unknown) => call<T>("PATCH", path, body);
export const remove = <T>(path: string) => call<T>("DELETE", path);
export const part = encodeURIComponent;

/** query makes the query of a URL from what is not empty, with its question mark. */
export function query(of: Record<string, string | number | boolean | null | undefined>): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(of)) if (v !== "" && v != null && v !== false) q.set(k, String(v));
  const text = q.toString();
  return text && `?${text}`;
}

/** Known is a message of a response: each field is there, and those named are set. */
export type Known<T, Set extends keyof T = never> = Omit<Required<T>, Set> & { [F in Set]-?: NonNullable<T[F]> };

export type Agent = Known<schema.Agent, "create_time" | "update_time">;
export type Me = Partial<schema.Caller> & Pick<schema.Caller, "tenant" | "subject" | "roles">;
export type Session = Known<schema.Session, "create_time" | "update_time">;
export type Turn = Known<schema.Turn, "status" | "create_time">;
export type Approval = Omit<Known<schema.Approval, "kind" | "status" | "create_time">, "authorization"> & { authorization: Authorization | null; verdict?: string };
/** Authorization is what a user has to do before a call can be made for them: log in, or connect the source. */
export type Authorization = Known<schema.Authorization, "kind">;
export interface Schema {
  type?: string | string[]; properties?: Record<string, Schema>; required?: string[]; enum?: unknown[]; title?: string; description?: string;
  items?: Schema; default?: unknown; format?: string; maxLength?: number; anyOf?: Schema[]; oneOf?: Schema[]; allOf?: Schema[]; $ref?: string; const?: unknown;
  additionalProperties?: unknown;
}
export interface Ready {
  status: string; checks: Record<string, string>; causes?: Record<string, { cause: string; action?: string }>;
}
