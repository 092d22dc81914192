// A turn: what it does or why it does not go on, its timeline, its events, what its model read, and how it compares with another one.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { part, type Approval } from "../api";
import { count, duration, short, visible } from "../format";
import type { TurnView } from "../fold";
import { isOver } from "../model";
import type { PageProps } from "../route";
import { workflows } from "../store";
import { lanes, shown, span, type Lane, type Row, type Timeline } from "../timeline";
import type { Said } from "../chat/said";
import { Actions } from "../turn/actions";
import { Budgets } from "../turn/budgets";
import { CompareTab } from "../turn/compare";
import { ContextTab } from "../turn/context";
import { Events } from "../turn/events";
import { Journal } from "../turn/journal";
import { Panel } from "../turn/panel";
import { Scrubber, useAt } from "../turn/scrubber";
import { standing, type TurnDetail } from "../turn/standing";
import { idle, laneNames, Overview, Rows, scaleOf } from "../turn/waterfall";
import { Facts, Id, Json, Loading, Money, Page, Problem, Status, Tabs, useLoad, When } from "../ui";
import { AskCard, ofApproval } from "../view/ask";
import { TurnItems } from "../view/items";

const crumbs: [string, string][] = [["Turns", "/turns"]];

export default function Turn({ id, params }: PageProps) {
  const loaded = useLoad<TurnDetail>(`/v1/turns/${part(id)}`, (t) => (t && isOver(t.status) ? 0 : 4000));
  const turn = loaded.data;
  if (turn) return <Loaded key={id} turn={turn} params={params} reload={loaded.reload} />;
  return <Page title={id} crumbs={crumbs} head={<>Turn <Id of={id} /></>}>{loaded.problem ? <Problem of={loaded.problem} /> : <Loading />}</Page>;
}

/** useNow is the time, each second while a turn runs. */
function useNow(active: boolean): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);
    return () => clearInterval(timer);
  }, [active]);
  return active ? Math.max(now.value, Date.now()) : now.value;
}

const tabs: [string, string][] = [["", "Timeline"], ["talk", "Conversation"], ["events", "Events"], ["context", "Context"], ["compare", "Compare"], ["json", "JSON"]];

function Loaded({ turn, params, reload }: { turn: TurnDetail; params: URLSearchParams; reload: () => void }) {
  const journal = useMemo(() => new Journal(turn.id), [turn.id]);
  useEffect(() => () => journal.close(), [journal]);
  const { at, set } = useAt(params);
  const version = journal.version.value; // draws all again with each change: what is in the journal is the same object
  const live = journal.timeline;
  const active = !live.ended && !isOver(turn.status);
  const now = useNow(active);
  useEffect(() => { if (live.ended) reload(); }, [live.ended]);
  const past = at > 0 && at < live.seq ? journal.asOf(at) : null;
  const t = past ?? live;
  const tab = params.get("tab") ?? "";
  const status = t.seq ? t.status : turn.status;
  const u = t.usage ?? turn.usage ?? {};
  const until = past ? t.last : now;
  const began = t.queued || Date.parse(turn.create_time);
  const step = params.get("span") || params.get("call") || "";
  const up: [string, string][] = [...crumbs, ["Conversation", `/sessions/${part(turn.session_id)}`]];
  if (turn.parent_turn_id) up.push([`Parent turn`, `/turns/${part(turn.parent_turn_id)}`]);
  if (step) up.push(["Turn", `/turns/${part(turn.id)}`]);
  return (
    <Page title={`${status} · ${turn.agent_id}`} crumbs={up} api={`/v1/turns/${part(turn.id)}${tab === "events" ? "/events" : ""}`} wide
      state={status === "running" || status === "queued" ? "running" : status === "waiting" ? "waiting" : status === "failed" ? "failed" : ""}
      head={<>Turn of {turn.agent_id} <Id of={turn.id} /></>} actions={<Actions turn={turn} t={live} version={version} reload={reload} />}>
      <div class="tl-head">
        <p class="tl-standing" role="status"><Status of={status} /> <span>{visible(standing(t, past ? null : turn, until))}</span></p>
        {journal.problem.value && <p class="note bad" role="alert">{journal.problem.value}</p>}
        <Facts of={[
          ["Agent", <a href={`/agents/${part(turn.agent_id)}`}>{turn.agent_id}</a>],
          ["Model", `${t.model || turn.model || turn.requested_model || "–"}${turn.requested_model ? ", chosen for this turn" : ""}`],
          ["Tokens", <span class="figure">{u.input_tokens ?? 0} → {u.output_tokens ?? 0}</span>],
          ["Cost", <Money micros={u.cost_micros ?? 0} />],
          ["Duration", <span class="figure">{duration((t.ended || (past ? t.last : active ? now : Date.parse(turn.end_time ?? turn.create_time))) - began)}</span>],
          ["Began", <When at={turn.create_time} />], ["For", turn.subject],
          ["Lost calls", u.lost_calls ? count(u.lost_calls, "model call") : ""],
          ["Runs again", turn.rerun_of ? <a href={`/turns/${part(turn.rerun_of)}`}>{short(turn.rerun_of)}</a> : ""],
          ["Schedule", turn.schedule_id ? <Id of={turn.schedule_id} /> : ""],
          ["Links", <span class="flow"><a href={`/sessions/${part(turn.session_id)}`}>Conversation</a>{turn.parent_turn_id && <a href={`/turns/${part(turn.parent_turn_id)}`}>Parent</a>}
            {workflows && <a href={workflows + turn.id} target="_blank" rel="noreferrer">Temporal</a>}</span>],
        ]} />
        {!past && <Waiting ids={turn.waiting_for} />}
        <Budgets t={t} version={version} turn={turn} active={active} />
      </div>
      <Tabs at={tab} of={tabs} />
      {(tab === "" || tab === "talk") && <Scrubber events={journal.events} version={version} at={past ? at : 0} set={set} active={active} />}
      {tab === "" && <TimelineTab journal={journal} version={version} t={t} live={live} now={until} past={past !== null} params={params} />}
      {tab === "talk" && <Talk view={(past ? journal.viewOf(at) : journal.view).turns.get(turn.id)} said={journal.said} />}
      {tab === "events" && <Events events={journal.events} version={version} params={params} />}
      {tab === "context" && <ContextTab t={live} version={version} params={params} />}
      {tab === "compare" && <CompareTab turn={turn} params={params} />}
      {tab === "json" && <Json value={turn} label="Turn" />}
    </Page>
  );
}

/** Waiting are the cards of what a turn and its sub-agents wait for, to be answered here. */
function Waiting({ ids }: { ids: string[] }) {
  if (!ids?.length) return null;
  return <div class="tl-asks">{ids.slice(0, 10).map((id) => <Ask key={id} id={id} />)}</div>;
}

function Ask({ id }: { id: string }) {
  const a = useLoad<Approval>(`/v1/approvals/${part(id)}`, (of) => (of && of.status !== "pending" ? 0 : 3000));
  if (a.problem && !a.data) return a.problem.status === 403 || a.problem.status === 404 ? null : <Problem of={a.problem} />;
  if (!a.data || a.data.status !== "pending") return null;
  return <AskCard ask={ofApproval(a.data)} />;
}

function Talk({ view, said }: { view: TurnView | undefined; said: Said }) {
  return view ? <div class="said"><TurnItems turn={view} said={said} /></div> : <Loading />;
}

/** usual are the lanes that are shown at first; policy then only where it did not just allow. */
const usual: Lane[] = ["worker", "model", "tool", "wait", "agent"];

function TimelineTab({ journal, t, live, now, past, params }: { journal: Journal; t: Timeline; live: Timeline; now: number; past: boolean; version: number; params: URLSearchParams }) {
  const unfolded = useSignal<ReadonlySet<string>>(new Set());
  const wanted = useSignal<ReadonlySet<Lane>>(new Set(usual));
  const asLong = useSignal(false);
  const fold = (row: Row) => {
    const next = new Set(unfolded.value);
    if (!next.delete(row.id)) {
      next.add(row.id);
      journal.withChildren();
    }
    unfolded.value = next;
  };
  const { from, to } = span(live, past ? live.last : now);
  const waits = useMemo(() => idle(live, from, to), [live.seq, to]);
  const scale = scaleOf(from, to, waits, !asLong.value);
  const child = (turn: string) => journal.child(turn, past ? now : 0);
  const rows = shown(t, (r) => unfolded.value.has(r.id), (lane, r) => wanted.value.has(lane) || lane === "policy" && (r.state !== "done" || !r.decision), child);
  const key = keyOf(t, params);
  const chosen = find(t, child, key);
  if (!t.seq) return <Loading />;
  return (
    <div class={chosen ? "tl with-panel" : "tl"}>
      <div class="tl-main">
        <div class="tl-tools">
          {lanes.filter((l) => l !== "agent").map((l) => (
            <label key={l} class={`tl-chip lane-${l}`}><input type="checkbox" checked={wanted.value.has(l)} onChange={() => {
              const next = new Set(wanted.value);
              if (!next.delete(l)) next.add(l);
              wanted.value = next;
            }} /> {laneNames[l]}</label>
          ))}
          {waits.length > 0 && <label class="tl-chip"><input type="checkbox" checked={!asLong.value} onChange={(e) => { asLong.value = !e.currentTarget.checked; }} /> Shorten waits</label>}
          <span class="dim tl-count">{count(rows.length, "row")} · {duration(to - from)}</span>
        </div>
        <Overview t={t} at={scale.at} now={now} upTo={past ? now : 0} cuts={scale.cuts} />
        <Rows rows={rows} at={scale.at} now={now} chosen={key} fold={fold} />
        {t.gaps.length > 0 && <p class="note">{t.gaps.map((g) => `${count(g.gap!.steps.length, "step")} of ${g.gap!.previous} went on with ${g.gap!.owner}`).join("; ")}. Nothing that had finished was done again.</p>}
      </div>
      {chosen && <Panel key={key} row={chosen.row} of={chosen.of} own={chosen.of.turn === t.turn && !t.ended} now={now} />}
    </div>
  );
}

/** keyOf is the row that the address names: by itself, or by the call. */
function keyOf(t: Timeline, params: URLSearchParams): string {
  const call = params.get("call");
  return params.get("span") || (call && t.calls.get(call)) || call || "";
}

function find(t: Timeline, child: (turn: string) => Timeline | undefined, key: string): { row: Row; of: Timeline } | null {
  if (!key) return null;
  const [turn = "", id = ""] = key.includes("/") ? [key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)] : ["", key];
  const of = turn ? child(turn) : t;
  const row = of?.rows.get(id);
  return row && of ? { row, of } : null;
}
