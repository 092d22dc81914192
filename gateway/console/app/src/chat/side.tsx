// The list of conversations.
import { computed, signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asFailed, get, query, type Failed, type Session } from "../api";
import { agents, approvals, can } from "../store";
import { confirmed, failed, Field, Menu, Problem, Skeleton, When } from "../ui";
import { Confirm } from "../ui/dialog";
import { seen } from "./kept";
import { change, deleteSession, exportSession, formats, importSession } from "./session";
import { ShareDialog } from "./share";

/** rows are the conversations that the list shows, newest first, and next the token of those that follow. */
const rows = signal<Session[] | null>(null);
const next = signal("");
const problem = signal<Failed | null>(null);
const filter = signal({ q: "", agent: "", archived: false });
const busy = signal(false);
let current: AbortController | null = null;

/** size is how many conversations are read at once. */
const size = 40;
/** taken is how many the rows were made of: those of sub-agents are not shown. */
let taken = 0;

async function read(more = false) {
  current?.abort();
  const own = current = new AbortController();
  busy.value = true;
  const f = filter.value;
  let [all, token, count] = more ? [rows.value ?? [], next.value, taken] : [[], "", 0];
  const want = more ? 0 : taken;
  try {
    do {
      const path = `/v1/sessions${query({ page_size: Math.min(200, Math.max(size, want - count)), page_token: token, q: f.q, agent_id: f.agent, archived: String(f.archived) })}`;
      const answer = await get<{ sessions: Session[]; next_page_token: string }>(path, own.signal);
      all = [...all, ...answer.sessions.filter((s) => !s.parent_turn_id)];
      count += answer.sessions.length;
      token = answer.next_page_token;
    } while (token && count < want);
    [rows.value, next.value, taken] = [all, token, count];
    problem.value = null;
  } catch (e) {
    if (own.signal.aborted) return;
    problem.value = asFailed(e);
  }
  busy.value = false;
}

/** refreshList reads the list again. */
export const refreshList = () => void read();

const waits = computed(() => new Set(approvals.value.map((a) => a.session_id)));
const sorted = computed(() => {
  const all = (rows.value ?? []).filter((s) => filter.value.archived || !s.archived);
  return [...all.filter((s) => s.pinned), ...all.filter((s) => !s.pinned)];
});

const stateOf = (s: Session) => (waits.value.has(s.id) ? "waiting" : s.active_turn_id ? "running" : "");

export function Side({ current: at, onClose }: { current: string; onClose: () => void }) {
  const timer = useRef(0);
  useEffect(() => {
    void read();
    const t = setInterval(() => { if (!document.hidden && !busy.value) void read(); }, 10_000);
    return () => clearInterval(t);
  }, []);
  const set = (what: Partial<typeof filter.value>, later = 0) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      filter.value = { ...filter.value, ...what };
      taken = 0;
      void read();
    }, later);
  };
  const f = filter.value;
  return (
    <aside class="chat-side" aria-label="Conversations">
      <div class="side-head">
        <h2>Conversations</h2>
        {can("sessions.sessions.import") && (
          <label class="button quiet small" title="Make a conversation of a file that was exported as JSON">
            Import…
            <input type="file" class="unseen" accept="application/json,.json" onChange={(e) => {
              const [file] = [...e.currentTarget.files ?? []];
              e.currentTarget.value = "";
              if (file) importSession(file).then(onClose, failed);
            }} />
          </label>
        )}
        <a class="button quiet small" href="/" onClick={onClose}>New</a>
      </div>
      <div class="side-filters">
        <input type="search" aria-label="Search conversations" placeholder="Search" value={f.q} onInput={(e) => set({ q: e.currentTarget.value.trim() }, 250)} />
        <Menu name="Filter" label="Filter conversations">
          <label class="menu-row">Agent{" "}
            <select value={f.agent} onChange={(e) => set({ agent: e.currentTarget.value })}>
              <option value="">all</option>{agents.value?.map((a) => <option key={a.id} selected={a.id === f.agent}>{a.id}</option>)}
            </select>
          </label>
          <label class="menu-row"><input type="checkbox" checked={f.archived} onChange={(e) => set({ archived: e.currentTarget.checked })} /> archived</label>
        </Menu>
      </div>
      {problem.value && <Problem of={problem.value} />}
      {rows.value === null && !problem.value && <Skeleton lines={6} />}
      <ul class="list sessions" onClick={(e) => { if ((e.target as Element).closest("a")) onClose(); }}>
        {rows.value !== null && sorted.value.length === 0 && <li class="none">{f.q || f.agent ? "none found" : "none yet"}</li>}
        {sorted.value.map((s) => <Row key={s.id} session={s} current={s.id === at} />)}
      </ul>
      {next.value && <p class="more"><button type="button" class="quiet small" disabled={busy.value} onClick={() => void read(true)}>More</button></p>}
      <p class="dim"><a href="/sessions">All conversations</a></p>
    </aside>
  );
}

function Row({ session: s, current: at }: { session: Session & { last_seq?: number }; current: boolean }) {
  const state = stateOf(s);
  const read = seen.value[s.id];
  const unread = !at && read !== undefined && (s.last_seq ?? 0) > read;
  const name = s.title || s.agent_id;
  return (
    <li class={at ? "at" : ""}>
      <a href={`/sessions/${s.id}`} aria-current={at ? "page" : undefined} title={s.title}>
        <span class="session-title">{state && <span class={`live ${state}`} />}{unread ? <b>{name}</b> : name}</span>
        <span class="session-facts">
          {s.pinned && "pinned · "}{s.archived && "archived · "}{state === "waiting" ? "waits for you · " : state ? "running · " : ""}{unread && "unread · "}{s.agent_id} · <When at={s.update_time} />
        </span>
      </a>
      <SessionMenu session={s} />
    </li>
  );
}

/** SessionMenu is what one can do with a conversation. */
export function SessionMenu({ session: s, label }: { session: Session; label?: string }) {
  const dialog = useSignal<"" | "rename" | "share">("");
  const title = useSignal(s.title);
  const close = () => { dialog.value = ""; };
  const update = can("sessions.sessions.update");
  const drop = async () => {
    if (s.active_turn_id && !await confirmed("Delete this conversation?", "A turn of it runs now. It is cancelled.", "Cancel and delete", true)) return;
    await deleteSession(s);
  };
  return (
    <>
      <Menu name={label ?? "⋯"} label={label ? undefined : `What to do with ${s.title || s.id}`}>
        {update && <button type="button" onClick={() => change(s.id, { pinned: !s.pinned })}>{s.pinned ? "Unpin" : "Pin"}</button>}
        {update && <button type="button" onClick={() => { title.value = s.title; dialog.value = "rename"; }}>Rename…</button>}
        {can("sessions.shares.list") && <button type="button" onClick={() => { dialog.value = "share"; }}>Share…</button>}
        {can("sessions.sessions.export") && formats.map(([f, name]) => <button key={f} type="button" onClick={() => { exportSession(s.id, f).catch(failed); }}>Export as {name}</button>)}
        {update && <button type="button" onClick={() => change(s.id, { archived: !s.archived }, s.archived ? "" : "Archived. The filter of the list shows it.")}>{s.archived ? "Unarchive" : "Archive"}</button>}
        {can("sessions.sessions.delete") && <button type="button" class="bad" onClick={() => void drop()}>Delete</button>}
      </Menu>
      {dialog.value === "rename" && (
        <Confirm title="Rename this conversation" action="Rename" onNo={close} onYes={async () => { await change(s.id, { title: title.value.trim() }); close(); }}>
          <Field label="Title"><input type="text" maxLength={200} required value={title.value} onInput={(e) => { title.value = e.currentTarget.value; }} /></Field>
        </Confirm>
      )}
      {dialog.value === "share" && <ShareDialog session={s} onClose={close} />}
    </>
  );
}

