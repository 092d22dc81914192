// A turn: a waterfall of its steps, waits and children, and what was said in it.
import { useSignal } from "@preact/signals";
import { useMemo, useEffect } from "preact/hooks";
import { part } from "../api";
import type { Span, TurnView } from "../fold";
import { duration, money } from "../format";
import { Stream } from "../stream";
import { TurnItems, TurnLinks } from "./items";

export function TurnPage({ id }: { id: string }) {
  const stream = useMemo(() => new Stream(`/v1/turns/${part(id)}/events`), [id]);
  useEffect(() => () => stream.close(), [stream]);
  const seconds = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => { seconds.value++; }, 1000);
    return () => clearInterval(timer);
  }, [id]);
  void [stream.version.value, seconds.value]; // draw again with each change, and while time passes
  const turn = stream.view.turns.get(id);
  return (
    <section class="page turn" aria-label="Turn">
      <h2 class="title">Turn <span class="id">{id}</span></h2>
      {stream.problem.value && <p class="note bad" role="alert">{stream.problem.value}</p>}
      {turn ? <Details turn={turn} session={sessionOf(stream)} /> : <p class="note">Reading its events…</p>}
    </section>
  );
}

const sessionOf = (s: Stream) => s.session.value;

function Details({ turn, session }: { turn: TurnView; session: string }) {
  const u = turn.usage ?? {};
  return (
    <>
      <dl class="facts">
        <Fact name="Status"><span class={`status ${turn.status}`}>{turn.status}</span></Fact>
        <Fact name="Agent">{turn.agent}</Fact>
        <Fact name="Model">{turn.model}</Fact>
        <Fact name="Duration">{turn.queued ? duration((turn.ended || Date.now()) - turn.queued) : ""}</Fact>
        <Fact name="Tokens">{u.input_tokens != null ? `${u.input_tokens} → ${u.output_tokens}` : ""}</Fact>
        <Fact name="Cost">{money(Number(u.cost_micros ?? 0)) || "none"}</Fact>
      </dl>
      <p><a href={`/sessions/${session}`}>Conversation</a> <TurnLinks id={turn.id} /></p>
      <h3>Timeline</h3>
      <Waterfall turn={turn} />
      <h3>What happened</h3>
      <div class="said"><TurnItems turn={turn} /></div>
    </>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Waterfall({ turn }: { turn: TurnView }) {
  const from = turn.queued || (turn.spans[0]?.start ?? 0);
  const to = Math.max(turn.ended || Date.now(), ...turn.spans.map((s) => s.end), from + 1);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Timeline of steps">
      <table class="waterfall">
        <thead>
          <tr><th scope="col">Step</th><th scope="col">Duration</th><th scope="col">Attempts</th><th scope="col">Tokens</th><th scope="col">Cost</th>
            <th scope="col" class="bars">0 – {duration(to - from)}</th></tr>
        </thead>
        <tbody>{turn.spans.map((s) => <Row key={s.lane + s.id} s={s} from={from} to={to} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ s, from, to }: { s: Span; from: number; to: number }) {
  const end = s.end || to;
  // A step's start is known to the commit before it, its duration exactly.
  const millis = s.lane === "step" && s.end ? s.millis : end - s.start;
  const percent = (t: number) => `${(100 * (t - from)) / (to - from)}%`;
  const name = s.link ? <a href={s.link}>{s.name}</a> : s.name;
  const title = [s.note, s.error].filter(Boolean).join(": ");
  return (
    <tr class={s.error ? "failed" : ""} title={title}>
      <th scope="row">{name}{s.cached && <span class="tag">cached</span>}{s.note && s.lane === "step" && <span class="tag">recovered</span>}</th>
      <td>{duration(millis)}{!s.end && "…"}</td>
      <td>{s.lane === "step" ? s.attempts : ""}</td>
      <td>{s.tokensIn || s.tokensOut ? `${s.tokensIn} → ${s.tokensOut}` : ""}</td>
      <td>{money(s.micros)}</td>
      <td class="bars">
        <div class={`bar-of ${s.lane} ${s.end ? "" : "live"}`}
          style={{ marginLeft: percent(s.start), width: `max(3px, ${percent(from + Math.max(end - s.start, 0))})` }} />
      </td>
    </tr>
  );
}
