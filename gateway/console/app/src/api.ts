// The public REST API, as far as the pages use it.
import { parse, pretty } from "./json";

/** Failed is a problem that the server answered (RFC 9457). */
export class Failed extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: {} };
  if (body !== undefined) {
    init.headers = { "Content-Type": "application/json" };
    init.body = pretty(body); // with numbers as they were read
  }
  const r = await fetch(path, init);
  const json = await r.text().then(parse).catch(() => ({}));
  if (!r.ok) throw new Failed(r.status, json.code ?? "", [json.detail || r.statusText, json.todo].filter(Boolean).join(". "));
  return json as T;
}

export const get = <T>(path: string) => call<T>("GET", path);
export const post = <T>(path: string, body: unknown = {}) => call<T>("POST", path, body);
export const part = encodeURIComponent;

export interface Agent { id: string; display_name: string; description: string }
export interface Me { tenant: string; subject: string; roles: string[] }
export interface Session { id: string; agent_id: string; title: string; active_turn_id: string; update_time: string; parent_turn_id: string }
export interface Turn { id: string; session_id: string; status: string; pending: { detail: string; action: string } | null }
export interface Approval {
  id: string; kind: string; status: string; session_id: string; turn_id: string; call_id: string; agent_id: string; tool: string;
  arguments: unknown; arguments_json: string; arguments_hash: string; definition_hash: string; effect: string | null; rule: string; message: string;
  authorization: Authorization | null; schema: Schema | null; approver_roles: string[]; quorum: number; decisions: { subject: string; approve: boolean; comment: string }[];
  create_time: string; expire_time: string | null;
}
/** Authorization is what a user has to do before a call can be made for them: log in, or connect the source. */
export interface Authorization { source: string; kind: string; connect_url: string }
export interface Schema { type?: string; properties?: Record<string, Schema>; required?: string[]; enum?: unknown[]; title?: string; description?: string }
export interface Ready {
  status: string; checks: Record<string, string>; causes?: Record<string, { cause: string; action?: string }>;
}
