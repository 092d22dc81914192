// A conversation: the events of its session, folded, and a form for the next message.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { call, get, part, post, type Session, type Turn } from "../api";
import { go } from "../route";
import { agents, kill, loadInventory, loadSessions, sessions } from "../store";
import { Stream } from "../stream";
import { TurnItems } from "./items";

export function Chat({ session }: { session: string }) {
  const stream = useMemo(() => (session ? new Stream(`/v1/sessions/${part(session)}/events`) : null), [session]);
  useEffect(() => () => stream?.close(), [stream]);
  const version = stream?.version.value ?? 0;
  const turns = stream ? [...stream.view.turns.values()] : [];
  const active = turns.find((t) => !t.ended);
  const log = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  useLayoutEffect(() => {
    const l = log.current;
    if (l && near.current) l.scrollTop = l.scrollHeight;
  }, [version]);
  const watched = () => {
    const l = log.current!;
    near.current = l.scrollHeight - l.scrollTop - l.clientHeight < 120;
  };
  return (
    <section class="talk" aria-label="Conversation">
      <h2 class="unseen">Conversation</h2>
      <Bar session={session} />
      <div class="log" ref={log} onScroll={watched} role="log" aria-live="polite" tabIndex={0} aria-label="Messages">
        {turns.length === 0 && <Empty session={session} />}
        {turns.map((t) => <TurnItems key={t.id} turn={t} />)}
        {active && <Pending id={active.id} status={active.status} />}
        {stream?.problem.value && <div class="note bad" role="alert">{stream.problem.value}</div>}
      </div>
      <Composer session={session} active={active?.id ?? ""} />
    </section>
  );
}

const chosen = () => localStorage.getItem("agent") ?? "";

function Bar({ session }: { session: string }) {
  const agent = useSignal("");
  useEffect(() => {
    agent.value = "";
    if (session) get<Session>(`/v1/sessions/${part(session)}`).then((s) => { agent.value = s.agent_id; }).catch(() => {});
  }, [session]);
  if (session) {
    return (
      <div class="bar">
        <b>{agent.value}</b> <span class="id">{session}</span>
        <a class="button quiet" href="/">New conversation</a>
      </div>
    );
  }
  return (
    <div class="bar">
      <label>Agent{" "}
        <select value={chosen()} disabled={!agents.value?.length} onChange={(e) => localStorage.setItem("agent", e.currentTarget.value)}>
          {agents.value?.map((a) => <option key={a.id} value={a.id} selected={a.id === chosen()}>{a.display_name || a.id}</option>)}
        </select>
      </label>
    </div>
  );
}

function Empty({ session }: { session: string }) {
  const problem = useSignal("");
  if (session) return <div class="empty"><p>Nothing has been said yet.</p></div>;
  const make = () => post("/v1/agents", { id: "assistant", description: "A first agent with all tools.", tools: ["*"] })
    .then(loadInventory).catch((e) => { problem.value = e.message; });
  return (
    <div class="empty">
      <p><strong>Try an agent.</strong> Send it a message: its answer, its tools and their results appear here as they happen.</p>
      {agents.value?.length === 0 && <p>There is no agent yet. <button type="button" onClick={make}>Create “assistant” with all tools</button></p>}
      {problem.value && <p class="note bad" role="alert">{problem.value}</p>}
    </div>
  );
}

/** Pending says why a turn does not go on, asked after a moment without news. */
function Pending({ id, status }: { id: string; status: string }) {
  const why = useSignal("");
  useEffect(() => {
    why.value = "";
    if (status === "waiting") return;
    const ask = () => get<Turn>(`/v1/turns/${part(id)}`).then((t) => {
      why.value = t.pending ? [t.pending.detail, t.pending.action].filter(Boolean).join(". ") : "";
    }).catch(() => {});
    const timer = setInterval(ask, 3000);
    return () => clearInterval(timer);
  }, [id, status]);
  return why.value ? <div class="note" role="status">Waiting: {why.value}</div> : null;
}

function Composer({ session, active }: { session: string; active: string }) {
  const problem = useSignal("");
  const busy = useSignal(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const none = useComputed(() => !agents.value?.length);
  const send = async () => {
    const text = input.current!.value.trim();
    if (!text || busy.value) return;
    busy.value = true;
    problem.value = "";
    try {
      let id = session;
      if (!id) {
        const known = agents.value!.some((a) => a.id === chosen());
        id = (await post<Session>("/v1/sessions", { agent_id: known ? chosen() : agents.value![0]!.id })).id;
      }
      await post(`/v1/sessions/${part(id)}/turns`, { input: text });
      input.current!.value = "";
      if (!session) go(`/sessions/${id}`);
      loadSessions();
    } catch (e) {
      problem.value = (e as Error).message;
    }
    busy.value = false;
    input.current?.focus();
  };
  const cancel = () => call("POST", `/v1/turns/${part(active)}:cancel`, {}).catch((e) => { problem.value = e.message; });
  return (
    <form class="composer" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {problem.value && <div class="note bad" role="alert">{problem.value}</div>}
      <div class="row">
        <textarea ref={input} rows={2} aria-label="Message" placeholder="Write a message…"
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
              e.preventDefault();
              send();
            }
          }} />
        <button type="submit" disabled={busy.value || (!session && none.value)}>Send</button>
        {active && <button type="button" class="quiet" onClick={cancel}>Cancel</button>}
        {active && kill && <Kill key={active} />}
      </div>
    </form>
  );
}

/** Kill lets people see a turn survive. The server may be gone before its answer arrives. */
function Kill() {
  const killed = useSignal(false);
  const act = () => {
    killed.value = true;
    call("POST", kill).catch(() => {});
  };
  if (killed.value) return <span role="status">Killed, with all that runs in this process. It starts again, and the turn goes on.</span>;
  return <button type="button" class="quiet" onClick={act} title="Ends the process as kill -9 does, and starts it again">Kill the worker</button>;
}

export function SessionList({ current }: { current: string }) {
  return (
    <ul class="list sessions">
      {sessions.value.length === 0 && <li class="none">none yet</li>}
      {sessions.value.map((s) => (
        <li key={s.id}>
          <a href={`/sessions/${s.id}`} aria-current={s.id === current ? "page" : undefined} title={s.title}>
            {s.active_turn_id && <span class="live" title="A turn is running" />}
            {s.title || s.agent_id}
          </a>
        </li>
      ))}
    </ul>
  );
}
