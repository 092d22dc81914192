// How much of the limits of a turn is used: reserved is what steps in progress may still use.
import { part } from "../api";
import { money } from "../format";
import type { Timeline } from "../timeline";
import { can, useLoad } from "../ui";
import type { TurnDetail } from "./standing";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // of the API

/** Line is one limit: its use and what is reserved, in the unit of the limit. */
export interface Line { id: string; name: string; what: string; used: number; reserved: number; limit: number; href: string }

const micros = (decimal: unknown) => Math.round(Number(decimal || 0) * 1e6);

/** ofBudget are the limits of a budget. */
export function ofBudget(b: Any): Line[] {
  const name = b.scope === "tenant" ? "tenant" : `${b.scope} ${b.target}`;
  const period = b.period && b.period !== "none" ? ` a ${b.period}` : "";
  const line = (what: string, limit: number, used: number, reserved: number): Line[] => (limit > 0
    ? [{ id: `${b.id}:${what}`, name, what: what + period, used, reserved, limit, href: `/usage?tab=budgets&budget=${part(b.id)}` }] : []);
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

export function Budgets({ t, turn, active }: { t: Timeline; version: number; turn: TurnDetail; active: boolean }) {
  const agent = useLoad<Any>(can("sessions.agents.get") ? `/v1/agents/${part(turn.agent_id)}` : null);
  const budgets = useLoad<{ budgets: Any[] }>(can("sessions.budgets.list") ? "/v1/budgets?page_size=200" : null, active ? 1500 : 0);
  const lines = [...ofTurn(turn.limits, agent.data?.limits, t), ...(budgets.data?.budgets ?? []).filter((b) => applies(b, turn)).flatMap(ofBudget)];
  if (!lines.length) return null;
  return (
    <section class="tl-budgets" aria-label="Limits and budgets">
      {lines.map((l) => <BudgetLine key={l.id + l.name} of={l} />)}
    </section>
  );
}

const shown = (l: Line, n: number) => (l.what.startsWith("cost") ? money(n) || "$0" : n.toLocaleString("en"));

/** BudgetLine fills as it is used; what is reserved is drawn apart. */
export function BudgetLine({ of: l }: { of: Line }) {
  const percent = (n: number) => Math.min(100, (100 * n) / l.limit);
  const text = `${shown(l, l.used)}${l.reserved ? ` + ${shown(l, l.reserved)} reserved` : ""} of ${shown(l, l.limit)}`;
  const full = l.used + l.reserved >= l.limit;
  return (
    <div class={`tl-budget${full ? " full" : percent(l.used) >= 80 ? " near" : ""}`}>
      <span class="tl-budget-name">{l.href ? <a href={l.href}>{l.name}</a> : l.name} <span class="dim">{l.what}</span></span>
      <span class="tl-budget-bar" role="img" aria-label={`${l.what} of ${l.name}: ${text}`}>
        <span class="used" style={{ width: `${percent(l.used)}%` }} /><span class="reserved" style={{ width: `${Math.min(100 - percent(l.used), percent(l.reserved))}%` }} />
      </span>
      <span class="tl-budget-text figure">{text}</span>
    </div>
  );
}
