// What is known of one row of a timeline: arguments, result, decision, ledger, attempts, owners.
import type { ComponentChildren } from "preact";
import { part } from "../api";
import { plain } from "../fold";
import { count, duration, money, short, visible } from "../format";
import { parse } from "../json";
import { withParams } from "../route";
import type { Call, Decision, Gap, Model, Row, Timeline, Wait } from "../timeline";
import { Copy, Facts, Id, Json, Money, Problem, Status, Took, useLoad, When } from "../ui";
import { closePanel, laneNames, lasted } from "./waterfall";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // data of events, whose types are the API's

export function Panel({ row, of, own, now }: { row: Row; of: Timeline; own: boolean; now: number }) {
  const queued = row.bars.filter((b) => b.kind === "queue").reduce((n, b) => n + (b.to || now) - b.from, 0);
  return (
    <section class="tl-panel" aria-label={`${laneNames[row.lane]}: ${row.name.slice(0, 100)}`} onKeyDown={(e) => { if (e.key === "Escape") closePanel(); }}>
      <div class="dialog-head">
        <h3>{visible(row.name.slice(0, 300))}</h3>
        <button type="button" class="icon" aria-label="Close this panel" onClick={closePanel}>×</button>
      </div>
      <Facts of={[
        ["State", <Status of={row.state === "unknown" ? "unresolved" : row.state === "denied" || row.state === "lost" ? row.state : row.state} />],
        ["Began", <span title={new Date(row.from).toISOString()}>{duration(row.from - of.queued)} into the turn</span>],
        ["Took", row.mark ? "" : <Took ms={lasted(row, now)} />],
        ["Queued", queued >= 1 && row.id !== "queue" ? <Took ms={queued} /> : ""],
        ["Attempts", row.attempts > 1 ? row.attempts : ""],
        ["Events", <a href={withParams({ tab: "events", about: row.call?.id ?? row.steps[0] ?? "", at: "" })}>{row.seq}{row.endSeq > row.seq ? ` – ${row.endSeq}` : ""}</a>],
      ]} />
      {row.error && row.state !== "done" && !row.call?.result && <p class="note bad">{visible(row.error)}</p>}
      {row.lost.length > 0 && <LostAttempts row={row} of={of} />}
      {row.call && <CallDetails call={row.call} row={row} of={of} own={own} />}
      {row.model && <ModelDetails model={row.model} row={row} own={own} />}
      {row.wait && <WaitDetails id={row.id} wait={row.wait} />}
      {row.gap && <GapDetails row={row} gap={row.gap} of={of} />}
      {row.decision && <DecisionDetails of={row.decision} call={row.decision.call} />}
      {row.child && (
        <Facts of={[["Turn", <Id of={row.child.turn} href={`/turns/${part(row.child.turn)}`} />], ["Conversation", <a href={`/sessions/${part(row.child.session)}`}>open</a>],
          ["Status", <Status of={row.child.status} />], ["Runs", row.child.background ? "in the background" : ""],
          ["Tokens", row.child.usage ? `${row.child.usage.input_tokens} → ${row.child.usage.output_tokens}` : ""],
          ["Cost", row.child.usage ? <Money micros={row.child.usage.cost_micros} /> : ""]]} />
      )}
    </section>
  );
}

function Section({ name, children, aside }: { name: string; children: ComponentChildren; aside?: ComponentChildren }) {
  return <section class="tl-section"><div class="tl-section-head"><h4>{name}</h4>{aside}</div>{children}</section>;
}

function LostAttempts({ row, of }: { row: Row; of: Timeline }) {
  return (
    <Section name="Lost attempts">
      <ul class="plain-list">
        {row.lost.map((l) => (
          <li key={l.attempt}>
            <del>Attempt {l.attempt}</del> {duration(l.from - of.queued)} – {duration(l.to - of.queued)}: {visible(l.why)}{l.owner && <>, <Id of={l.owner} /></>}
            {l.text && <del class="lost">{visible(l.text.slice(0, 4000))}</del>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** few is how much of a text is shown at first. */
const few = 20_000;

/** Text is a text of others, with what one does not see made visible. */
function Text({ of, label }: { of: string; label: string }) {
  return (
    <div class="tl-textbox">
      <pre tabIndex={0} aria-label={label}>{visible(of.slice(0, few))}{of.length > few ? `\n… ${of.length - few} more characters` : ""}</pre>
      <Copy text={of} />
    </div>
  );
}

/** asTree reads a text that is a JSON object or list. */
function asTree(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > 2_000_000) return undefined;
  try { return parse(text); } catch { return undefined; }
}

function Result({ of }: { of: Any }) {
  const text = plain(of.content);
  const tree = asTree(text);
  const structured = of.structured_content;
  if (!text && structured != null) return <Json value={structured} label="Result" />;
  return (
    <>
      {tree === undefined ? <Text of={text || "(nothing)"} label="Result" /> : <Json value={tree} label="Result" />}
      {structured != null && tree === undefined && <details><summary class="dim">As data</summary><Json value={structured} label="Result as data" /></details>}
    </>
  );
}

function CallDetails({ call: c, row, of, own }: { call: Call; row: Row; of: Timeline; own: boolean }) {
  const last = c.decisions.at(-1);
  const how = [c.cached ? (c.effect === "once" ? "from the ledger: the tool was not called again" : "from the cache: the tool was not called") : "", c.recorded ? "recorded in the turn that this one runs again: the tool was not called" : "",
    c.truncated ? "shortened for the model" : "", c.code].filter(Boolean).join(" · ");
  return (
    <>
      <Section name="Arguments"><Json value={c.args ?? {}} label="Arguments" /></Section>
      {c.result && (
        <Section name={c.isError ? "Error that the model read" : "Result"} aside={<span class="dim">{how}</span>}>
          <Result of={c.result} />
          {c.artifacts.map((a) => <p key={a}><a href={`/v1/artifacts/${part(a)}`} target="_blank" rel="noreferrer">whole result {a}</a></p>)}
        </Section>
      )}
      <Section name="Policy">
        {!last && <p class="dim">{of.rerun && c.recorded ? "Nothing was decided: the result was recorded." : "The journal has no decision about this call."}</p>}
        {last && <DecisionDetails of={last} call={c.id} />}
      </Section>
      {row.children.map((id) => of.rows.get(id)).map((r) => r?.wait && (
        <Section key={r.id} name="Approval and waits"><WaitDetails id={r.id} wait={r.wait} /></Section>
      ))}
      {c.child && <Section name="Sub-agent"><p>It works in turn <Id of={c.child} href={`/turns/${part(c.child)}`} />.</p></Section>}
      <Section name="Ledger">
        {c.execution ? <Ledger id={c.execution} own={own} /> : <p class="dim">{c.child ? "Sub-agents have a turn, not a row in the ledger." : "There is no row: nothing was sent to the tool."}</p>}
      </Section>
      <p class="dim">Call <Id of={c.id} /> of <a href={`/tools/${part(c.tool.slice(0, 200))}`}>{visible(c.tool.slice(0, 200))}</a>{c.effect && <>, effect {c.effect}</>}</p>
    </>
  );
}

/** DecisionDetails is what policy decided, with the rule of its record. */
function DecisionDetails({ of, call }: { of: Decision; call: string }) {
  const record = useLoad<Any>(`/v1/decisions/${part(of.id)}`);
  const d = record.data;
  return (
    <div class="tl-why">
      <p><Status of={of.allowed ? "allowed" : "denied"} /> {visible(d?.reason || of.reason)}</p>
      {d && (
        <Facts of={[
          ["Rule", <code class="tl-rule">{d.rule || "none: denied by default"}</code>],
          ["Policies", (d.policies ?? []).join(", ")],
          ["Revision", d.policy_revision !== "0" ? d.policy_revision : ""],
          ["For", d.subject],
        ]} />
      )}
      {record.problem && record.problem.status !== 404 && <Problem of={record.problem} />}
      {record.problem?.status === 404 && <p class="dim">The record is no longer kept.</p>}
      <p><a href={`/access?decision=${part(of.id)}`}>Why, and for whom else</a> <span class="dim">{of.id} · call {call}</span></p>
    </div>
  );
}

const ledgerWords: Record<string, string> = {
  done: "It took effect, and the row holds its result: it is never sent again.", failed: "It failed, and the row says so.", open: "It has been sent, and has not answered.",
  unresolved: "It is not known whether it took effect. It is not sent again by itself.", waiting: "It waits for a person.",
};

function Ledger({ id, own }: { id: string; own: boolean }) {
  const row = useLoad<Any>(`/v1/executions/${part(id)}`, own ? 4000 : 0);
  if (row.problem && !row.data) return row.problem.status === 404 ? <p class="dim">The row {id} is no longer kept.</p> : <Problem of={row.problem} />;
  const x = row.data;
  if (!x) return <p class="dim">Reading the row…</p>;
  return (
    <div class="tl-ledger">
      <p>{ledgerWords[x.state] ?? ""}</p>
      <Facts of={[
        ["State", <Status of={x.state} />], ["Row", <Id of={x.id} />], ["Key", <Id of={x.key} />], ["Sent", count(x.attempts, "time")], ["Effect", x.effect],
        ["Written", <When at={x.create_time} />], ["Ended", x.end_time ? <When at={x.end_time} /> : ""], ["Took", x.end_time ? <Took ms={x.latency_ms} /> : ""],
        ["Cache", x.cache === "hit" ? "hit: nothing was sent" : x.cache === "miss" ? "miss" : ""], ["Source", x.source ? <a href={`/sources/${part(x.source)}`}>{x.source}</a> : ""],
        ["Code", x.code], ["Approval", x.approval_id ? <a href={`/inbox/${part(x.approval_id)}`}>{x.approval_id}</a> : ""],
        ["Reported", x.resolution ? `${x.resolution.replaceAll("_", " ")} by ${x.resolved_by || "the end of its time"}${x.resolution_comment ? `: ${x.resolution_comment}` : ""}` : ""],
      ]} />
      <details><summary class="dim">Whole row</summary><Json value={x} label="Row of the ledger" /></details>
    </div>
  );
}

function WaitDetails({ id, wait: w }: { id: string; wait: Wait }) {
  return (
    <>
      {w.message && <p>{visible(w.message.slice(0, few))}</p>}
      <Facts of={[
        ["Kind", w.kind.replaceAll("_", " ")], ["Rule", w.rule && <code>{w.rule}</code>], ["Roles", w.roles.join(", ")], ["Needs", w.quorum > 1 ? count(w.quorum, "approval") : ""],
        ["Verdict", w.verdict ? <Status of={w.verdict} /> : "open"], ["By", w.by], ["Expires", w.expires && !w.verdict ? <When at={w.expires} /> : ""],
        ["Arguments", w.argsHash && <span title={w.argsHash}>{short(w.argsHash)}</span>], ["Definition", w.definitionHash && <span title={w.definitionHash}>{short(w.definitionHash)}</span>],
      ]} />
      {w.decisions.map((d: Any) => <p key={d.subject + d.time}>{d.subject} {d.approve ? "approved" : "denied"} <When at={d.time} />{d.comment && `: ${visible(d.comment)}`}</p>)}
      <p><a href={`/inbox/${part(id)}`}>In the inbox</a></p>
    </>
  );
}

function ModelDetails({ model: m, row, own }: { model: Model; row: Row; own: boolean }) {
  const u = m.usage;
  const step = /^infer-(\d+)$/.exec(row.steps[0] ?? "")?.[1];
  return (
    <>
      <Facts of={[
        ["Model", m.model], ["Finished", m.finish], ["Read", u ? `${count(u.input_tokens, "token")}${u.cached_input_tokens ? `, ${u.cached_input_tokens} cached` : ""}` : ""],
        ["Wrote", u ? `${count(u.output_tokens, "token")}${u.reasoning_tokens ? `, ${u.reasoning_tokens} reasoning` : ""}` : ""], ["Cost", u ? <Money micros={u.cost_micros} /> : ""],
        ["First token", u ? <Took ms={m.firstToken} /> : ""],
      ]} />
      {own && step && <p><a href={withParams({ tab: "context", step, span: "", at: "" })}>What the model read</a></p>}
      {m.warnings.map((w) => <p key={w} class="note">{visible(w)}</p>)}
      {m.attempts.length > 0 && (
        <Section name="Attempts">
          <div class="scroll" tabIndex={0} role="region" aria-label="Attempts of the model call">
            <table class="small-table">
              <thead><tr><th scope="col">Target</th><th scope="col">Key</th><th scope="col">Ended</th><th scope="col">Took</th><th scope="col">Tokens</th><th scope="col">Cost</th></tr></thead>
              <tbody>
                {m.attempts.map((a: Any, i: number) => (
                  <tr key={i} title={a.message}>
                    <td>{a.class === "answered" || a.class === "cut" ? a.model : <del>{a.model}</del>}</td><td>{a.key || "–"}</td><td>{String(a.class).replaceAll("_", " ")}</td>
                    <td>{duration(a.duration_ms)}</td><td>{a.usage ? `${a.usage.input_tokens} → ${a.usage.output_tokens}` : "–"}</td><td>{money(Number(a.usage?.cost_micros ?? 0)) || "–"}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {m.attempts.map((a: Any, i: number) => a.message && <p key={i} class="note">Attempt {i + 1}: {visible(a.message)}{Number(a.retry_after_ms) > 0 && ` It may be called again after ${duration(Number(a.retry_after_ms))}.`}</p>)}
        </Section>
      )}
      {m.reasoning && <details><summary>Reasoning</summary><Text of={m.reasoning} label="Reasoning" /></details>}
      {m.text && <Section name={row.to ? "Answer" : "Answer so far"}><Text of={m.text} label="Answer" /></Section>}
      {m.calls.length > 0 && <p class="dim">It asked for {count(m.calls.length, "call")}: {m.calls.map((id, i) => <>{i > 0 && ", "}<a href={withParams({ call: id, span: "" })}>{id}</a></>)}.</p>}
    </>
  );
}

const outcomes: Record<string, string> = {
  again: "The model was asked again. What it had written was discarded.",
  sent: "The call was sent again: this tool may be repeated.",
  kept: "The call was not sent again: its result was known.",
  unknown: "The call was not sent again: this tool may take effect only once, and it is not known whether it did.",
  "": "Nothing is known of it yet.",
};

/** GapDetails is where a worker was lost: who had the turn before and after, and what was not done again. */
function GapDetails({ row, gap: g, of }: { row: Row; gap: Gap; of: Timeline }) {
  const kept = [g.kept.model ? count(g.kept.model, "model call") : "", g.kept.tool ? count(g.kept.tool, "tool call") : ""].filter(Boolean).join(" and ");
  return (
    <>
      <p>The journal has nothing between {duration(row.from - of.queued)} and {duration(row.to - of.queued)}: within this time the worker was lost, and another one took the turn over.</p>
      <Facts of={[["Before", <Id of={g.previous} />], ["After", <Id of={g.owner} />], ["Without a worker", <>at most <Took ms={row.to - row.from} /></>]]} />
      <Section name="Not repeated">
        <p class="tl-kept">{kept ? `${kept} had finished before and ${g.kept.model + g.kept.tool === 1 ? "was" : "were"} not repeated: results are in the journal.` : "Nothing had finished before."}</p>
      </Section>
      <Section name="In progress then">
        <ul class="plain-list">
          {g.steps.map((s) => (
            <li key={s.step}><a href={withParams({ span: s.row, call: "" })}>{visible(s.name)}</a>{s.effect && <span class="dim"> effect {s.effect}</span>}<br />{outcomes[s.outcome]}</li>
          ))}
        </ul>
      </Section>
    </>
  );
}
