// A card for what a turn waits for: an approval, a question, or the result of a tool that the client runs.
import { useSignal } from "@preact/signals";
import { part, post, type Approval, type Authorization, type Schema } from "../api";
import { short, visible, webAddress } from "../format";
import { indented, parse } from "../json";
import { can, loadApprovals, logInAgain, login } from "../store";
import { SchemaForm } from "../ui/form";
import { Json } from "../ui/json";
import { WhomToAsk } from "../ui/page";
import { When } from "../ui/show";
import { titles } from "./titles";

export interface Waiting {
  id: string; turn: string; call: string; wait: string; tool: string; message: string; args: string; argsHash: string; definitionHash: string; rule: string;
  authorization: Authorization | null; schema: Schema | null; roles: string[]; quorum: number; verdict: string; by: string;
  decisions?: Approval["decisions"]; expires?: string | null;
}

export const ofApproval = (a: Approval): Waiting => ({
  id: a.id, turn: a.turn_id, call: a.call_id, wait: a.kind, tool: a.tool, message: a.message, args: a.arguments_json ? indented(a.arguments_json) : "", argsHash: a.arguments_hash, definitionHash: a.definition_hash,
  rule: a.rule, authorization: a.authorization, schema: a.schema, roles: a.approver_roles, quorum: a.quorum, verdict: a.status === "pending" ? "" : a.verdict || a.status,
  by: a.status === "pending" ? "" : a.decisions.map((d) => d.subject).join(", "), decisions: a.decisions, expires: a.expire_time,
});

/** lost is what a person reads of a call with an unknown outcome; what the model would read is for the model. */
const lost = "The call was sent, and its outcome was lost. Look in the system that it changes, then say whether it was done: it is not sent again by itself.";

export function AskCard({ ask, onDone }: { ask: Waiting; onDone?: () => void }) {
  const problem = useSignal("");
  const busy = useSignal(false);
  const done = async (f: () => Promise<unknown>) => {
    busy.value = true;
    problem.value = "";
    try {
      await f();
      await loadApprovals();
      onDone?.();
    } catch (e) {
      problem.value = (e as Error).message;
    }
    busy.value = false;
  };
  const title = titles[ask.wait] ?? ask.wait;
  return (
    <section class={`card ask ${ask.verdict ? "over" : ""}`} aria-label={`${title}: ${ask.tool} (${ask.id.slice(-6)})`}>
      <h3>{title} <code>{ask.tool}</code></h3>
      {ask.wait === "resolution" ? <p>{lost}</p> : ask.message && <p class="message">{ask.message}</p>}
      {ask.args && ask.wait !== "input" && <Arguments text={ask.args} tool={ask.tool} />}
      {ask.wait === "approval" && (
        <p class="dim">
          {ask.rule && <>rule <b>{ask.rule}</b> · </>}
          {ask.roles.length > 0 && <>roles {ask.roles.join(", ")} · </>}
          {ask.quorum > 1 && <>{ask.quorum} people · </>}
          <span title={ask.argsHash}>arguments {short(ask.argsHash)}</span> · <span title={ask.definitionHash}>tool {short(ask.definitionHash)}</span>
          {ask.expires && !ask.verdict && <> · expires <When at={ask.expires} /></>}
        </p>
      )}
      {!ask.verdict && ask.decisions && ask.decisions.length > 0 && (
        <p class="decided" role="status">
          {ask.decisions.filter((d) => d.approve).length} of {ask.quorum} approved:{" "}
          {ask.decisions.map((d) => `${d.subject} ${d.approve ? "approved" : "denied"}${d.comment ? ` (${d.comment})` : ""}`).join(", ")}
        </p>
      )}
      {ask.verdict
        ? <p class="verdict" role="status">{ask.verdict === "over" ? "No longer needed" : ask.verdict}{ask.by && ` by ${ask.by}`}</p>
        : ask.wait === "approval" ? <Decide ask={ask} busy={busy.value} done={done} />
        : ask.wait === "input" ? <Answer ask={ask} busy={busy.value} done={done} />
        : ask.wait === "client_tool" ? <Result ask={ask} busy={busy.value} done={done} />
        : ask.wait === "authorization" ? <Authorize ask={ask} busy={busy.value} done={done} />
        : <Resolve ask={ask} busy={busy.value} done={done} />}
      {problem.value && <p class="note bad" role="alert">{problem.value}</p>}
    </section>
  );
}

function Arguments({ text, tool }: { text: string; tool: string }) {
  let value: unknown;
  try { value = parse(text); } catch { return <pre tabIndex={0}>{visible(text)}</pre>; }
  if (value && typeof value === "object" && !Object.keys(value).length) return <p class="dim">without arguments</p>;
  return <Json value={value} label={`Arguments of ${tool}`} />;
}

/** Others says that the caller cannot do what is waited for. */
const Others = ({ permission }: { permission: string }) => <p class="dim">This waits for someone else. <WhomToAsk permission={permission} /></p>;

type Doing = { ask: Waiting; busy: boolean; done: (f: () => Promise<unknown>) => void };

function Decide({ ask, busy, done }: Doing) {
  const comment = useSignal("");
  if (!can("sessions.approvals.decide")) return <Others permission="sessions.approvals.decide" />;
  const decide = (decision: string) => done(() => post(`/v1/approvals/${part(ask.id)}:decide`, {
    decision, comment: comment.value, arguments_hash: ask.argsHash,
  }));
  return (
    <div class="row">
      <input type="text" aria-label="Comment" placeholder="Comment (optional)" value={comment} onInput={(e) => { comment.value = e.currentTarget.value; }} />
      <button type="button" data-key="a" disabled={busy} onClick={() => decide("approve")}>Approve</button>
      <button type="button" data-key="d" class="quiet bad" disabled={busy} onClick={() => decide("deny")}>Deny</button>
    </div>
  );
}

/** Answer is a form of the fields of the question's schema. */
function Answer({ ask, busy, done }: Doing) {
  const content = useSignal<unknown>({});
  const send = (action: string) => done(() => post(`/v1/approvals/${part(ask.id)}:answer`, action === "accept" ? { action, content: content.value } : { action }));
  if (!can("sessions.approvals.answer")) return <Others permission="sessions.approvals.answer" />;
  return (
    <form class="answer-form" onSubmit={(e) => { e.preventDefault(); send("accept"); }}>
      {ask.schema && <SchemaForm schema={ask.schema} value={content.value} onInput={(v) => { content.value = v; }} />}
      <div class="row">
        <button type="submit" disabled={busy}>Answer</button>
        <button type="button" class="quiet" disabled={busy} onClick={() => send("decline")}>Decline</button>
      </div>
    </form>
  );
}

/** Result sends what a tool that the client runs returned. */
function Result({ ask, busy, done }: Doing) {
  const result = useSignal("");
  const send = (failed: boolean) => done(() => post(`/v1/approvals/${part(ask.id)}:answer`, { result: result.value, is_error: failed }));
  if (!can("sessions.approvals.answer")) return <Others permission="sessions.approvals.answer" />;
  return (
    <div class="row">
      <input type="text" aria-label="Result" placeholder="Result" value={result} onInput={(e) => { result.value = e.currentTarget.value; }} />
      <button type="button" disabled={busy} onClick={() => send(false)}>Send</button>
      <button type="button" class="quiet bad" disabled={busy} onClick={() => send(true)}>It failed</button>
    </div>
  );
}

/** Authorize leads to where the user logs in or connects the source. The turn goes on by itself after that. */
function Authorize({ ask, busy, done }: Doing) {
  const { source, kind, connect_url: url } = ask.authorization ?? { source: "", kind: "login", connect_url: "" };
  const web = webAddress(url);
  return (
    <div class="row">
      {kind === "connection"
        ? web ? <a class="button do" href={web} target="_blank" rel="noreferrer">Connect {source}</a>
          : <p class="dim">Connect it with <code>windlass connection create {source}</code>.</p>
        : login ? <button type="button" onClick={logInAgain}>Log in</button> : <p class="dim">Log in with <code>windlass login</code>.</p>}
      <button type="button" class="quiet bad" disabled={busy}
        onClick={() => done(() => post(`/v1/approvals/${part(ask.id)}:answer`, { action: "decline" }))}>Go on without</button>
    </div>
  );
}

/** Resolve says what became of a call whose outcome is unknown. */
function Resolve({ ask, busy, done }: Doing) {
  const result = useSignal("");
  const send = (outcome: string) => done(() => post(`/v1/turns/${part(ask.turn)}:resolve`, {
    call_id: ask.call, outcome, result: outcome === "done" ? result.value : "",
  }));
  if (!can("sessions.turns.resolve")) return <Others permission="sessions.turns.resolve" />;
  return (
    <div class="row">
      <input type="text" aria-label="Result" placeholder="Result, if it was done" value={result}
        onInput={(e) => { result.value = e.currentTarget.value; }} />
      <button type="button" data-key="a" disabled={busy} onClick={() => send("done")}>It was done</button>
      <button type="button" data-key="d" class="quiet" disabled={busy} onClick={() => send("not_done")}>It was not</button>
      <button type="button" class="quiet" disabled={busy} onClick={() => send("give_up")}>Give up</button>
    </div>
  );
}
