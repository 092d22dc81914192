// How much of the limits of a turn is used: reserved is what steps in progress may still use.
import { part } from "../api";
import { money } from "../format";
import type { Timeline } from "../timeline";
import { can, useLoad } from "../ui";
import { applies, ofBudget, ofTurn, type Line } from "./limits";
import type { TurnDetail } from "./standing";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // of the API

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
