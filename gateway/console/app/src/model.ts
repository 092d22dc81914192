// What the pages of lists and administration read from the API, as far as they use it. Counts of 64 bits are text there.
import type { Known } from "./api";
import type * as schema from "./schema";

export type { Agent as AgentRow, Session as SessionRow, Turn as TurnRow } from "./api";
export type Usage = schema.Usage;
export type ToolRow = Known<schema.Tool, "effect" | "update_time">;
export type ToolStats = schema.ToolUsage;
export type Selector = Required<schema.ToolSelector>;
export type Group = Omit<Known<schema.ToolGroup, "update_time">, "selectors"> & { selectors: Selector[] };
export type Execution = Known<schema.Execution, "effect" | "state" | "create_time">;
export type SourceRow = Known<schema.Source, "state" | "update_time">;
export type Drifted = schema.DriftedTool;
export type Matcher = Known<schema.ClaimMatcher, "operator">;
export type Policy = Omit<Known<schema.AccessPolicy, "effect" | "update_time">, "matchers"> & { matchers: Matcher[] };
export type Decision = Known<schema.Decision, "kind" | "create_time">;
export type Explained = Omit<schema.ExplainAccessResponse, "explained"> & {
  explained: (Omit<schema.ExplainedPolicy, "matchers"> & { matchers: Known<schema.ExplainedMatcher, "operator">[] })[];
};
export type Cell = Known<schema.AccessCell, "decision">;
export type AuditRecord = Known<schema.AuditRecord, "outcome" | "time">;
export type UsageRow = schema.UsageRow;
export type Budget = Required<schema.Budget>;
export type BudgetNode = { budget: Budget; children: BudgetNode[] };
export type Bank = Known<schema.Bank, "update_time">;
export type Document = Known<schema.Document, "state" | "update_time">;
export type Fact = Known<schema.Fact, "state" | "trust" | "create_time">;
export type Webhook = Known<schema.Webhook, "create_time">;
export type Delivery = Known<schema.WebhookDelivery, "status" | "create_time">;
export type Schedule = Required<schema.Schedule>;
export type CloudEvent = schema.CloudEvent;

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
