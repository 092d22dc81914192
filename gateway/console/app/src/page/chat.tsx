// Conversations: the list, and the one that is open.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { get, part, type Session, type Turn } from "../api";
import { chooseAgent } from "../chat/agents";
import { Composer, compose, composeIn, fork, Retry } from "../chat/composer";
import { Home } from "../chat/home";
import { markSeen, seen } from "../chat/kept";
import { leftOut, nothingSaid, record, type Said, types } from "../chat/said";
import { SessionMenu, Side } from "../chat/side";
import { loadMarkdown, Prose } from "../chat/text";
import { plain, type TurnView } from "../fold";
import type { PageProps } from "../route";
import { can } from "../store";
import { Stream } from "../stream";
import { ApiMenu, Dialog, failed, Id, Problem, useLoad, useTitle } from "../ui";
import { TurnItems } from "../view/items";
import type * as schema from "../schema";

export default function ChatPage({ id }: PageProps) {
  const side = useSignal(false);
  return (
    <div class={side.value ? "chat side-open" : "chat"}>
      <Side current={id} onClose={() => { side.value = false; }} />
      {id ? <Open key={id} id={id} onSide={() => { side.value = !side.value; }} /> : <New onSide={() => { side.value = !side.value; }} />}
    </div>
  );
}

const SideButton = ({ onSide }: { onSide: () => void }) => <button type="button" class="quiet small side-button" onClick={onSide}>Conversations</button>;

/** dropped gives files that are dropped on a conversation to its composer. */
const dropped = {
  onDragOver: (e: DragEvent) => { if (e.dataTransfer?.types.includes("Files")) e.preventDefault(); },
  onDrop: (e: DragEvent) => {
    const files = [...e.dataTransfer?.files ?? []];
    if (!files.length) return;
    e.preventDefault();
    compose({ files });
  },
};

function New({ onSide }: { onSide: () => void }) {
  useTitle("Chat");
  return (
    <section class="talk" aria-label="New conversation" {...dropped}>
      <div class="bar"><SideButton onSide={onSide} /><h2 class="grow">New conversation</h2></div>
      <div class="log" tabIndex={0} role="region" aria-label="Start"><Home /></div>
      <Composer key="new" session="" active="" last="" />
    </section>
  );
}

function Open({ id, onSide }: { id: string; onSide: () => void }) {
  const session = useLoad<Session>(`/v1/sessions/${part(id)}`);
  useTitle(session.problem?.status === 404 ? "Not found" : session.data?.title || session.data?.agent_id || "Conversation");
  if (session.data) return <Talk session={session.data} reload={session.reload} onSide={onSide} />;
  return (
    <section class="talk" aria-label="Conversation">
      <div class="bar"><SideButton onSide={onSide} /><h2 class="grow">{session.problem?.status === 404 ? "There is no such conversation" : "Conversation"}</h2></div>
      <div class="log">
        {session.problem && <Problem of={session.problem} />}
        {session.problem && <p><a href="/">Start a new conversation</a>, or choose one from the list.</p>}
      </div>
    </section>
  );
}

function useConversation(id: string) {
  const said = useMemo(nothingSaid, [id]);
  const stream = useMemo(() => new Stream(`/v1/sessions/${part(id)}/events`, (e) => record(said, e), types), [id]);
  useEffect(() => () => stream.close(), [stream]);
  void stream.version.value;
  return { stream, said, turns: [...stream.view.turns.values()].filter((t) => said.queued.has(t.id)) };
}

function Talk({ session, reload, onSide }: { session: Session; reload: () => void; onSide: () => void }) {
  const id = session.id;
  const { stream, said, turns } = useConversation(id);
  const before = useMemo(() => seen.value[id] ?? 0, [id]); // what was read before this visit
  const active = turns.find((t) => !t.ended && t.started) ?? turns.find((t) => !t.ended);
  const last = turns.filter((t) => t.ended).at(-1);
  const title = session.title || session.agent_id;
  useTitle(title, active ? (active.status === "waiting" ? "waiting" : "running") : last?.status === "failed" ? "failed" : "");
  useEffect(loadMarkdown, []);
  useEffect(() => { if (!document.hidden && said.lastSeq) markSeen(id, said.lastSeq); }, [id, said.lastSeq]);
  useEffect(() => { if (!session.title && turns.length) reload(); }, [turns.length]); // the first message gives the title
  const first = before ? turns.find((t) => (said.queued.get(t.id) ?? 0) > before) : undefined;
  const log = useScroll(stream.version.value);
  return (
    <section class="talk" aria-label="Conversation" {...dropped}>
      <div class="bar">
        <SideButton onSide={onSide} />
        <div class="grow">
          <h2>{title}</h2>
          <span class="dim"><a href={`/agents/${part(session.agent_id)}`}>{session.agent_id}</a> · <Id of={id} /></span>
        </div>
        <SessionMenu session={session} label="Conversation" />
        <ApiMenu path={`/v1/sessions/${part(id)}`} />
      </div>
      <div class="log" ref={log.ref} onScroll={log.watched} role="log" aria-live="polite" tabIndex={0} aria-label="Messages">
        {said.forked && <Before session={id} forked={said.forked} />}
        {turns.length === 0 && <div class="empty"><p>Nothing has been said yet.</p></div>}
        {turns.map((t) => (
          <div key={t.id} class="turn-items">
            {t === first && t !== turns[0] && <div class="unread" role="separator"><span>New since you were here</span></div>}
            <TurnItems turn={t} said={said} actions={<MessageActions session={session} turn={t} at={said.queued.get(t.id) ?? 1} latest={t === last && !active} />} />
          </div>
        ))}
        {active && <Pending id={active.id} status={active.status} />}
        {stream.problem.value && <div class="note bad" role="alert">{stream.problem.value}</div>}
      </div>
      <Composer key={id} session={id} active={active?.id ?? ""} last={last?.id ?? ""} />
    </section>
  );
}

/** useScroll keeps the end of the log in view for those who read there. */
function useScroll(version: number) {
  const ref = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  useLayoutEffect(() => {
    const l = ref.current;
    if (l && near.current) l.scrollTop = l.scrollHeight;
  }, [version]);
  useEffect(() => {
    const l = ref.current;
    if (!l) return;
    const grown = new ResizeObserver(() => { if (near.current) l.scrollTop = l.scrollHeight; });
    for (const c of l.children) grown.observe(c);
    return () => grown.disconnect();
  }, [version]);
  const watched = () => {
    const l = ref.current!;
    near.current = l.scrollHeight - l.scrollTop - l.clientHeight < 120;
  };
  return { ref, watched };
}

/** MessageActions are what one can do from a message on: each goes on in a branch, and leaves this conversation as it is. */
function MessageActions({ session, turn, at, latest }: { session: Session; turn: TurnView; at: number; latest: boolean }) {
  const editing = useSignal(false);
  const text = useSignal(turn.input);
  const resend = async () => {
    editing.value = false;
    const what = { text: text.value, send: true };
    if (at > 1) await fork(session.id, at - 1, what);
    else {
      chooseAgent(session.agent_id);
      composeIn("", what);
    }
  };
  const branches = can("sessions.sessions.fork");
  return (
    <div class="message-actions">
      {(at > 1 ? branches : can("sessions.sessions.create")) && can("sessions.turns.create") && <button type="button" class="quiet small" onClick={() => { text.value = turn.input; editing.value = true; }}>Edit</button>}
      {turn.ended > 0 && at > 1 && branches && <button type="button" class="quiet small" onClick={() => { fork(session.id, at - 1).catch(failed); }}>Branch</button>}
      {latest && <Retry turn={turn} />}
      {editing.value && (
        <Dialog title="Edit and send again" onClose={() => { editing.value = false; }} wide>
          <form onSubmit={(e) => { e.preventDefault(); resend().catch(failed); }}>
            <p class="dim">This conversation stays as it is. The new message begins a branch with what came before it.</p>
            <textarea class="code" rows={6} aria-label="Message to send in a branch" value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} />
            <div class="buttons"><button type="button" class="quiet" onClick={() => { editing.value = false; }}>Cancel</button><button type="submit">Send in a branch</button></div>
          </form>
        </Dialog>
      )}
    </div>
  );
}

type Message = Required<schema.Message>;

/** Before shows what a branch has from the conversation that it comes from. */
function Before({ session, forked }: { session: string; forked: NonNullable<Said["forked"]> }) {
  const { from, seq } = forked;
  const list = useLoad<{ messages: Message[]; next_page_token: string }>(`/v1/sessions/${part(session)}/messages?page_size=200`);
  const all = (list.data?.messages ?? []).filter((m) => m.seq <= seq && (m.role === "user" || m.role === "assistant") && m.content.length > 0);
  return (
    <div class="before">
      {all.map((m) => (m.role === "user" ? <div key={m.id} class="user"><div class="bubble">{plain(m.content)}</div></div> : <div key={m.id} class="answer"><Prose text={plain(m.content)} /></div>))}
      {list.data?.next_page_token && leftOut(forked, list.data.messages) && <p class="note">These are the first {all.length} messages. {from ? "The other conversation has all." : "The export of this conversation has all."}</p>}
      <p class="note">{from ? <>A branch of <a href={`/sessions/${part(from)}`}>another conversation</a></> : "Imported from a file"}: what follows is only here.</p>
      {list.problem && <Problem of={list.problem} />}
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
    const timer = setInterval(() => { if (!document.hidden) ask(); }, 3000);
    return () => clearInterval(timer);
  }, [id, status]);
  return why.value ? <div class="note" role="status">Waiting: {why.value}</div> : null;
}
