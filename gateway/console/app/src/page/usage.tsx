// Usage: what turns have used over time and for whom, budgets, quotas, and models with their health.
import { useSignal } from "@preact/signals";
import { patch, post, query, remove, type Known } from "../api";
import { slots, type Bar } from "../bars";
import { count, micros, money } from "../format";
import { number, type Budget, type BudgetNode, type UsageRow } from "../model";
import { setParams, type PageProps } from "../route";
import { agents, models } from "../store";
import {
  can, Confirm, confirmed, failed, Field, Filters, Loading, Money, Page, Problem, Status, Table, Tabs, toast, Tree, useLoad, usePages, useTime, When, type Branch, type Column,
} from "../ui";
import { Chart, Meter } from "../view/bars";
import type * as schema from "../schema";

const apis: Record<string, string> = { budgets: "/v1/budgets", quotas: "/v1/quotas", models: "/v1/models" };

export default function UsagePage({ params }: PageProps) {
  const tab = params.get("tab") ?? "time";
  return (
    <Page title="Usage" wide api={apis[tab] ?? `/v1/usage?group_by=${groups[tab] ?? "day"}`}>
      <Tabs at={tab} of={[["time", "Over time"], ["agents", "By agent"], ["models", "By model"], ["users", "By user"], ["tools", "By tool"], ["budgets", "Budgets"], ["quotas", "Quotas"], ["health", "Models"]]} />
      {tab === "budgets" ? <Budgets /> : tab === "quotas" ? <Quotas /> : tab === "health" ? <Models /> : <Used tab={tab} params={params} />}
    </Page>
  );
}

const groups: Record<string, string> = { time: "day", agents: "agent", models: "model", users: "user", tools: "tool" };
const nouns: Record<string, string> = { time: "Day (UTC)", hour: "Hour (UTC)", agents: "Agent", models: "Model", users: "User", tools: "Tool" };

type Metric = "cost_micros" | "tokens" | "turns" | "failed" | "tool_calls";
const metrics: [Metric, string][] = [["cost_micros", "cost"], ["tokens", "tokens"], ["turns", "turns"], ["failed", "failures"], ["tool_calls", "tool calls"]];

/** chartTitle says in words what a chart shows. */
function chartTitle(metric: Metric, tab: string): string {
  const what = metrics.find(([m]) => m === metric)?.[1] ?? "";
  return `${what.slice(0, 1).toUpperCase()}${what.slice(1)} ${tab === "time" ? "over time" : `by ${(nouns[tab] ?? "").toLowerCase()}`}`;
}

const valueOf = (r: UsageRow, m: Metric) => (m === "tokens" ? number(r.input_tokens) + number(r.output_tokens) : number(r[m]));

function formatOf(m: Metric) {
  return m === "cost_micros" ? (n: number) => money(n) || "$0" : (n: number) => (n >= 1e6 ? `${+(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${+(n / 1e3).toFixed(1)} k` : String(+n.toFixed(1)));
}

function Used({ tab, params }: { tab: string; params: URLSearchParams }) {
  const since = params.get("since") || "7d";
  const hourly = tab === "time" && (since === "1h" || since === "24h");
  const from = useTime(since);
  const path = `/v1/usage${query({ group_by: hourly ? "hour" : groups[tab], since: from })}`;
  const { data, problem } = useLoad<{ rows: UsageRow[]; truncated?: boolean; own_only?: boolean }>(path, 15_000);
  const costs = (data?.rows ?? []).some((r) => number(r.cost_micros) > 0);
  const metric = (params.get("metric") as Metric | null) ?? (costs ? "cost_micros" : "tokens");
  const format = formatOf(metric);
  const rows = data && (tab === "time" ? overTime(data.rows, from, hourly) : [...data.rows].sort((a, b) => valueOf(b, metric) - valueOf(a, metric)));
  const name = (r: UsageRow) => r.key || "(none)";
  const bars: Bar[] = (rows ?? []).slice(0, tab === "time" ? 800 : 20).map((r) => ({
    key: r.key, name: tab === "time" ? (hourly ? `${r.key.slice(11, 13)} h` : r.key.slice(5)) : name(r).slice(0, 12), value: valueOf(r, metric), title: `${name(r)}: ${format(valueOf(r, metric))}`,
  }));
  const columns: Column<UsageRow>[] = [
    { name: hourly ? nouns.hour! : nouns[tab] ?? "Key", cell: (r) => <KeyOf tab={tab} of={r.key} /> },
    { name: "Turns", cell: (r) => <span class="figure">{number(r.turns).toLocaleString()}</span> },
    { name: "Failed", cell: (r) => <Failures of={r} tab={tab} /> },
    { name: "Read", cell: (r) => <span class="figure">{number(r.input_tokens).toLocaleString()}</span>, narrow: "hide" },
    { name: "Written", cell: (r) => <span class="figure">{number(r.output_tokens).toLocaleString()}</span>, narrow: "hide" },
    { name: "Tool calls", cell: (r) => <span class="figure">{number(r.tool_calls).toLocaleString()}</span> },
    { name: "Cost", cell: (r) => <Money micros={r.cost_micros} /> },
  ];
  const total = (data?.rows ?? []).reduce((sum, r) => sum + number(r.cost_micros), 0);
  const turns = (data?.rows ?? []).reduce((sum, r) => sum + number(r.turns), 0);
  return (
    <>
      <Filters of={[{ key: "since", name: "Time", kind: "choice", choices: [["", "last 7 days"], ["1h", "last hour"], ["24h", "last 24 hours"], ["30d", "last 30 days"], ["90d", "last 90 days"]] }, { key: "metric", name: "Bars", kind: "choice", choices: [["", "most telling"], ...metrics] }]} />
      {problem && <Problem of={problem} />}
      {!rows && !problem && <Loading />}
      {data && <p class="dim" role="status">{tab !== "tools" && <>{count(turns, "turn")}, {money(total) || "$0"}. </>}{data.own_only && "These are your own turns. "}{data.truncated && "There is more than is shown."}</p>}
      {bars.some((b) => b.value > 0) && <Chart label={chartTitle(metric, tab)} of={bars} format={format} />}
      {rows && <Table<UsageRow> label={`Usage by ${(hourly ? "hour" : groups[tab]) ?? ""}`} rows={tab === "time" ? [...rows].reverse() : rows} id={(r) => r.key} columns={columns} empty="Nothing was used in this time." />}
    </>
  );
}

/** overTime has a row for each day or hour, also for those without turns. */
function overTime(rows: UsageRow[], from: string, hourly: boolean): UsageRow[] {
  const of = new Map(rows.map((r) => [(r.time ?? r.key).slice(0, hourly ? 13 : 10), r]));
  return slots(Date.parse(from), Date.now(), hourly ? "hour" : "day").map((key) => ({
    ...(of.get(key) ?? { time: null, turns: "0", model_calls: "0", input_tokens: "0", output_tokens: "0", cost_micros: "0", tool_calls: "0", failed: "0" }), key,
  }));
}

function KeyOf({ tab, of }: { tab: string; of: string }) {
  if (tab === "time") {
    const today = new Date().toISOString().slice(0, 10);
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    return <span class="whole">{of.replace("T", " ")}{of.length > 10 ? ":00" : of === today ? " (today)" : of === yesterday ? " (yesterday)" : ""}</span>;
  }
  const at = tab === "agents" ? `/agents/${of}` : tab === "tools" ? `/tools/${of}` : "";
  return at && of ? <a href={at}>{of}</a> : <>{of || <span class="dim">(none)</span>}</>;
}

function Failures({ of: r, tab }: { of: UsageRow; tab: string }) {
  const n = number(r.failed);
  if (!n) return <span class="dim">–</span>;
  const total = tab === "tools" ? number(r.tool_calls) : number(r.turns);
  const text = `${n}${total ? ` (${Math.round((100 * n) / total)} %)` : ""}`;
  return tab === "agents" ? <a class="bad-text figure" href={`/turns?agent_id=${r.key}&status=failed`}>{text}</a> : <span class="bad-text figure">{text}</span>;
}

const plainly = (n: number) => n.toLocaleString();

/** uses are the limits of a budget with what is used and reserved of them. */
function uses(b: Budget) {
  return [
    { label: "Tokens", used: number(b.used_tokens), reserved: number(b.reserved_tokens), max: number(b.max_tokens), format: plainly },
    { label: "Cost", used: micros(b.used_cost), reserved: micros(b.reserved_cost), max: micros(b.max_cost), format: (n: number) => money(n) || "$0" },
    { label: "Tool calls", used: number(b.used_tool_calls), reserved: number(b.reserved_tool_calls), max: number(b.max_tool_calls), format: plainly },
  ].filter((u) => u.max > 0);
}

function Budgets() {
  const { data: tree, problem, reload } = useLoad<{ roots: BudgetNode[] }>("/v1/budgets:tree", 2000);
  const edited = useSignal<Budget | "new" | null>(null);
  const roots = tree?.roots;
  const branch = (n: BudgetNode): Branch => ({ id: n.budget.id, head: <BudgetLine of={n.budget} onEdit={() => { edited.value = n.budget; }} done={reload} />, children: n.children.map(branch) });
  return (
    <>
      <p class="flow"><span class="dim grow">What running turns may still use is reserved before they use it: <span class="key used" /> used, <span class="key reserved" /> reserved. A turn counts on every budget above it.</span>
        {can("sessions.budgets.create") && <button type="button" onClick={() => { edited.value = "new"; }}>New budget</button>}</p>
      {problem && <Problem of={problem} />}
      {!roots && !problem && <Loading />}
      {roots && (roots.length ? <div class="panel"><Tree label="Budgets" of={roots.map(branch)} /></div> : <p class="nothing">There is no budget. Turns are limited by their agents and by quotas.</p>)}
      {edited.value && <EditBudget of={edited.value === "new" ? null : edited.value} onClose={() => { edited.value = null; reload(); }} />}
    </>
  );
}

function BudgetLine({ of: b, onEdit, done }: { of: Budget; onEdit: () => void; done: () => void }) {
  const drop = async () => {
    if (await confirmed("Delete the budget?", "What it limited is not limited by it any more.", "Delete", true)) remove(`/v1/budgets/${b.id}`).then(done, failed);
  };
  const title = { tenant: "Whole tenant", agent: `Agent ${b.target}`, subject: `User ${b.target}`, session: `Conversation ${b.target}`, "": b.target }[b.scope];
  return (
    <span class="budget">
      <span class="flow"><b>{title}</b> <span class="dim">{!b.period || b.period === "none" ? "for good" : `per ${b.period}`}{b.period_start && <>, began <When at={b.period_start} /></>}, warns at {b.warn_at} %</span>
        {can("sessions.budgets.update") && <button type="button" class="quiet small" onClick={(e) => { e.preventDefault(); onEdit(); }}>Edit</button>}
        {can("sessions.budgets.delete") && <button type="button" class="quiet small" onClick={(e) => { e.preventDefault(); void drop(); }}>Delete</button>}</span>
      {uses(b).map((u) => <Meter key={u.label} {...u} />)}
    </span>
  );
}

const scopes = [["tenant", "Whole tenant"], ["agent", "Agent"], ["subject", "User"]] as const;
const periods = ["day", "month", "none"] as const;

function EditBudget({ of, onClose }: { of: Budget | null; onClose: () => void }) {
  const b = useSignal({ scope: of?.scope ?? "tenant", target: of?.target ?? "", period: of?.period ?? "day", max_tokens: of?.max_tokens ?? "", max_cost: of?.max_cost ?? "", max_tool_calls: of?.max_tool_calls ?? "" });
  const set = (change: Partial<typeof b.value>) => { b.value = { ...b.value, ...change }; };
  const save = async () => {
    const limits = { max_tokens: b.value.max_tokens || "0", max_cost: b.value.max_cost, max_tool_calls: b.value.max_tool_calls || "0" };
    await (of ? patch(`/v1/budgets/${of.id}`, limits) : post("/v1/budgets", { ...limits, scope: b.value.scope, target: b.value.target, period: b.value.period }));
    toast("ok", "The budget was saved.");
    onClose();
  };
  return (
    <Confirm title={of ? "Edit a budget" : "New budget"} action="Save" onYes={save} onNo={onClose}>
      {!of && <>
        <Field label="Of"><select onChange={(e) => set({ scope: scopes[e.currentTarget.selectedIndex]?.[0] })}>{scopes.map(([s, name]) => <option key={s} value={s}>{name}</option>)}</select></Field>
        {b.value.scope !== "tenant" && <Field label={b.value.scope === "agent" ? "Agent" : "User"}><input required list="budget-targets" value={b.value.target} onInput={(e) => set({ target: e.currentTarget.value })} />
          <datalist id="budget-targets">{b.value.scope === "agent" && agents.value?.map((a) => <option key={a.id} value={a.id} />)}</datalist></Field>}
        <Field label="Per"><select onChange={(e) => set({ period: periods[e.currentTarget.selectedIndex] })}>{periods.map((p) => <option key={p}>{p}</option>)}</select></Field>
      </>}
      <Field label="Tokens" hint="Empty or 0: no limit."><input inputMode="numeric" pattern="[0-9]*" value={b.value.max_tokens} onInput={(e) => set({ max_tokens: e.currentTarget.value })} /></Field>
      <Field label="Cost in US dollars" hint="Empty: no limit."><input inputMode="decimal" value={b.value.max_cost} onInput={(e) => set({ max_cost: e.currentTarget.value })} /></Field>
      <Field label="Tool calls" hint="Empty or 0: no limit."><input inputMode="numeric" pattern="[0-9]*" value={b.value.max_tool_calls} onInput={(e) => set({ max_tool_calls: e.currentTarget.value })} /></Field>
    </Confirm>
  );
}

type Quota = schema.Quota;
type QuotaUse = schema.QuotaUse;

const limits = ["requests_per_minute", "concurrent_turns", "tokens_per_day", "tool_calls_per_day"] as const;
const words = (name: string) => name.replaceAll("_", " ");

function Quotas() {
  const { rows, more, problem, reload } = usePages<Quota>("/v1/quotas?page_size=200", "quotas");
  const own = useLoad<{ user: string; uses: QuotaUse[] }>("/v1/quotas:usage", 5000);
  const edited = useSignal<Quota | "new" | null>(null);
  const drop = async (q: Quota) => {
    if (await confirmed(`Delete the quota ${q.id}?`, "What it limited is not limited by it any more.", "Delete", true)) remove(`/v1/quotas/${encodeURIComponent(q.id)}`).then(reload, failed);
  };
  return (
    <>
      <p class="flow"><span class="dim grow">Quotas limit how much is asked for at once, and in a day: of the tenant, of each user, or of one.</span>
        {can("policy.quotas.set") && <button type="button" onClick={() => { edited.value = "new"; }}>Set a quota</button>}</p>
      {own.data && own.data.uses.length > 0 && (
        <section class="panel" aria-label="Your use"><h3>Your use</h3>
          {own.data.uses.map((u) => <div key={u.scope + u.limit}><Meter label={`${words(u.limit)} of ${u.scope === "tenant" ? "the tenant" : "yours"}`} used={number(u.used)} max={number(u.max)} format={plainly} />{u.reset_time && <span class="dim">counts anew <When at={u.reset_time} /></span>}</div>)}
        </section>
      )}
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Quota> label="Quotas" rows={rows} id={(q) => q.id} more={more} empty="No quota is set."
        columns={[
          { name: "For", cell: (q) => ({ tenant: "all users together", users: "each user" }[q.id] ?? q.id.replace(/^user:/, "user ")) },
          ...limits.map((l): Column<Quota> => ({ name: words(l), cell: (q) => <span class="figure">{number(q[l]) ? number(q[l]).toLocaleString() : "–"}</span> })),
          { name: "", cell: (q) => <span class="flow">{can("policy.quotas.set") && <button type="button" class="quiet small" onClick={() => { edited.value = q; }}>Edit</button>}{can("policy.quotas.delete") && <button type="button" class="quiet small" onClick={() => drop(q)}>Delete</button>}</span> },
        ]} />}
      {edited.value && <EditQuota of={edited.value === "new" ? null : edited.value} onClose={() => { edited.value = null; reload(); }} />}
    </>
  );
}

function EditQuota({ of, onClose }: { of: Quota | null; onClose: () => void }) {
  const id = useSignal(of?.id ?? "users");
  const values = useSignal<Record<string, string>>(Object.fromEntries(limits.map((l) => [l, of && number(of[l]) ? of[l] : ""])));
  const save = async () => {
    await patch(`/v1/quotas/${encodeURIComponent(id.value)}`, Object.fromEntries(limits.map((l) => [l, values.value[l] || "0"])));
    toast("ok", "The quota was set.");
    onClose();
  };
  return (
    <Confirm title={of ? `Quota ${of.id}` : "Set a quota"} action="Save" onYes={save} onNo={onClose}>
      {!of && <Field label="For" hint="tenant: all users together. users: each user. user: and a subject: one user."><input required value={id.value} onInput={(e) => { id.value = e.currentTarget.value; }} /></Field>}
      {limits.map((l) => <Field key={l} label={words(l)} hint="Empty: no limit."><input inputMode="numeric" pattern="[0-9]*" value={values.value[l]} onInput={(e) => { values.value = { ...values.value, [l]: e.currentTarget.value }; }} /></Field>)}
    </Confirm>
  );
}

type Health = Known<schema.ModelHealth, "status">;

function Models() {
  const health = useLoad<{ entries: Health[] }>("/v1/model-health?page_size=200", 5000);
  const list = useLoad<{ models: (typeof models.value[number] & { context_window: number; price: { input_micros: string; output_micros: string } | null })[] }>("/v1/models?page_size=200");
  const routes = useLoad<{ routes: { name: string; when: string; targets: { model: string; weight: number }[] }[] }>("/v1/routes?page_size=100");
  const of = new Map((health.data?.entries ?? []).map((h) => [h.name, h]));
  const reset = (name: string) => post("/v1/model-health:reset", { name }).then(() => { toast("ok", `${name} is used again.`); health.reload(); }, failed);
  return (
    <>
      {(health.problem ?? list.problem) && <Problem of={(health.problem ?? list.problem)!} />}
      {(list.data || !list.problem) && <Table label="Models" rows={list.data?.models ?? null} id={(m) => m.name} empty="No model is configured."
        columns={[
          { name: "Model", cell: (m) => <span class="whole">{m.name}{m.default && <span class="tag">default</span>}</span> },
          { name: "Health", cell: (m) => { const h = of.get(m.name); return h ? <><Status of={h.status} /><div class="note">{h.reason}{h.until && <>, until <When at={h.until} /></>}</div></> : <Status of="healthy" />; } },
          { name: "Context", cell: (m) => <span class="figure">{number(m.context_window).toLocaleString()}</span>, narrow: "hide" },
          { name: "Price of a million tokens", cell: (m) => (m.price && number(m.price.input_micros) ? <span class="figure">{money(number(m.price.input_micros))} read, {money(number(m.price.output_micros))} written</span> : <span class="dim">none</span>), narrow: "hide" },
          { name: "", cell: (m) => (of.has(m.name) && can("inference.health.reset") ? <button type="button" class="quiet small" onClick={() => reset(m.name)}>Use it again</button> : null) },
        ]} />}
      {(health.data?.entries ?? []).filter((h) => h.kind !== "model").map((h) => <p key={h.name} class="note bad">Key {h.name}: {h.status}, {h.reason} {can("inference.health.reset") && <button type="button" class="quiet small" onClick={() => reset(h.name)}>Use it again</button>}</p>)}
      {(routes.data?.routes.length ?? 0) > 0 && <><h3>Routes</h3><Table label="Routes" rows={routes.data!.routes} id={(r) => r.name} columns={[
        { name: "Route", cell: (r) => r.name }, { name: "When", cell: (r) => <code>{r.when || "always"}</code> }, { name: "Goes to", cell: (r) => r.targets.map((t) => `${t.model}${t.weight ? ` (${t.weight})` : ""}`).join(", ") },
      ]} /></>}
      <p class="dim"><button type="button" class="quiet small" onClick={() => setParams({ tab: "models" })}>What each model cost</button></p>
    </>
  );
}
