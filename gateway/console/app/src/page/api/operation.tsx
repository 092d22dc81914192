// One operation: what it does, takes and answers, and a form that calls it.
import { useSignal } from "@preact/signals";
import { can, Copy, Json, WhomToAsk } from "../../ui";
import { Attempt } from "./attempt";
import { choices, events, inner, resolved, typeName, type Document, type Operation } from "./document";
import type { Schema } from "../../api";

export function OperationView({ of: o, document }: { of: Operation; document: Document }) {
  const refused = o.permissions.filter((p) => !can(p));
  return (
    <article class="api-operation" aria-label={o.summary || o.id}>
      <p class="api-path"><span class={`api-method ${o.method.toLowerCase()}`}>{o.method}</span> <code>{o.path}</code></p>
      <Prose of={beyond(o.summary, o.description)} />
      <p class="hint">
        {o.permissions.length > 0 && <>Needs the permission {o.permissions.map((p) => <code key={p}>{p}</code>)}. </>}
        {o.accepts.includes(events) && <>Answers with a stream of events{o.accepts.length > 1 ? " if the request accepts one" : ""}. </>}
        Operation <code>{o.id}</code>.
      </p>
      {refused.length > 0
        ? <p class="note bad">You may not call this: it needs the permission <code>{refused[0]}</code>. <WhomToAsk permission={refused[0]!} /></p>
        : <Attempt of={o} document={document} />}
      {o.bodies.map(([media, content]) => content.schema && media.includes("json") && (
        <section key={media}><h3>Body</h3><Fields of={content.schema} document={document} /></section>
      ))}
      <h3>Responses</h3>
      {o.responses.map(([status, r]) => <Answer key={status} status={status} response={r} document={document} />)}
    </article>
  );
}

/** beyond is what a description says after its summary. */
const beyond = (summary: string, text: string) => (text.startsWith(summary) ? text.slice(summary.length).replace(/^[.:;,]?\s*/, "") : text);

function Answer({ status, response, document }: { status: string; response: Operation["responses"][number][1]; document: Document }) {
  const open = useSignal(false);
  const contents = Object.entries(response.content ?? {});
  const name = status === "default" ? "Any other" : status;
  return (
    <details class="api-answer" onToggle={(e) => { open.value = e.currentTarget.open; }}>
      <summary><b>{name}</b> <span class="hint">{contents.map(([m]) => m).join(", ")}</span> {response.description?.split("\n")[0]}</summary>
      {open.value && (
        <>
          {Object.entries(response.headers ?? {}).map(([h, d]) => <p key={h}><code>{h}</code> {d.description}</p>)}
          {contents.map(([media, c]) => (
            <div key={media}>
              {c.schema && <Fields of={c.schema} document={document} />}
              {c.example !== undefined && <Json value={c.example} label="Example" />}
            </div>
          ))}
        </>
      )}
    </details>
  );
}

/** Fields lists what an object has; those with fields of their own unfold. */
export function Fields({ of, document, depth = 0 }: { of: Schema; document: Document; depth?: number }) {
  const own = inner(document, of);
  if (!own?.properties) {
    const variants = resolved(document, of).oneOf ?? [];
    if (variants.length) return <p class="hint">One of {variants.length} forms, by <code>type</code>: see <a href="/docs/reference/events">Events</a>.</p>;
    return <p class="hint">{typeName(document, of)}</p>;
  }
  return (
    <ul class="api-fields">
      {Object.entries(own.properties).map(([name, s]) => (
        <Field key={name} name={name} of={s} required={own.required?.includes(name) ?? false} document={document} depth={depth} />
      ))}
    </ul>
  );
}

function Field({ name, of, required, document, depth }: { name: string; of: Schema; required: boolean; document: Document; depth: number }) {
  const open = useSignal(false);
  const all = choices(document, of);
  const unfolds = depth < 12 && inner(document, of);
  return (
    <li>
      <code>{name}</code> <span class="hint">{typeName(document, of)}</span>{required && <span class="required"> required</span>}
      <Prose of={resolved(document, of).description ?? ""} />
      {all.length > 0 && <p class="hint">{all.map((v, i) => <span key={i}>{i > 0 && " · "}<code>{String(v)}</code></span>)}</p>}
      {unfolds && (
        <details onToggle={(e) => { if (e.target === e.currentTarget) open.value = e.currentTarget.open; }}>
          <summary>Fields of {name}</summary>
          {open.value && <Fields of={of} document={document} depth={depth + 1} />}
        </details>
      )}
    </li>
  );
}

/** Prose is the text of a comment: paragraphs, lists with " - ", and `code`. */
export function Prose({ of }: { of: string }) {
  if (!of) return null;
  return (
    <>
      {of.split(/\n\s*\n/).map((block, i) => {
        const lines = block.split(/\n(?= *- )/);
        const items = lines.filter((l) => /^ *- /.test(l));
        const text = lines.filter((l) => !/^ *- /.test(l)).join(" ");
        return (
          <div key={i} class="api-prose">
            {text && <p>{inline(text)}</p>}
            {items.length > 0 && <ul>{items.map((l) => <li key={l}>{inline(l.replace(/^ *- /, ""))}</li>)}</ul>}
          </div>
        );
      })}
    </>
  );
}

const inline = (text: string) => text.split(/`([^`]+)`/).map((t, i) => (i % 2 ? <code key={i}>{t}</code> : t));

/** Code is text to copy. */
export const Code = ({ of, label }: { of: string; label: string }) => (
  <figure class="api-code"><pre tabIndex={0} role="group" aria-label={label}>{of}</pre><Copy text={of} /></figure>
);
