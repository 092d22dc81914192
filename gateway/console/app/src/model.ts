// What the pages of lists and administration read from the API, as far as they use it. Counts of 64 bits are text there.
import type { Turn } from "./api";

export interface Usage { input_tokens: number; output_tokens: number; cost_micros: string; model_calls: number; tool_calls: number }
export interface TurnRow extends Omit<Turn, "input_text" | "waiting_for"> {
  input: string; usage: Usage | null; model: string; subject: string; blueprint_revision: number; start_time: string | null; end_time: string | null;
  parent_turn_id: string; stop_reason: string; waiting_for: string[]; tools_used: string[];
}
export interface SessionRow {
  id: string; agent_id: string; title: string; subject: string; active_turn_id: string; create_time: string; update_time: string;
  parent_session_id: string; labels: Record<string, string>; pinned?: boolean; archived?: boolean; status?: string; last_seq: number;
}
export interface AgentRow {
  id: string; display_name: string; description: string; instructions: string; model: string; tools: string[]; agents: string[]; banks: string[];
  shields: string[]; memory: string; on_unknown_outcome: string; revision: number; create_time: string; update_time: string; [field: string]: unknown;
}
export interface ToolRow {
  name: string; source: string; original_name: string; title: string; description: string; input_schema_json: string; output_schema_json: string;
  effect: string; definition_hash: string; available: boolean; drifted: boolean; tags: string[]; deprecated: boolean; agent_id: string; update_time: string;
}
export interface ToolStats {
  tool: string; source: string; calls: string; errors: string; error_rate: number; cache_hits: string; mean_latency_ms: number; p95_latency_ms: number;
}
interface Selector { source: string; name: string; effects: string[]; labels: Record<string, string>; tags: string[] }
export interface Group { name: string; description: string; selectors: Selector[]; tools: string[]; exclude: string[]; members: string[]; update_time: string }
export interface Execution {
  id: string; tool: string; source: string; turn_id: string; call_id: string; session_id: string; subject: string; effect: string; state: string;
  attempts: number; is_error: boolean; code: string; latency_ms: number; create_time: string; end_time: string | null; cache: string | null; input: string;
  output: string; approval_id: string;
}
export interface SourceRow {
  id: string; name: string; kind: string; url: string; command: string[]; disabled: boolean; pin: boolean; state: string; last_error: string;
  sync_time: string | null; tool_count: number; server_version: string; breaker: string; drifted_count: number; warnings: string[]; revision: number;
  auth: { kind: string } | null; agents: string[]; update_time: string; [field: string]: unknown;
}
export interface Drifted { name: string; accepted_definition_hash: string; definition_hash: string; diff: string }
export interface Matcher { path: string; operator: string; values: string[] }
export interface Policy {
  name: string; description: string; priority: number; disabled: boolean; matchers: Matcher[]; expression: string; tool_groups: string[]; tools: string[];
  permissions: string[]; effect: string; revision: number; update_time: string;
}
export interface Decision {
  id: string; create_time: string; subject: string; kind: string; resource: string; allowed: boolean; reason: string; rule: string; turn_id: string;
  call_id: string; policies: string[]; policy_revision: string; needed_groups: string[]; arguments_hash: string;
}
export interface Explained {
  allowed: boolean; reason: string; rule: string; policies: string[]; policy_revision: string; decision?: string; approval_rule?: string;
  explained: {
    name: string; effect: string; matches: boolean; covers: boolean; grant: string; message: string;
    matchers: { path: string; operator: string; values: string[]; matches: boolean; message: string }[];
  }[];
}
export interface Cell { subject: string; tool: string; decision: string; rule: string }
export interface AuditRecord {
  id: string; seq: string; time: string; subject: string; actor: string; action: string; resource: string; outcome: string; reason: string; turn_id: string;
  request_id: string;
}
export interface UsageRow {
  key: string; time: string | null; turns: string; input_tokens: string; output_tokens: string; cost_micros: string; tool_calls: string; failed: string;
}
export interface Budget {
  id: string; scope: string; target: string; period: string; max_tokens: string; max_cost: string; max_tool_calls: string; warn_at: number;
  used_tokens: string; used_cost: string; used_tool_calls: string; reserved_tokens: string; reserved_cost: string; reserved_tool_calls: string;
  period_start: string | null;
}
export interface BudgetNode { budget: Budget; children: BudgetNode[] }
export interface Bank {
  id: string; display_name: string; description: string; documents: string; chunks: string; mode: string; subject: string; update_time: string;
}
export interface Document {
  id: string; bank_id: string; name: string; media_type: string; size: string; state: string; problem: string; version: string; latest_version: string;
  chunks: number; title: string; labels: string[]; update_time: string;
}
export interface Passage {
  bank_id: string; document_id: string; document_name: string; version: string; start: string; end: string; text: string; heading: string[]; page: number; score: number;
}
export interface Fact {
  id: string; text: string; entity: string; attribute: string; value: string; agent_id: string; state: string; trust: string; create_time: string;
  source: { session_id: string; turn_id: string } | null;
}
export interface Webhook {
  id: string; url: string; events: string[]; agent_id: string; description: string; disabled: boolean; last_error: string; create_time: string; secret?: string;
}
export interface Delivery {
  id: string; turn_id: string; type: string; status: string; attempts: number; response_code: number; error: string; create_time: string; next_attempt_time: string | null;
}
export interface Schedule {
  id: string; display_name: string; agent_id: string; input: string; cron: string; interval: string; time_zone: string; paused: boolean; last_turn_id: string;
  last_fire_time: string | null; next: string[]; last_error: string;
}
export interface CloudEvent { id: string; source: string; type: string; subject: string; time: string; data: unknown; cursor: string }

/** number reads a count, which the API writes as text when it has 64 bits. */
export const number = (of: string | number | null | undefined) => Number(of ?? 0) || 0;

/** tokens is how many tokens a turn has read and written. */
export const tokens = (u: Usage | null | undefined) => (u ? u.input_tokens + u.output_tokens : 0);

/** millis is how long something has lasted, or lasts by now. */
export const millis = (from: string | null, to: string | null, now = Date.now()) => (from ? (to ? Date.parse(to) : now) - Date.parse(from) : null);

const ended = new Set(["completed", "failed", "cancelled"]);
export const isOver = (status: string) => ended.has(status);

/** globbed tells whether a name is one of those that globs name: * stands for any characters. */
export function globbed(name: string, globs: string[]): boolean {
  return globs.some((g) => new RegExp(`^${g.split("*").map((p) => p.replace(/[\\^$.|?+()[\]{}]/g, "\\$&")).join(".*")}$`).test(name));
}

/** nested puts each thing behind the one it belongs to, and says how deep it is. Things whose parent is not there are on top. */
export function nested<T>(rows: T[], id: (r: T) => string, parent: (r: T) => string): { row: T; depth: number }[] {
  const ids = new Set(rows.map(id));
  const children = new Map<string, T[]>();
  const top: T[] = [];
  for (const r of rows) {
    const p = parent(r);
    if (!p || !ids.has(p) || p === id(r)) top.push(r);
    else children.set(p, [...(children.get(p) ?? []), r]);
  }
  const out: { row: T; depth: number }[] = [];
  const seen = new Set<string>();
  const add = (r: T, depth: number) => {
    if (seen.has(id(r))) return; // what belongs to itself is shown once
    seen.add(id(r));
    out.push({ row: r, depth });
    for (const c of children.get(id(r)) ?? []) add(c, depth + 1);
  };
  for (const r of top) add(r, 0);
  for (const r of rows) add(r, 0);
  return out;
}
