// What happened in a turn, as a conversation shows it.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { get, part, type Approval, type Turn } from "../api";
import { Prose } from "../chat/text";
import { callKey, record, nothingSaid, types, type FileRef, type Said } from "../chat/said";
import type { Child, Item, Text, Tool, TurnView } from "../fold";
import { bytes, duration, money, visible } from "../format";
import { parse } from "../json";
import { approvals, workflows } from "../store";
import { Stream } from "../stream";
import { Json } from "../ui/json";
import { AskCard, ofApproval, type Waiting } from "./ask";

interface Context { turn: TurnView; said: Said | null }

/** TurnItems shows a turn. `said` is what only a conversation knows, and `actions` is what one can do with the message. */
export function TurnItems({ turn, said = null, actions }: { turn: TurnView; said?: Said | null; actions?: ComponentChildren }) {
  const of = { turn, said };
  return (
    <>
      {(turn.input || said?.files.get(turn.id)?.length) && (
        <div class="user">
          <div class="bubble">{turn.input}{said?.files.get(turn.id)?.map((f) => <Attached key={f.file_id} file={f} />)}</div>
          {actions}
        </div>
      )}
      {turn.items.map((i) => <ItemView key={i.kind + i.id} item={i} of={of} />)}
      {!turn.ended && turn.items.some((i) => i.kind === "child" && i.status === "running") && <Below turn={turn} />}
      <Footer turn={turn} />
    </>
  );
}

function ItemView({ item, of }: { item: Item; of: Context }) {
  switch (item.kind) {
    case "text": return <TextView item={item} of={of} />;
    case "tool": return <ToolView item={item} of={of} />;
    case "ask": return <AskCard ask={{ ...item }} />; // a copy: a component with signals is not drawn again for the same object
    case "child": return <ChildView item={item} />;
    case "note": return <div class={item.bad ? "note bad" : "note"}>{item.text}</div>;
  }
}

/** Attached is a file of a message. A picture is shown. */
function Attached({ file }: { file: FileRef }) {
  const at = `/v1/files/${part(file.file_id)}/content`;
  const name = file.name || file.file_id;
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.media_type) && file.file_id.startsWith("fil_")) {
    return <a class="attached" href={at} target="_blank" rel="noreferrer"><img src={at} alt={name} loading="lazy" /></a>;
  }
  return <span class="attached"><span class="tag">{name} · {bytes(Number(file.size))}</span></span>;
}

function TextView({ item, of }: { item: Text; of: Context }) {
  if (!item.open && !item.text && !item.reasoning && !item.lost.length) return null;
  return (
    <div class={item.open ? "answer open" : "answer"}>
      {item.lost.map((t, n) => <del key={n} class="lost" title="An attempt that was lost with its worker">{t}</del>)}
      {item.reasoning && <details class="reasoning" open={item.open && !item.text}><summary>Reasoning</summary>{item.reasoning}</details>}
      {item.text ? <Prose text={item.text} open={item.open} citations={of.said?.citations.get(item.id)} /> : item.open && <div class="bubble" />}
    </div>
  );
}

/** asJSON is JSON of an object or a list, undefined for other text. */
function asJSON(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > 2_000_000) return undefined;
  try { return parse(text); } catch { return undefined; }
}

export function Payload({ text, label }: { text: string; label: string }) {
  const value = useMemo(() => asJSON(text), [text]);
  if (value !== undefined) return <Json value={value} label={label} />;
  return <pre tabIndex={0} aria-label={label}>{text.length > 100_000 ? `${visible(text.slice(0, 100_000))}\n… ${text.length - 100_000} more characters` : visible(text)}</pre>;
}

function ToolView({ item, of }: { item: Tool; of: Context }) {
  const open = useSignal(false);
  const unresolved = of.said?.unresolved.get(callKey(of.turn.id, item.id));
  return (
    <>
      <details class={`tool ${item.outcome}`} onToggle={(e) => { if (e.target === e.currentTarget) open.value = e.currentTarget.open; }}>
        <summary><span class="name">{item.name || "tool"}</span><span class="state">{item.state}{item.outcome && ` · ${duration(item.millis)}`}</span></summary>
        {open.value && (
          <div class="tool-body">
            {item.args && <><h4>Arguments</h4><Payload text={item.args} label={`Arguments of ${item.name}`} /></>}
            {item.result && <><h4>{item.outcome === "failed" ? "Error" : "Result"}</h4><Payload text={item.result} label={`Result of ${item.name}`} /></>}
            <p class="dim"><a href={`/turns/${part(of.turn.id)}?call=${part(item.id)}`}>Why, ledger and timing</a></p>
          </div>
        )}
      </details>
      {unresolved && !unresolved.verdict && <ApprovalCard id={unresolved.approval} />}
    </>
  );
}

/** ApprovalCard asks what an approval asks that the events do not say all of. */
function ApprovalCard({ id }: { id: string }) {
  const ask = useSignal<Waiting | null>(null);
  const open = approvals.value.find((a) => a.id === id);
  useEffect(() => {
    if (open) ask.value = ofApproval(open);
    else get<Approval>(`/v1/approvals/${part(id)}`).then((a) => { ask.value = ofApproval(a); }).catch(() => { /* those who may not see it wait for others */ });
  }, [id, open]);
  return ask.value && <AskCard ask={ask.value} />;
}

/** Below asks what the sub-agents of a turn wait for. */
function Below({ turn }: { turn: TurnView }) {
  const ids = useSignal<string[]>([]);
  const pending = approvals.value;
  useEffect(() => {
    let over = false;
    const ask = () => get<Turn & { waiting_for: string[] }>(`/v1/turns/${part(turn.id)}`).then((t) => {
      if (!over) ids.value = t.waiting_for ?? [];
    }).catch(() => undefined);
    ask();
    const timer = setInterval(() => { if (!document.hidden) ask(); }, 3000);
    return () => {
      over = true;
      clearInterval(timer);
    };
  }, [turn.id, pending]);
  const own = new Set(turn.items.flatMap((i) => (i.kind === "ask" ? [i.id] : [])));
  const others = ids.value.filter((id) => !own.has(id));
  if (!others.length) return null;
  return <>{others.map((id) => <ApprovalCard key={id} id={id} />)}</>;
}

/** ChildView is a sub-agent's turn, which unfolds where it was asked. */
function ChildView({ item }: { item: Child }) {
  const open = useSignal(false);
  return (
    <details class="child" onToggle={(e) => { if (e.target === e.currentTarget) open.value = e.currentTarget.open; }}>
      <summary>Agent <b>{item.agent}</b>: <span class="state">{item.status}</span></summary>
      {open.value && <ChildItems id={item.id} />}
      <p class="dim"><a href={`/turns/${part(item.id)}`}>Its turn</a>{item.session && <> · <a href={`/sessions/${part(item.session)}`}>Its conversation</a></>}</p>
    </details>
  );
}

function ChildItems({ id }: { id: string }) {
  const said = useMemo(nothingSaid, [id]);
  const stream = useMemo(() => new Stream(`/v1/turns/${part(id)}/events`, (e) => record(said, e), types), [id]);
  useEffect(() => () => stream.close(), [stream]);
  void stream.version.value;
  const turn = stream.view.turns.get(id);
  return <div class="said">{turn ? <TurnItems turn={{ ...turn }} said={said} /> : <p class="note">{stream.problem.value || "Reading its events…"}</p>}</div>;
}

/** Footer says how a turn stands, and leads to its other views. */
function Footer({ turn }: { turn: TurnView }) {
  const u = turn.usage ?? {};
  const facts = [
    turn.status === "waiting" ? "waits for you" : turn.status,
    turn.stop && turn.stop !== "end" && turn.stop !== turn.status ? turn.stop : "",
    turn.ended && turn.queued ? duration(turn.ended - turn.queued) : "",
    u.input_tokens || u.output_tokens ? `${u.input_tokens} → ${u.output_tokens} tokens` : "",
    money(Number(u.cost_micros ?? 0)),
  ].filter(Boolean);
  return (
    <div class="note foot">
      <span class={`turn-status ${turn.status}`}>{facts.join(" · ")}</span>
      {turn.limit && <span> · {turn.limit}</span>}
      <TurnLinks id={turn.id} page />
    </div>
  );
}

function TurnLinks({ id, page }: { id: string; page?: boolean }) {
  return (
    <span class="links">
      {page && <a href={`/turns/${id}`}>Timeline</a>}
      {workflows && <a href={workflows + id} target="_blank" rel="noreferrer">Temporal</a>}
      <a href={`/v1/turns/${id}`} target="_blank" rel="noreferrer">JSON</a>
    </span>
  );
}
