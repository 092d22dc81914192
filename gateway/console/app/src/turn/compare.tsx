// Two turns side by side: how they ended, their path, their calls and their answers.
import { useSignal } from "@preact/signals";
import { part } from "../api";
import { duration, money, visible } from "../format";
import { parse } from "../json";
import { setParams } from "../route";
import { Field, Id, Json, Loading, Problem, Status, Table, useLoad } from "../ui";
import { Diff } from "../view/diff";
import type { TurnDetail } from "./standing";
import type * as schema from "../schema";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // of the API
type Side = schema.ComparedSide;
type Row = schema.ComparedCall & { n: number };

export function CompareTab({ turn, params }: { turn: TurnDetail; params: URLSearchParams }) {
  const other = params.get("with") ?? "";
  const loaded = useLoad<Any>(other ? `/v1/turns/${part(turn.id)}:compare?with=${part(other)}` : null, 0);
  const c = loaded.data;
  return (
    <div class="tl-compare">
      <Choose turn={turn} other={other} />
      {loaded.problem && <Problem of={loaded.problem} />}
      {other && !c && !loaded.problem && <Loading />}
      {c && <Sides of={c} />}
    </div>
  );
}

/** Choose offers the turns that are worth comparing: the one that this runs again, those that run it again, and others of the agent. */
function Choose({ turn, other }: { turn: TurnDetail; other: string }) {
  const typed = useSignal(other);
  const near = useLoad<{ turns: TurnDetail[] }>(`/v1/turns?agent_id=${part(turn.agent_id)}&page_size=50`);
  const all = (near.data?.turns ?? []).filter((t) => t.id !== turn.id);
  const related = all.filter((t) => t.rerun_of === turn.id || t.id === turn.rerun_of || turn.rerun_of && t.rerun_of === turn.rerun_of);
  const rest = all.filter((t) => !related.includes(t)).slice(0, 20);
  const option = (t: TurnDetail) => <option key={t.id} value={t.id} selected={t.id === other}>{t.status}: {t.input.slice(0, 60)} ({t.id})</option>;
  return (
    <form class="filters" onSubmit={(e) => { e.preventDefault(); setParams({ with: typed.value.trim() }); }}>
      <Field label="With turn"><input type="text" value={typed.value} placeholder="trn_…" onInput={(e) => { typed.value = e.currentTarget.value; }} /></Field>
      <Field label="or one of these">
        <select value={other} onChange={(e) => { typed.value = e.currentTarget.value; setParams({ with: e.currentTarget.value }); }}>
          <option value="">choose…</option>
          {!related.some((t) => t.id === turn.rerun_of) && turn.rerun_of && <option value={turn.rerun_of} selected={turn.rerun_of === other}>the turn that this one runs again</option>}
          {related.length > 0 && <optgroup label="Runs of the same turn">{related.map(option)}</optgroup>}
          {rest.length > 0 && <optgroup label={`Turns of ${turn.agent_id}`}>{rest.map(option)}</optgroup>}
        </select>
      </Field>
      <button type="submit">Compare</button>
    </form>
  );
}

/** sameness says in a word what two calls have in common. */
function sameness(r: Pick<Row, "a" | "b" | "same_arguments" | "same_result">): string {
  if (!r.b) return "only left";
  if (!r.a) return "only right";
  if (!r.same_arguments) return "other arguments";
  return r.same_result ? "same" : "other result";
}

const how = (s: Side) => (s.taken_over ? "copied" : s.recorded ? "recorded" : s.open ? "no result" : s.is_error ? "error" : "live");

function tree(text: string): unknown {
  try { return parse(text); } catch { return text; }
}

function Sides({ of: c }: { of: Any }) {
  const facts: [string, (s: Any) => preact.ComponentChildren, (s: Any) => string][] = [
    ["Turn", (s) => <Id of={s.turn_id} href={`/turns/${part(s.turn_id)}`} />, () => ""],
    ["Status", (s) => <Status of={s.status} />, (s) => s.status], ["Stopped", (s) => s.stop_reason || "–", (s) => s.stop_reason],
    ["Agent", (s) => `${s.agent_id}, revision ${s.blueprint_revision}`, (s) => `${s.agent_id} ${s.blueprint_revision}`], ["Model", (s) => s.model, (s) => s.model],
    ["Steps", (s) => s.steps, (s) => String(s.steps)], ["Tokens", (s) => `${s.usage?.input_tokens ?? 0} → ${s.usage?.output_tokens ?? 0}`, (s) => `${s.usage?.input_tokens} ${s.usage?.output_tokens}`],
    ["Cost", (s) => money(Number(s.usage?.cost_micros ?? 0)) || "$0", (s) => String(s.usage?.cost_micros)], ["Duration", (s) => duration(Number(s.duration_ms)), () => ""],
  ];
  const rows: Row[] = (c.tools ?? []).map((r: Row, n: number) => ({ ...r, n }));
  const cell = (s: Side | null) => (s
    ? <details><summary><code>{visible(s.arguments_json.slice(0, 80))}</code> <span class="tag">{how(s)}</span></summary><Json value={tree(s.arguments_json)} label="Arguments" /><Json value={tree(s.result)} label="Result" /></details>
    : <span class="dim">none</span>);
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Both turns">
        <table class="small-table tl-sides">
          <thead><tr><th scope="col"><span class="unseen">Fact</span></th><th scope="col">This turn</th><th scope="col">The other one</th></tr></thead>
          <tbody>{facts.map(([name, of, same]) => <tr key={name} class={same(c.a) === same(c.b) ? "" : "differs"}><th scope="row">{name}</th><td>{of(c.a)}</td><td>{of(c.b)}</td></tr>)}</tbody>
        </table>
      </div>
      <h3>Calls</h3>
      <Table<Row> label="Calls" rows={rows} id={(r) => String(r.n)} empty="Neither has called a tool." columns={[
        { name: "Tool", cell: (r) => <code>{visible(r.tool)}</code> }, { name: "", cell: (r) => <span class={`tag ${sameness(r) === "same" ? "" : "differs"}`}>{sameness(r)}</span> },
        { name: "This turn", cell: (r) => cell(r.a) }, { name: "The other one", cell: (r) => cell(r.b) },
      ]} />
      <h3>Answers</h3>
      {c.answer.same ? <p class="nothing">The answers are the same.</p> : <Diff text={c.answer.diff} label="Difference of the answers" />}
    </>
  );
}
