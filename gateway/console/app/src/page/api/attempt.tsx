// "Try it": the form of a request, the request as programs write it, and its answer.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { failure, type Failed, type Schema } from "../../api";
import { duration } from "../../format";
import { parse } from "../../json";
import { login, me } from "../../store";
import { confirmed, Copy, Field, Json, JsonField, Problem, SchemaForm } from "../../ui";
import { choices, events, inlined, json, resolved, type Document, type Operation, type Parameter } from "./document";
import { built, keyOf, languages, readEvents, snippet, type Body, type Language, type ServerEvent, type Values } from "./request";

/** typed is what was typed for parameters: the id of a session is wanted by many operations. */
const typed: Record<string, string> = {};
const remembered = (o: Operation): Values => Object.fromEntries(o.parameters.map((p) => [keyOf(p), p.in === "path" ? typed[p.name] ?? "" : ""]));

/** kept is how many events of a stream are shown. */
const kept = 500;

interface Result {
  status: number; statusText: string; ms: number; headers: [string, string][];
  problem: Failed | null; value?: unknown; text?: string; file?: { url: string; size: number };
  events?: ServerEvent[]; seen: number; open: boolean;
}

export function Attempt({ of: o, document }: { of: Operation; document: Document }) {
  const values = useSignal<Values>(remembered(o));
  const media = useSignal(o.bodies[0]?.[0] ?? "");
  const accept = useSignal(o.accepts.includes(json) ? json : o.accepts[0] ?? "");
  const example = o.bodies.find(([m]) => m === media.value)?.[1].example;
  const body = useSignal<unknown>(example ?? (o.bodies.length && media.value === json ? {} : undefined));
  const files = useSignal<Record<string, File>>({});
  const call = useCall();
  const sent: Body | null = media.value ? { media: media.value, value: body.value, files: files.value } : null;
  const request = built(o, values.value, sent, accept.value);
  const send = async () => {
    if (o.method === "DELETE" && !await confirmed(`${o.summary || o.id}?`, `This sends DELETE ${request.path}.`, "Delete", true)) return;
    for (const p of o.parameters) if (p.in === "path") typed[p.name] = values.value[keyOf(p)] ?? "";
    void call.send(request);
  };
  const set = (p: Parameter, v: string) => { values.value = { ...values.value, [keyOf(p)]: v }; };
  const fields = (of: Parameter[]) => of.map((p) => (
    <ParameterField key={keyOf(p)} of={p} document={document} value={values.value[keyOf(p)] ?? ""} onInput={(v) => set(p, v)} />
  ));
  const required = o.parameters.filter((p) => p.required), headers = o.parameters.filter((p) => !p.required && p.in === "header");
  const optional = o.parameters.filter((p) => !p.required && p.in !== "header");
  return (
    <form class="api-try panel" aria-label="Try it" onSubmit={(e) => { e.preventDefault(); void send(); }}>
      {fields(required)}
      {optional.length > 0 && <details class="api-more" open={optional.length < 4}><summary>{optional.length === 1 ? "An optional parameter" : `${optional.length} optional parameters`}</summary>{fields(optional)}</details>}
      {headers.length > 0 && <details class="api-more"><summary>Headers</summary>{fields(headers)}</details>}
      {o.bodies.length > 1 && <Choice label="Send as" of={o.bodies.map(([m]) => m)} at={media} />}
      {media.value && <BodyField key={media.value} of={o} media={media.value} document={document} value={body.value} files={files.value}
        onInput={(v) => { body.value = v; }} onFiles={(f) => { files.value = f; }} />}
      {o.accepts.length > 1 && <Choice label="Answer as" of={o.accepts} at={accept} />}
      <div class="flow">
        <button type="submit" disabled={call.busy}>Send</button>
        {call.busy && <button type="button" class="quiet" onClick={call.stop}>Stop</button>}
        <span class="hint"><Caller /></span>
      </div>
      {call.result && <Answered of={call.result} />}
      <Snippets of={request} />
    </form>
  );
}

/** Caller says as whom the page calls. */
function Caller() {
  const who = me.value;
  return <>{who ? <>as {who.subject} of tenant {who.tenant}</> : who === "" ? "without a login" : ""}</>;
}

const Choice = ({ label, of, at }: { label: string; of: string[]; at: { value: string } }) => (
  <Field label={label}>
    <select onChange={(e) => { at.value = e.currentTarget.value; }}>{of.map((m) => <option key={m} value={m} selected={m === at.value}>{m}</option>)}</select>
  </Field>
);

function ParameterField({ of: p, document, value, onInput }: { of: Parameter; document: Document; value: string; onInput: (v: string) => void }) {
  const schema = resolved(document, p.schema), all = choices(document, p.schema);
  const label = <>{p.name}{p.required && <span class="required" title="required"> *</span>}</>;
  const hint = p.description?.split("\n\n")[0];
  const placeholder = p.example === undefined ? "" : String(p.example);
  const listed = schema.type === "boolean" ? ["true", "false"] : all.map(String);
  if (schema.type === "array") {
    return <Field label={label} hint={`${hint ?? ""} One a line.`}><textarea rows={2} value={value} onInput={(e) => onInput(e.currentTarget.value)} /></Field>;
  }
  if (listed.length) {
    return (
      <Field label={label} hint={hint}>
        <select onChange={(e) => onInput(e.currentTarget.value)}>
          <option value="">unset</option>
          {listed.map((v) => <option key={v} value={v} selected={v === value}>{v}</option>)}
        </select>
      </Field>
    );
  }
  return <Field label={label} hint={hint}><input type="text" required={p.required} placeholder={placeholder} value={value} onInput={(e) => onInput(e.currentTarget.value.trim())} /></Field>;
}

interface BodyProps {
  of: Operation; media: string; document: Document; value: unknown; files: Record<string, File>;
  onInput: (v: unknown) => void; onFiles: (f: Record<string, File>) => void;
}

function BodyField({ of: o, media, document, value, files, onInput, onFiles }: BodyProps) {
  const asForm = useSignal(false);
  const schema = o.bodies.find(([m]) => m === media)?.[1].schema ?? {};
  const form = useMemo(() => inlined(document, schema), [document, schema]);
  const file = (name: string, label: string) => (
    <Field key={name} label={label}><input type="file" onChange={(e) => { const f = e.currentTarget.files?.[0]; onFiles(f ? { ...files, [name]: f } : {}); }} /></Field>
  );
  if (media === "multipart/form-data") {
    const binary = (s: Schema) => s.format === "binary";
    const fields = Object.entries(form.properties ?? {});
    const texts: Schema = { type: "object", properties: Object.fromEntries(fields.filter(([, s]) => !binary(s))) };
    return <>{fields.filter(([, s]) => binary(s)).map(([name]) => file(name, name))}{Object.keys(texts.properties!).length > 0 && <SchemaForm schema={texts} value={value} onInput={onInput} />}</>;
  }
  if (media !== json) return file("body", "Body");
  return (
    <fieldset class="api-body">
      <legend>Body</legend>
      <div class="flow" role="group" aria-label="How to write the body">
        {[false, true].map((f) => <button key={String(f)} type="button" class="quiet small" aria-pressed={asForm.value === f} onClick={() => { asForm.value = f; }}>{f ? "Form" : "JSON"}</button>)}
      </div>
      {asForm.value ? <SchemaForm schema={form} value={value} onInput={onInput} /> : <JsonField label="JSON" value={value} onInput={onInput} />}
    </fieldset>
  );
}

const language = "api-language";

function Snippets({ of }: { of: ReturnType<typeof built> }) {
  const at = useSignal<Language>((localStorage.getItem(language) as Language | null) ?? "curl");
  const who = me.value;
  const text = snippet(at.value, of, location.origin, login !== "" && !!who && who.subject.includes(":"));
  return (
    <div class="api-snippets">
      <div class="flow" role="group" aria-label="The request as">
        {languages.map((l) => (
          <button key={l} type="button" class="quiet small" aria-pressed={l === at.value} onClick={() => { at.value = l; localStorage.setItem(language, l); }}>{l}</button>
        ))}
      </div>
      <figure class="api-code"><pre tabIndex={0} role="group" aria-label={`The request as ${at.value}`}>{text}</pre><Copy text={text} /></figure>
    </div>
  );
}

function Answered({ of: r }: { of: Result }) {
  const headers = useSignal(false);
  const tone = r.status >= 400 || r.status === 0 ? "bad" : "ok";
  return (
    <section class="api-result" aria-label="Answer">
      <p class="flow">
        <span class={`pill ${tone}`} role="status">{r.status || "no answer"} {r.statusText}</span>
        <span class="hint">{duration(r.ms)}{r.events && ` · ${r.seen} events${r.open ? ", open" : ", ended"}`}</span>
        <button type="button" class="quiet small" aria-expanded={headers.value} onClick={() => { headers.value = !headers.value; }}>Headers</button>
      </p>
      {headers.value && <dl class="api-response-headers">{r.headers.map(([k, v]) => <div key={k}><dt><code>{k}</code></dt><dd>{v}</dd></div>)}</dl>}
      {r.problem && <Problem of={r.problem} />}
      {r.events && <Events of={r.events} />}
      {r.value !== undefined && <Json value={r.value} label="Body of the answer" />}
      {r.text && <pre class="api-text" tabIndex={0}>{r.text}</pre>}
      {r.file && <p><a class="button quiet" href={r.file.url} download>Download {r.file.size} bytes</a></p>}
    </section>
  );
}

function Events({ of }: { of: ServerEvent[] }) {
  const end = useRef<HTMLOListElement>(null);
  useEffect(() => { if (end.current) end.current.scrollTop = end.current.scrollHeight; }, [of.length]);
  return (
    <ol class="api-events" ref={end} tabIndex={0} aria-label="Events">
      {of.map((e, i) => <li key={i}><b>{e.type}</b> <span class="hint">{e.id}</span> <code>{e.data.slice(0, 2000)}</code></li>)}
    </ol>
  );
}

/** useCall sends requests, one at a time, and ends them with the page. */
function useCall() {
  const result = useSignal<Result | null>(null), busy = useSignal(false);
  const current = useRef<AbortController | null>(null);
  const stop = () => current.current?.abort();
  useEffect(() => () => {
    stop();
    if (result.value?.file) URL.revokeObjectURL(result.value.file.url);
  }, []);
  const send = async (request: ReturnType<typeof built>) => {
    stop();
    const own = current.current = new AbortController();
    const began = performance.now();
    let got: Result = { status: 0, statusText: "", ms: 0, headers: [], problem: null, seen: 0, open: false };
    const show = (more: Partial<Result>) => { if (current.current === own) result.value = got = { ...got, ms: performance.now() - began, ...more }; };
    busy.value = true;
    result.value = null;
    try {
      const r = await fetch(request.path, { method: request.method, headers: request.headers, body: request.body, signal: own.signal });
      got = { ...got, status: r.status, statusText: r.statusText, headers: [...r.headers.entries()] };
      await read(r, show);
    } catch (e) {
      if (own.signal.aborted) show({ open: false });
      else show({ text: `The server does not answer: ${(e as Error).message}` });
    }
    if (current.current === own) busy.value = false;
  };
  return { result: result.value, busy: busy.value, send, stop };
}

/** read shows the body of an answer, that of a stream as it arrives. */
async function read(r: Response, show: (more: Partial<Result>) => void) {
  const media = r.headers.get("Content-Type") ?? "";
  if (!r.ok) {
    const copy = r.clone();
    const value = await r.text().then(parse).catch(() => undefined);
    show({ problem: await failure(copy), value });
  } else if (media.startsWith(events) && r.body) await stream(r.body, show);
  else if (media.includes("json")) show({ value: await r.text().then((t) => (t ? parse(t) : undefined)) });
  else if (media.startsWith("text/")) show({ text: await r.text() });
  else {
    const blob = await r.blob();
    show(blob.size ? { file: { url: URL.createObjectURL(blob), size: blob.size } } : {});
  }
}

async function stream(body: ReadableStream<Uint8Array>, show: (more: Partial<Result>) => void) {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "", all: ServerEvent[] = [], seen = 0;
  show({ events: all, open: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const got = readEvents(rest + value);
    rest = got.rest;
    if (!got.events.length) continue;
    seen += got.events.length;
    all = [...all, ...got.events].slice(-kept);
    show({ events: all, seen, open: true });
  }
  show({ open: false });
}
