// Access: policies, who may call what, decisions with their reasons, trying a draft on past decisions, and the audit log.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { call, patch, post, remove, type Failed } from "../api";
import { count } from "../format";
import { globbed, number, type AuditRecord, type Decision, type Matcher, type Policy, type ToolRow } from "../model";
import { setParams, type PageProps } from "../route";
import {
  can, confirmed, Dialog, failed, Field, Filters, Loading, Page, Problem, Status, Table, Tabs, timeOf, toast, useFiltered, useLoad, usePages, When, type Filter,
} from "../ui";
import { Explanation, Matrix, RuleOf, useSubjects, WhyDecided } from "../view/access";

const paths: Record<string, string> = { policies: "/v1/access-policies", decisions: "/v1/decisions", audit: "/v1/audit" };

export default function AccessPage({ params }: PageProps) {
  const tab = params.get("tab") ?? "matrix";
  return (
    <Page title="Access" wide api={paths[tab] ?? "/v1/access-policies"}>
      <Tabs at={tab} of={[["matrix", "Who may call what"], ["decisions", "Decisions"], ["policies", "Policies"], ["draft", "Try a draft"], ["audit", "Audit"]]} />
      {tab === "matrix" && <Who params={params} />}
      {tab === "policies" && <Policies open={params.get("policy") ?? ""} />}
      {tab === "decisions" && <Decisions params={params} />}
      {tab === "draft" && <Draft params={params} />}
      {tab === "audit" && <Audit params={params} />}
      {params.get("policy") && <Edit key={params.get("policy")} name={params.get("policy")!} onClose={() => setParams({ policy: "" })} />}
    </Page>
  );
}

function Who({ params }: { params: URLSearchParams }) {
  const known = useSubjects();
  const { data, problem } = useLoad<{ tools: ToolRow[]; next_page_token: string }>("/v1/tools?page_size=1000");
  const typed = useSignal("");
  if (problem) return <Problem of={problem} />;
  if (!data || !known) return <Loading />;
  const added = (params.get("users") ?? "").split(" ").filter(Boolean);
  const q = params.get("q") ?? "";
  const subjects = [...new Set([...known, ...added])];
  const tools = data.tools.filter((t) => !q || t.name.includes(q) || globbed(t.name, [q])).map((t) => t.name);
  const most = Math.min(1000, Math.max(1, Math.floor(10_000 / Math.max(1, subjects.length))));
  return (
    <>
      <Filters of={[{ key: "q", name: "Tool", kind: "text" }]} />
      <form class="flow spaced" onSubmit={(e) => { e.preventDefault(); if (typed.value.trim()) setParams({ users: [...added, typed.value.trim()].join(" ") }); typed.value = ""; }}>
        <input aria-label="Another user" placeholder="Another user" value={typed.value} onInput={(e) => { typed.value = e.currentTarget.value; }} />
        <button type="submit" class="quiet">Add user</button>
        <span class="dim">Users about whom something was decided lately, with the roles and claims of that decision.</span>
      </form>
      {tools.length > most && <p class="note">These are the first {most} of {count(tools.length, "tool")}. The filter finds the others.</p>}
      {data.next_page_token && <p class="note">Only the first {data.tools.length} tools by name were read: there are more.</p>}
      <Matrix subjects={subjects} tools={tools.slice(0, most)} />
    </>
  );
}

function Policies({ open }: { open: string }) {
  const { rows, more, problem, reload } = usePages<Policy>("/v1/access-policies?page_size=200", "access_policies");
  const before = useRef(open);
  useEffect(() => {
    if (before.current && !open) reload(); // it may have been changed
    before.current = open;
  }, [open]);
  const drop = async (p: Policy) => {
    if (!await confirmed(`Delete the policy ${p.name}?`, "It applies to the next call, also of turns that run.", "Delete", true)) return;
    remove(`/v1/access-policies/${p.name}`).then(() => { toast("ok", `Policy ${p.name} was deleted.`); reload(); }, failed);
  };
  const disable = (p: Policy) => patch(`/v1/access-policies/${p.name}`, { disabled: !p.disabled }).then(reload, failed);
  return (
    <>
      <p class="flow"><span class="dim grow">What no policy and no rule of the configuration allows is denied; one that denies wins. Changes apply to the next call.</span>
        {can("policy.access_policies.create") && <button type="button" onClick={() => setParams({ policy: "new policy" })}>New policy</button>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Policy> label="Policies" rows={rows} id={(p) => p.name} href={(p) => `/access?tab=policies&policy=${p.name}`} more={more}
        empty="There is no policy. The rules of the configuration decide."
        columns={[
          { name: "Name", cell: (p) => p.name },
          { name: "Effect", cell: (p) => <Status of={p.disabled ? "disabled" : p.effect} /> },
          { name: "For whom", cell: (p) => <ForWhom of={p} /> },
          { name: "What", cell: (p) => [...p.tool_groups.map((g) => `group ${g}`), ...p.tools, ...p.permissions].join(", ") },
          { name: "Changed", cell: (p) => <When at={p.update_time} />, narrow: "hide" },
          { name: "", cell: (p) => (
            <span class="flow">
              {can("policy.access_policies.update") && <button type="button" class="quiet small" onClick={() => disable(p)}>{p.disabled ? "Enable" : "Disable"}</button>}
              {can("policy.access_policies.delete") && <button type="button" class="quiet small" onClick={() => drop(p)}>Delete</button>}
            </span>
          ) },
        ]} />}
    </>
  );
}

function ForWhom({ of: p }: { of: Policy }) {
  const all = [...p.matchers.map((m) => `${m.path} ${m.operator.replaceAll("_", " ")} ${m.values.join(" or ")}`), ...(p.expression ? [p.expression] : [])];
  return <>{all.length ? all.map((m) => <div key={m}><code>{m}</code></div>) : "everybody"}</>;
}

const operators = ["equals", "not_equals", "contains", "not_contains", "matches"] as const;
const effects = ["allow", "deny"] as const;
const lines = (text: string) => text.split("\n").map((l) => l.trim()).filter(Boolean);
const fresh: Policy = {
  name: "", description: "", priority: 0, disabled: false, matchers: [{ path: "roles", operator: "contains", values: [""] }], expression: "", tool_groups: [], tools: [],
  permissions: [], effect: "allow", revision: 0, policy_revision: "", create_time: null, update_time: "",
};

/** bodyOf is what the API takes of a policy. */
const bodyOf = (p: Policy) => ({
  name: p.name, description: p.description, priority: p.priority, disabled: p.disabled, matchers: p.matchers, expression: p.expression, tool_groups: p.tool_groups,
  tools: p.tools, permissions: p.permissions, effect: p.effect,
});

/** PolicyForm edits a policy in place. */
function PolicyForm({ of: p, problem, named, onInput }: { of: Policy; problem: Failed | null; named: boolean; onInput: (p: Policy) => void }) {
  const set = (of: Partial<Policy>) => onInput({ ...p, ...of });
  const matcher = (i: number, of: Partial<Matcher>) => set({ matchers: p.matchers.map((m, j) => (j === i ? { ...m, ...of } : m)) });
  const wrong = (key: string) => problem?.fields.find((f) => f.field.replace(/^(draft|access_policy)\./, "").startsWith(key))?.message;
  return (
    <>
      {!named && <Field label="Name" error={wrong("name")}><input required value={p.name} onInput={(e) => set({ name: e.currentTarget.value })} /></Field>}
      <Field label="What it is for"><input value={p.description} onInput={(e) => set({ description: e.currentTarget.value })} /></Field>
      <Field label="Effect"><select value={p.effect} onChange={(e) => set({ effect: effects[e.currentTarget.selectedIndex] })}>{effects.map((x) => <option key={x} selected={x === p.effect}>{x}</option>)}</select></Field>
      <fieldset class="stack"><legend>For users whose claims all match</legend>
        {p.matchers.map((m, i) => (
          <div key={i} class="flow">
            <input aria-label={`Claim ${i + 1}`} placeholder="roles" value={m.path} onInput={(e) => matcher(i, { path: e.currentTarget.value })} />
            <select aria-label={`Operator ${i + 1}`} onChange={(e) => matcher(i, { operator: operators[e.currentTarget.selectedIndex] })}>{operators.map((o) => <option key={o} value={o} selected={o === m.operator}>{o.replaceAll("_", " ")}</option>)}</select>
            <input aria-label={`Value ${i + 1}`} placeholder="values, with commas between" value={m.values.join(",")} onInput={(e) => matcher(i, { values: e.currentTarget.value.split(",").map((v) => v.trim()) })} />
            <button type="button" class="icon" aria-label={`Remove condition ${i + 1}`} onClick={() => set({ matchers: p.matchers.filter((_, j) => j !== i) })}>×</button>
          </div>
        ))}
        {wrong("matchers") && <p class="error" role="alert">{problem!.fields.filter((f) => f.field.includes("matchers")).map((f) => `${f.field}: ${f.message}`).join("; ")}</p>}
        <button type="button" class="quiet small" onClick={() => set({ matchers: [...p.matchers, { path: "", operator: "equals", values: [""] }] })}>Add a condition</button>
      </fieldset>
      <Field label="Condition in CEL" hint="For example principal.claims.level >= 3. Empty: none." error={wrong("expression")}><input value={p.expression} onInput={(e) => set({ expression: e.currentTarget.value })} /></Field>
      <Field label="Tools" hint="One a line; * stands for any characters." error={wrong("tools")}><textarea rows={2} value={p.tools.join("\n")} onChange={(e) => set({ tools: lines(e.currentTarget.value) })} /></Field>
      <Field label="Tool groups" hint="One a line." error={wrong("tool_groups")}><textarea rows={2} value={p.tool_groups.join("\n")} onChange={(e) => set({ tool_groups: lines(e.currentTarget.value) })} /></Field>
      <Field label="Permissions" hint="One a line, for example sessions.*" error={wrong("permissions")}><textarea rows={2} value={p.permissions.join("\n")} onChange={(e) => set({ permissions: lines(e.currentTarget.value) })} /></Field>
    </>
  );
}

/** Edit is the dialog of one policy: what it would change can be seen before it is saved. */
function Edit({ name, onClose }: { name: string; onClose: () => void }) {
  const isNew = name === "new policy";
  const stored = useLoad<Policy>(isNew ? null : `/v1/access-policies/${encodeURIComponent(name)}`);
  const draft = useSignal<Policy | null>(isNew ? fresh : null);
  const problem = useSignal<Failed | null>(null);
  const tried = useSignal<Policy | null>(null);
  const p = draft.value ?? stored.data;
  const save = async () => {
    problem.value = null;
    try {
      if (isNew) await post("/v1/access-policies", bodyOf(p!));
      else await call("PATCH", `/v1/access-policies/${encodeURIComponent(name)}`, bodyOf(p!), undefined, { "If-Match": `"${p!.revision}"` });
      toast("ok", `Policy ${p!.name} was saved. It applies to the next call.`);
      onClose();
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  return (
    <Dialog title={isNew ? "New policy" : `Policy ${name}`} onClose={onClose} wide>
      {stored.problem && <Problem of={stored.problem} />}
      {!p && !stored.problem && <Loading />}
      {p && (
        <form onSubmit={(e) => { e.preventDefault(); void save(); }}>
          <PolicyForm of={p} named={!isNew} problem={problem.value} onInput={(next) => { draft.value = next; }} />
          {problem.value && <Problem of={problem.value} />}
          {tried.value && <Differences key={JSON.stringify(tried.value)} draft={tried.value} since="" />}
          <div class="buttons">
            <button type="button" class="quiet" onClick={() => { tried.value = p; }}>What would it change?</button>
            <button type="button" class="quiet" onClick={onClose}>Cancel</button>
            {can(isNew ? "policy.access_policies.create" : "policy.access_policies.update") && <button type="submit">Save</button>}
          </div>
        </form>
      )}
    </Dialog>
  );
}

function Decisions({ params }: { params: URLSearchParams }) {
  const filters: Filter[] = [
    { key: "q", name: "User or tool", kind: "text" },
    { key: "denied_only", name: "Outcome", kind: "choice", choices: [["", "any outcome"], ["true", "denied only"]] },
    { key: "turn_id", name: "Turn", kind: "text" },
    { key: "call_id", name: "Call", kind: "text" },
  ];
  const rest = useFiltered(filters.filter((f) => f.key !== "q"), params);
  const { rows, more, problem } = usePages<Decision>(`/v1/decisions?page_size=200${rest && `&${rest}`}`, "decisions");
  const q = (params.get("q") ?? "").toLowerCase();
  const shown = rows && (q ? rows.filter((d) => `${d.subject} ${d.resource} ${d.rule} ${d.reason}`.toLowerCase().includes(q)) : rows);
  const open = useSignal<Decision | null>(null);
  const linked = useLoad<Decision>(params.get("decision") ? `/v1/decisions/${params.get("decision")}` : null);
  const why = open.value ?? linked.data;
  return (
    <>
      <Filters of={filters} />
      {q && <p class="dim">Searched in {count(rows?.length ?? 0, "decision")}{more ? ", of which there are more" : ""}.</p>}
      {problem && <Problem of={problem} />}
      {linked.problem && <Problem of={linked.problem} />}
      {(rows || !problem) && <Table<Decision> label="List of decisions" rows={shown} id={(d) => d.id} more={more} empty="No decision fits. Each call of a tool leaves one."
        columns={[
          { name: "Asked for", cell: (d) => (d.kind === "tool" ? <a href={`/tools/${d.resource}`}><code>{d.resource}</code></a> : <code>{d.resource}</code>) },
          { name: "Outcome", cell: (d) => <Status of={d.allowed ? "allowed" : "denied"} /> },
          { name: "User", cell: (d) => <span class="whole">{d.subject}</span> },
          { name: "Decided by", cell: (d) => <RuleOf rule={d.rule} /> },
          { name: "Turn", cell: (d) => d.turn_id && <a href={`/turns/${d.turn_id}`}>turn</a>, narrow: "hide" },
          { name: "When", cell: (d) => <When at={d.create_time} /> },
          { name: "", cell: (d) => <button type="button" class="quiet small" aria-label={`Why was ${d.resource} ${d.allowed ? "allowed" : "denied"} to ${d.subject}?`} onClick={() => { open.value = d; }}>Why?</button> },
        ]} />}
      {why && <Dialog wide title={`${why.resource} for ${why.subject}`} onClose={() => { open.value = null; setParams({ decision: "" }); }}><WhyDecided of={why} /></Dialog>}
    </>
  );
}

interface Difference { decision: Decision; allowed: boolean; allowed_now: boolean; rule: string; reason: string }

/** Differences are the past decisions that would be others with a draft, or without a policy. */
function Differences({ draft, without, since }: { draft?: Policy; without?: string; since: string }) {
  const state = useSignal<{ replayed: number; rows: Difference[]; problem: Failed | null; done: boolean; started: boolean }>({ replayed: 0, rows: [], problem: null, done: false, started: false });
  const run = async () => {
    let [replayed, next] = [0, ""];
    let rows: Difference[] = [];
    try {
      do {
        const r = await post<{ differences: Difference[]; replayed: number; next_page_token: string }>("/v1/access-policies:replay", {
          ...(draft ? { draft: bodyOf(draft) } : { without }), ...(since ? { start_time: timeOf(since) } : {}), page_size: 200, page_token: next,
        });
        rows = rows.concat(r.differences);
        replayed += number(r.replayed);
        next = r.next_page_token;
        state.value = { ...state.value, replayed, rows };
      } while (next && replayed < 20_000 && rows.length < 1000);
    } catch (e) {
      state.value = { ...state.value, problem: e as Failed };
    }
    state.value = { ...state.value, done: true };
  };
  if (!state.value.started) {
    state.value = { ...state.value, started: true };
    void run();
  }
  const { replayed, rows, problem, done } = state.value;
  if (problem) return <Problem of={problem} />;
  return (
    <section aria-label="What would change">
      <p role="status">{done ? "" : "Reading… "}{rows.length ? `${count(rows.length, "decision")} of ${replayed} would be different.` : `None of ${count(replayed, "decision")} would be different.`}</p>
      {rows.length > 0 && <Table<Difference> label="Decisions that would be different" rows={rows} id={(d) => d.decision.id}
        columns={[
          { name: "Asked for", cell: (d) => <code>{d.decision.resource}</code> }, { name: "User", cell: (d) => d.decision.subject },
          { name: "Was", cell: (d) => <Status of={d.decision.allowed ? "allowed" : "denied"} /> }, { name: "Would be", cell: (d) => <Status of={d.allowed ? "allowed" : "denied"} /> },
          { name: "Because", cell: (d) => d.reason }, { name: "When", cell: (d) => <When at={d.decision.create_time} />, narrow: "hide" },
        ]} />}
    </section>
  );
}

function Draft({ params }: { params: URLSearchParams }) {
  const policies = useLoad<{ access_policies: Policy[] }>("/v1/access-policies?page_size=200");
  const draft = useSignal<Policy>({ ...fresh, name: "draft", effect: "deny" });
  const tried = useSignal<{ draft: Policy; at: number } | null>(null);
  const asked = useSignal({ subject: "", tool: "" });
  const since = params.get("since") ?? "24h";
  const all = policies.data?.access_policies ?? [];
  return (
    <div class="columns">
      <form class="panel" aria-label="Draft" onSubmit={(e) => { e.preventDefault(); tried.value = { draft: draft.value, at: Date.now() }; }}>
        <Field label="Begin with"><select onChange={(e) => {
          const p = all.find((x) => x.name === e.currentTarget.value);
          draft.value = p ?? { ...fresh, name: "draft", effect: "deny" };
        }}><option value="">a new policy</option>{all.map((p) => <option key={p.name} value={p.name}>{p.name}</option>)}</select></Field>
        <PolicyForm of={draft.value} named={false} problem={null} onInput={(p) => { draft.value = p; }} />
        <Filters of={[{ key: "since", name: "Decisions of", kind: "time" }]} />
        <div class="buttons"><button type="submit">Replay past decisions</button></div>
      </form>
      <section class="panel" aria-label="Result">
        {!tried.value && <p class="dim">Nothing is stored: past decisions are made again, with the draft among the policies.</p>}
        {tried.value && <Differences key={tried.value.at} draft={tried.value.draft} since={since} />}
        <h3>One call</h3>
        <form class="flow" onSubmit={(e) => {
          e.preventDefault();
          const f = new FormData(e.currentTarget);
          asked.value = { subject: String(f.get("subject")), tool: String(f.get("tool")) };
          tried.value ??= { draft: draft.value, at: Date.now() };
        }}>
          <input name="subject" aria-label="User" placeholder="User" required /><input name="tool" aria-label="Tool" placeholder="Tool" required /><button type="submit" class="quiet">With the draft</button>
        </form>
        {asked.value.tool && <Explanation subject={asked.value.subject} tool={asked.value.tool} draft={bodyOf(draft.value) as Policy} />}
      </section>
    </div>
  );
}

function Audit({ params }: { params: URLSearchParams }) {
  const filters: Filter[] = [
    { key: "subject", name: "User", kind: "text" }, { key: "action", name: "Action", kind: "text" }, { key: "resource", name: "Of what", kind: "text" },
    { key: "outcome", name: "Outcome", kind: "choice", choices: ["allowed", "refused", "done", "failed"] }, { key: "since", name: "Time", kind: "time" },
  ];
  const rest = useFiltered(filters, params);
  const { rows, more, problem } = usePages<AuditRecord>(`/v1/audit?page_size=200${rest && `&${rest}`}`, "records");
  return (
    <>
      <Verify />
      <Filters of={filters} />
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<AuditRecord> label="Audit records" rows={rows} id={(r) => r.id} more={more} empty="No record fits."
        columns={[
          { name: "Action", cell: (r) => <code>{r.action}</code> }, { name: "Of what", cell: (r) => r.resource }, { name: "User", cell: (r) => <span class="whole">{r.subject}</span> },
          { name: "Outcome", cell: (r) => <><Status of={r.outcome} />{r.reason && <div class="note">{r.reason}</div>}</> },
          { name: "Turn", cell: (r) => r.turn_id && <a href={`/turns/${r.turn_id}`}>turn</a>, narrow: "hide" },
          { name: "Record", cell: (r) => <span class="figure">{r.seq}</span>, narrow: "hide" }, { name: "When", cell: (r) => <When at={r.time} /> },
        ]} />}
    </>
  );
}

/** Verify checks the chain of the audit log when it is asked to. */
export function Verify() {
  const asked = useSignal(false);
  const { data, problem } = useLoad<{ intact: boolean; records: string; hash: string; broken_at: string; problem: string }>(asked.value ? "/v1/audit:verify" : null);
  if (!can("policy.audit.verify")) return null;
  return (
    <div class="flow">
      <button type="button" class="quiet" onClick={() => { asked.value = true; }}>Verify the log</button>
      {problem && <Problem of={problem} />}
      {data && <span role="status">{data.intact ? <><Status of="healthy" /> {count(number(data.records), "record")}, none changed or missing. Keep the last hash: <code>{data.hash.slice(0, 16)}…</code></>
        : <><Status of="broken" /> Record {data.broken_at}: {data.problem}</>}</span>}
    </div>
  );
}
