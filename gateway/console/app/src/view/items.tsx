// What happened in a turn, as a conversation shows it.
import { useMemo } from "preact/hooks";
import type { Child, Item, Text, Tool, TurnView } from "../fold";
import { duration, money } from "../format";
import { markdown } from "../markdown";
import { workflows } from "../store";
import { AskCard } from "./ask";

export function TurnItems({ turn }: { turn: TurnView }) {
  return (
    <>
      {turn.input && <div class="user"><div class="bubble">{turn.input}</div></div>}
      {turn.items.map((i) => <ItemView key={i.kind + i.id} item={i} />)}
      <Footer turn={turn} />
    </>
  );
}

function ItemView({ item }: { item: Item }) {
  switch (item.kind) {
    case "text": return <TextView item={item} />;
    case "tool": return <ToolView item={item} />;
    case "ask": return <AskCard ask={{ ...item }} />; // a copy: a component with signals is not drawn again for the same object
    case "child": return <ChildView item={item} />;
    case "note": return <div class={item.bad ? "note bad" : "note"}>{item.text}</div>;
  }
}

function TextView({ item }: { item: Text }) {
  const html = useMemo(() => (item.open ? "" : markdown(item.text)), [item.open, item.text]);
  if (!item.open && !item.text && !item.reasoning && !item.lost.length) return null;
  return (
    <div class={item.open ? "answer open" : "answer"}>
      {item.lost.map((t, n) => <del key={n} class="lost" title="An attempt that was lost with its worker">{t}</del>)}
      {item.reasoning && <details class="reasoning" open={item.open}><summary>Reasoning</summary>{item.reasoning}</details>}
      {html ? <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} /> : <div class="bubble">{item.text}</div>}
    </div>
  );
}

function ToolView({ item }: { item: Tool }) {
  return (
    <details class={`tool ${item.outcome}`}>
      <summary><span class="name">{item.name || "tool"}</span><span class="state">{item.state}{item.outcome && ` · ${duration(item.millis)}`}</span></summary>
      {item.args && <pre tabIndex={0}>{item.args}</pre>}
      {item.result && <pre tabIndex={0}>{item.result}</pre>}
    </details>
  );
}

function ChildView({ item }: { item: Child }) {
  return <div class="note">Agent <b>{item.agent}</b>: <a href={`/turns/${item.id}`}>{item.status}</a></div>;
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
      <span class={`status ${turn.status}`}>{facts.join(" · ")}</span>
      {turn.limit && <span> · {turn.limit}</span>}
      <TurnLinks id={turn.id} page />
    </div>
  );
}

export function TurnLinks({ id, page }: { id: string; page?: boolean }) {
  return (
    <span class="links">
      {page && <a href={`/turns/${id}`}>Timeline</a>}
      {workflows && <a href={workflows + id} target="_blank" rel="noreferrer">Temporal</a>}
      <a href={`/v1/turns/${id}`} target="_blank" rel="noreferrer">JSON</a>
    </span>
  );
}
