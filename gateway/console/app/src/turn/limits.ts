// How much of the limits of a turn is used, and of the budgets that apply to it.
import { micros } from "../format";
import type { Timeline } from "../timeline";
import type { TurnDetail } from "./standing";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // of the API

/** Line is one limit: its use and what is reserved, in the unit of the limit. */
export interface Line { id: string; name: string; what: string; used: number; reserved: number; limit: number; href: string }

/** ofBudget are the limits of a budget. */
export function ofBudget(b: Any): Line[] {
  const name = b.scope === "tenant" ? "tenant" : `${b.scope} ${b.target}`;
  const period = b.period && b.period !== "none" ? ` a ${b.period}` : "";
  const line = (what: string, limit: number, used: number, reserved: number): Line[] => (limit > 0
    ? [{ id: `${b.id}:${what}`, name, what: what + period, used, reserved, limit, href: `/usage?tab=budgets&budget=${encodeURIComponent(b.id)}` }] : []);
  return [
    ...line("tokens", Number(b.max_tokens), Number(b.used_tokens), Number(b.reserved_tokens)),
    ...line("cost", micros(b.max_cost), micros(b.used_cost), micros(b.reserved_cost)),
    ...line("tool calls", Number(b.max_tool_calls), Number(b.used_tool_calls), Number(b.reserved_tool_calls)),
  ];
}

/** applies tells whether a budget limits a turn. */
export const applies = (b: Any, turn: Pick<TurnDetail, "subject" | "session_id" | "agent_id">) => b.scope === "tenant"
  || b.scope === "subject" && b.target === turn.subject || b.scope === "session" && b.target === turn.session_id || b.scope === "agent" && b.target === turn.agent_id;

/** ofTurn are the limits of the turn itself: those of its request, else those of its agent. */
export function ofTurn(limits: Any, agent: Any, t: Timeline): Line[] {
  const u = t.usage ?? {};
  const pick = (name: string) => Number(limits?.[name]) || Number(agent?.[name]) || 0;
  const reserved = (what: string) => (t.ended ? 0 : t.limits.get(`${t.turn}:${what}`)?.reserved ?? 0);
  const line = (what: string, label: string, limit: number, used: number): Line[] => (limit > 0 ? [{ id: what, name: "this turn", what: label, used, reserved: reserved(what), limit, href: "" }] : []);
  const cost = micros(limits?.max_cost) || micros(agent?.max_cost);
  const steps = [...t.rows.values()].filter((r) => r.model && r.to).length;
  return [
    ...line("steps", "model steps", pick("max_steps"), steps), ...line("tokens", "tokens", pick("max_tokens"), (u.input_tokens ?? 0) + (u.output_tokens ?? 0)),
    ...line("cost", "cost", cost, Number(u.cost_micros ?? 0)), ...line("tool_calls", "tool calls", pick("max_tool_calls"), u.tool_calls ?? 0),
  ];
}
