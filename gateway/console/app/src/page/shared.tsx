// A conversation that was shared by a link. It has no navigation: those who read it may see nothing else.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asFailed, get, part, post, type Failed, type Turn } from "../api";
import { Prose } from "../chat/text";
import { bytes } from "../format";
import { parse } from "../json";
import { go, type PageProps } from "../route";
import { login, logIn, me } from "../store";
import { Loading, Problem, useTitle, When } from "../ui";
import { Payload } from "../view/items";
import type * as schema from "../schema";

type Message = schema.SharedMessage;
type Shared = schema.GetSharedResponse;

function useShared(token: string) {
  const shared = useSignal<Shared | null>(null);
  const problem = useSignal<Failed | null>(null);
  useEffect(() => {
    const own = new AbortController();
    let source: EventSource | null = null;
    const add = (all: Message[]) => {
      const known = new Map([...shared.value!.messages, ...all].map((m) => [String(m.seq), m]));
      shared.value = { ...shared.value!, messages: [...known.values()].sort((a, b) => Number(a.seq) - Number(b.seq)) };
    };
    const gone = (e: unknown) => {
      if (own.signal.aborted) return;
      shared.value = null;
      problem.value = asFailed(e);
    };
    const at = `/v1/shared/${part(token)}`;
    const read = async () => {
      let page = await get<Shared>(at, own.signal);
      shared.value = page;
      while (page.next_page_token) {
        page = await get<Shared>(`${at}?page_token=${part(page.next_page_token)}`, own.signal);
        add(page.messages);
      }
      if (!shared.value.live || own.signal.aborted) return;
      source = new EventSource(`${at}/events`);
      source.addEventListener("message", (e) => add([parse(e.data) as Message]));
      // A share that ends is gone at once: asking again says so.
      for (const type of ["error-status", "end"]) source.addEventListener(type, () => { source!.close(); get(at, own.signal).catch(gone); });
      source.addEventListener("error", () => { if (source!.readyState === EventSource.CLOSED) get(at, own.signal).catch(gone); });
    };
    read().catch(gone);
    return () => {
      own.abort();
      source?.close();
    };
  }, [token]);
  return { shared: shared.value, problem: problem.value };
}

export default function SharedPage({ id }: PageProps) {
  const { shared, problem } = useShared(id);
  useTitle(shared?.title || (problem ? "Not shared" : "Shared conversation"));
  return (
    <section class="talk" aria-label="Shared conversation">
      <div class="bar">
        <img src="/assets/icon.svg" alt="" width="26" height="26" />
        <div class="grow">
          <h1>{shared?.title || "Shared conversation"}</h1>
          {shared && <span class="dim">shared {shared.live ? "as it goes on" : "as it was"}{shared.expire_time && <>, until <When at={shared.expire_time} /></>}</span>}
        </div>
      </div>
      <div class="log" role="log" tabIndex={0} aria-label="Messages">
        {problem && (problem.status === 404 ? <Gone /> : <Problem of={problem} />)}
        {!shared && !problem && <Loading />}
        {shared?.messages.map((m) => <SharedMessage key={m.seq} of={m} />)}
      </div>
      {shared?.access === "continue" && <Continue token={id} />}
    </section>
  );
}

function Gone() {
  return (
    <div class="nothing">
      <p><strong>This link opens nothing.</strong> It has expired or was revoked, or it is for others.</p>
      {login && me.value !== null && (me.value === "" || !me.value.subject.includes(":")) && <p><button type="button" onClick={logIn}>Log in</button></p>}
    </div>
  );
}

function SharedMessage({ of: m }: { of: Message }) {
  const text = m.content.map((p) => p.text ?? "").filter(Boolean).join("\n");
  const files = m.content.filter((p) => p.name || p.uri);
  if (m.role === "tool") {
    return (
      <details class={m.is_error ? "tool failed" : "tool ok"}>
        <summary><span class="name">{m.tool}</span><span class="state">{m.redacted ? "result left out" : m.is_error ? "error" : "result"}</span></summary>
        {!m.redacted && <div class="tool-body"><Payload text={text} label={`Result of ${m.tool}`} /></div>}
      </details>
    );
  }
  if (m.role === "user") {
    return <div class="user"><div class="bubble">{text}{files.map((f) => <span key={f.name} class="attached"><span class="tag">{f.name || f.uri}{Number(f.size) ? ` · ${bytes(Number(f.size))}` : ""}</span></span>)}</div></div>;
  }
  const cites = m.content.flatMap((p) => p.citations ?? []);
  return (
    <div class="answer">
      {text && <Prose text={text} />}
      {cites.length > 0 && (
        <ul class="plain dim">{[...new Map(cites.map((c) => [c.number, c])).values()].map((c) => (
          <li key={c.number}>[{c.number}] {c.document_name || "a document"}{c.page ? `, page ${c.page}` : ""}{c.quote && <>: <q>{c.quote.slice(0, 300)}</q></>}</li>
        ))}</ul>
      )}
      {m.tool_calls.map((c, i) => <p key={i} class="note">called <code>{c.tool}</code>{c.arguments_json && <> with <code>{c.arguments_json.slice(0, 300)}</code></>}</p>)}
    </div>
  );
}

/** Continue begins a conversation of the reader's own with what is shared. */
function Continue({ token }: { token: string }) {
  const text = useSignal("");
  const problem = useSignal<Failed | null>(null);
  const busy = useSignal(false);
  const send = async () => {
    busy.value = true;
    try {
      const t = await post<Turn>(`/v1/shared/${part(token)}:continue`, { message: text.value });
      go(`/sessions/${t.session_id}`);
    } catch (e) {
      problem.value = e as Failed;
    }
    busy.value = false;
  };
  return (
    <form class="composer" aria-label="Continue" onSubmit={(e) => { e.preventDefault(); void send(); }}>
      {problem.value && <Problem of={problem.value} />}
      <div class="row">
        <textarea rows={2} aria-label="Message" required placeholder="Continue in a conversation of your own…" value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} />
        <button type="submit" disabled={busy.value}>Continue</button>
      </div>
    </form>
  );
}
