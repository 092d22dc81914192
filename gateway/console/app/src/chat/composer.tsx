// Where the next message is written.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { call, part, post, reach, type Session, type Turn } from "../api";
import { bytes } from "../format";
import { parse } from "../json";
import { go } from "../route";
import { agents, can, kill, models } from "../store";
import { failed, toast } from "../ui/dialog";
import { Menu, WhomToAsk } from "../ui/page";
import { openHelp } from "../ui/help";
import { chosenAgent, chooseAgent } from "./agents";
import { message, offered, parsed } from "./command";
import { choice, draftOf, keepDraft } from "./kept";
import type { FileRef } from "./said";
import { exportSession } from "./session";
import { refreshList } from "./side";

/** during is what Enter does while a turn runs. */
const during = choice<"steer" | "enqueue">("during", "steer");

interface Sending { name: string; problem: string; file: FileRef | null; key: number }

interface Props {
  session: string;
  /** active is the turn that runs, "" for none, and last the one before. */
  active: string;
  last: string;
}

/** Composer is where messages are written, for those who may send any. */
export function Composer(p: Props) {
  if (can("sessions.turns.create") && (p.session || can("sessions.sessions.create"))) return <Writing {...p} />;
  return <p class="composer dim">You may read here, and write nothing. <WhomToAsk permission={can("sessions.turns.create") ? "sessions.sessions.create" : "sessions.turns.create"} /></p>;
}

function Writing({ session, active, last }: Props) {
  const draft = useRef(draftOf(session));
  const text = useSignal(draft.current.text);
  const files = useSignal<Sending[]>(draft.current.files.map((f, i) => ({ name: f.name, problem: "", file: f, key: -i - 1 })));
  const problem = useSignal("");
  const busy = useSignal(false);
  const model = useSignal(""); // of the next turn, "" for the agent's
  const input = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const at = useSignal(0);
  const made = useRef({ agent: "", id: "" }); // the conversation of a first message that was refused: the next attempt uses it
  const keep = () => keepDraft(session, { text: text.value, files: files.value.flatMap((f) => (f.file ? [f.file] : [])) });
  const write = (t: string) => {
    text.value = t;
    at.value = 0;
    keep();
  };
  useEffect(() => {
    const i = input.current!;
    i.style.height = "auto";
    i.style.height = `${Math.min(i.scrollHeight + 2, innerHeight * 0.4)}px`;
  }, [text.value]);
  useEffect(() => {
    // What is dropped or asked for elsewhere on the page comes here.
    const take = (e: Event) => {
      const d = (e as CustomEvent<Asked>).detail;
      if (d.files) attach(d.files);
      if (d.text !== undefined) write(d.text);
      if (d.send) void send();
      else input.current?.focus();
    };
    addEventListener("compose", take);
    return () => removeEventListener("compose", take);
  });
  useEffect(() => {
    if (ready?.session !== session) return;
    const { what } = ready;
    ready = null;
    compose(what);
  }, []);

  let keys = 0;
  const attach = (list: Iterable<File>) => {
    for (const f of list) {
      const key = Date.now() + ++keys;
      files.value = [...files.value, { name: f.name || "pasted", problem: "", file: null, key }];
      upload(f).then(
        (file) => { files.value = files.value.map((x) => (x.key === key ? { ...x, file } : x)); keep(); },
        (e: Error) => { files.value = files.value.map((x) => (x.key === key ? { ...x, problem: e.message } : x)); },
      );
    }
  };
  const drop = (key: number) => { files.value = files.value.filter((f) => f.key !== key); keep(); };

  const send = async (other = false) => {
    const written = text.value.trim();
    const command = parsed(written);
    const attached = files.value.flatMap((f) => (f.file ? [f.file] : []));
    if (busy.value || !written && !attached.length) return;
    if (files.value.some((f) => !f.file && !f.problem)) {
      problem.value = "A file is still being sent.";
      return;
    }
    busy.value = true;
    problem.value = "";
    try {
      if (command) await run(command.name, command.rest, { session, last });
      else {
        const agent = chosenAgent();
        if (!session && made.current.agent !== agent) made.current = { agent, id: (await post<Session>("/v1/sessions", { agent_id: agent })).id };
        const id = session || made.current.id;
        const content = [...(written ? [{ text: message(written) }] : []), ...attached.map((f) => ({ file: { file_id: f.file_id } }))];
        const mode = active ? (other ? (during.value === "steer" ? "enqueue" : "steer") : during.value) : "";
        await post<Turn>(`/v1/sessions/${part(id)}/turns`, {
          ...(attached.length ? { content } : { input: message(written) }), ...(mode && { mode }), ...(model.value && mode !== "steer" && { model: model.value }),
        });
        if (mode) toast("ok", mode === "steer" ? "The running turn reads this at its next step." : "This runs after the turn that runs now.");
        files.value = [];
        if (mode !== "steer") model.value = "";
        write("");
        if (!session) go(`/sessions/${id}`);
        refreshList();
      }
      if (command) write("");
    } catch (e) {
      problem.value = (e as Error).message;
    }
    busy.value = false;
    input.current?.focus();
  };
  const stop = () => call("POST", `/v1/turns/${part(active)}:cancel`, {}).catch((e: Error) => { problem.value = e.message; });

  const choices = offered(text.value, agents.value?.map((a) => a.id) ?? [], models.value.map((m) => m.name));
  const pick = (i: number) => { write(choices[i]!.text); input.current?.focus(); };
  const key = (e: KeyboardEvent) => {
    if (e.isComposing) return;
    if (choices.length && text.value !== choices[at.value]?.text) {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        at.value = (at.value + (e.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length;
        return;
      }
      if (e.key === "Tab" || e.key === "Enter" && choices[at.value]!.text.trim() !== text.value.trim()) {
        e.preventDefault();
        pick(at.value);
        return;
      }
    }
    if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      void send(e.ctrlKey || e.metaKey);
    }
  };
  const none = !session && !agents.value?.length;
  return (
    <form class="composer" aria-label="Next message" onSubmit={(e) => { e.preventDefault(); void send(); }}>
      {problem.value && <div class="note bad" role="alert">{problem.value}</div>}
      {files.value.length > 0 && (
        <ul class="attachments" aria-label="Attachments">
          {files.value.map((f) => (
            <li key={f.key} class={f.problem ? "wrong" : ""}>
              {f.name}{" "}<span class="dim">{f.problem || (f.file ? bytes(Number(f.file.size)) : "sending…")}</span>
              <button type="button" class="icon" aria-label={`Remove ${f.name}`} onClick={() => drop(f.key)}>×</button>
            </li>
          ))}
        </ul>
      )}
      {choices.length > 0 && (
        <ul class="offers" id="offers" role="listbox" aria-label="Commands">
          {choices.map((c, i) => (
            <li key={c.text} id={`offer-${i}`} role="option" aria-selected={i === at.value} onMouseDown={(e) => { e.preventDefault(); pick(i); }}>
              <code>{c.text}</code> <span class="dim">{c.about}</span>
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        {can("sessions.files.create") && (
          <>
            <button type="button" class="quiet attach" aria-label="Attach files" title="Attach files, or drop or paste them" onClick={() => picker.current!.click()}>+</button>
            <input ref={picker} type="file" multiple hidden onChange={(e) => { attach([...e.currentTarget.files ?? []]); e.currentTarget.value = ""; }} />
          </>
        )}
        <textarea ref={input} rows={1} aria-label="Message" placeholder={active && during.value === "steer" ? "Add to what runs…" : "Write a message, or / for commands"}
          aria-autocomplete="list" aria-controls={choices.length ? "offers" : undefined}
          aria-activedescendant={choices.length ? `offer-${at.value}` : undefined}
          value={text.value} onInput={(e) => write(e.currentTarget.value)} onKeyDown={key}
          onPaste={(e) => {
            const pasted = [...e.clipboardData?.files ?? []];
            if (!pasted.length) return;
            e.preventDefault();
            attach(pasted);
          }} />
        {models.value.length > 1 && !(active && during.value === "steer") && (
          <select class="model" aria-label="Model" title="Model of the next turn" value={model.value} onChange={(e) => { model.value = e.currentTarget.value; }}>
            <option value="" selected={!model.value}>agent’s model</option>
            {models.value.map((m) => <option key={m.name} value={m.name} selected={m.name === model.value}>{m.name}</option>)}
          </select>
        )}
        <button type="submit" disabled={busy.value || none}>{active ? (during.value === "steer" ? "Steer" : "Queue") : "Send"}</button>
        {active && <button type="button" class="quiet" onClick={stop}>Stop</button>}
      </div>
      {active && (
        <div class="during dim">
          <label>While this turn runs, Enter{" "}
            <select value={during.value} onChange={(e) => { during.value = e.currentTarget.value as "steer" | "enqueue"; }}>
              <option value="steer" selected={during.value === "steer"}>steers it: the turn reads your message at its next step</option>
              <option value="enqueue" selected={during.value === "enqueue"}>queues your message: it runs after this turn</option>
            </select>
          </label>{" "}
          <span><kbd>Ctrl</kbd> <kbd>Enter</kbd> does the other</span>
          {kill && <Kill key={active} />}
        </div>
      )}
    </form>
  );
}

export interface Asked { text?: string; files?: File[]; send?: boolean }

/** compose gives text or files to the composer of the page. */
export const compose = (what: Asked) => { dispatchEvent(new CustomEvent<Asked>("compose", { detail: what })); };

/** ready is what the composer of a conversation takes when it opens. */
let ready: { session: string; what: Asked } | null = null;

/** composeIn opens a conversation, "" for a new one, and gives text to its composer. */
export function composeIn(session: string, what: Asked) {
  ready = { session, what };
  go(session ? `/sessions/${session}` : "/");
}

/** upload stores a file, and returns how messages name it. */
async function upload(f: File): Promise<FileRef> {
  const form = new FormData();
  form.set("file", f, f.name || `pasted.${f.type.split("/")[1] ?? "bin"}`);
  const r = await reach("/v1/files", { method: "POST", body: form });
  const { id, name, media_type, size } = parse(await r.text()) as { id: string; name: string; media_type: string; size: string };
  return { file_id: id, name, media_type, size };
}

/** rerun runs a turn again, as a branch with the results of its own calls, and opens it. */
export async function rerun(turn: string, more: Record<string, unknown> = {}) {
  const t = await post<Turn>(`/v1/turns/${part(turn)}:rerun`, more);
  toast("ok", "It runs again in a branch of this conversation.");
  go(`/sessions/${t.session_id}`);
  refreshList();
}

/** fork makes a copy of a conversation up to an event, 0 for all that has ended, and opens it. */
export async function fork(session: string, seq = 0, what: Asked = {}) {
  const s = await post<Session>(`/v1/sessions/${part(session)}:fork`, seq ? { seq } : {});
  composeIn(s.id, what);
  refreshList();
}

async function run(name: string, rest: string, { session, last }: { session: string; last: string }) {
  const needs = () => { if (!session) throw new Error(`/${name} needs a conversation. Send a message first.`); };
  switch (name) {
    case "new": return go("/");
    case "agent":
      if (!agents.value?.some((a) => a.id === rest)) throw new Error(`There is no agent "${rest}". There are: ${agents.value?.map((a) => a.id).join(", ")}.`);
      chooseAgent(rest);
      return go("/");
    case "model":
      needs();
      if (!last) throw new Error("/model runs the last turn again: wait until one has ended.");
      if (!models.value.some((m) => m.name === rest)) throw new Error(`There is no model "${rest}". There are: ${models.value.map((m) => m.name).join(", ")}.`);
      return rerun(last, { model: rest });
    case "export":
      needs();
      return exportSession(session, rest || "markdown");
    case "fork":
      needs();
      return fork(session);
    case "help": return openHelp();
    default: throw new Error(`There is no command /${name}. Write // to send a message that begins with a slash.`);
  }
}

/** Kill lets people see a turn survive. The server may be gone before its answer arrives. */
function Kill() {
  const killed = useSignal(false);
  const act = () => {
    killed.value = true;
    call("POST", kill).catch(() => {});
  };
  if (killed.value) return <span role="status">Killed, with all that runs in this process. It starts again, and the turn goes on.</span>;
  return <button type="button" class="quiet small" onClick={act} title="Ends the process as kill -9 does, and starts it again">Kill the worker</button>;
}

/** Retry offers to run a turn that has ended again, also with another model. */
export function Retry({ turn }: { turn: { id: string; status: string; model: string } }) {
  const again = (more: Record<string, unknown>) => { rerun(turn.id, more).catch(failed); };
  const others = models.value.filter((m) => m.name !== turn.model);
  if (!can("sessions.turns.create")) return null;
  return (
    <>
      {turn.status === "failed" ? <button type="button" class="quiet small" onClick={() => again({ from_step: "failed" })}>Retry from the failed step</button>
        : <button type="button" class="quiet small" onClick={() => again({ tools: "live" })}>Retry</button>}
      {others.length > 0 && (
        <Menu name="Retry with" label="Retry with another model">
          {others.slice(0, 12).map((m) => <button key={m.name} type="button" onClick={() => again({ model: m.name, missing: "live_read" })}>{m.name}</button>)}
        </Menu>
      )}
    </>
  );
}
