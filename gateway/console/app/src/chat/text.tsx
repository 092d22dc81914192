// The text of an answer, as Markdown, while it is written and after.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { get, part } from "../api";
import { Dialog, copy } from "../ui/dialog";
import { Growing } from "./grow";
import type { Citation } from "./said";

type Renderer = typeof import("../markdown");
const renderer = signal<Renderer | null>(null);

/** loadMarkdown reads what renders Markdown; until then text is shown as it is. */
export const loadMarkdown = () => { if (!renderer.value) void import("../markdown").then((m) => { renderer.value = m; }, () => undefined); };

/** Prose is a text in Markdown. While it is open, more may follow. */
export function Prose({ text, open, citations }: { text: string; open?: boolean; citations?: Citation[] }) {
  useEffect(loadMarkdown, []);
  const r = renderer.value;
  const growing = useMemo(() => (r ? new Growing(r.firstBlocks) : null), [r]);
  const shown = useSignal<Citation | null>(null);
  if (!r || !growing || text.length > r.longest) return <div class="bubble">{text}</div>;
  growing.take(text);
  const props = { citations, onCite: (c: Citation) => { shown.value = c; } };
  return (
    <div class={open ? "markdown open" : "markdown"}>
      {growing.chunks.map((html, n) => <Chunk key={n} html={html} {...props} />)}
      <Chunk key={growing.chunks.length} html={growing.tail} open={open} {...props} />
      {citations && citations.length > 0 && !open && <Sources of={citations} onCite={props.onCite} />}
      {shown.value && <Passage of={shown.value} onClose={() => { shown.value = null; }} />}
    </div>
  );
}

function Chunk({ html, open, citations, onCite }: { html: string; open?: boolean; citations?: Citation[]; onCite: (c: Citation) => void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) equip(box.current!, citations ?? [], onCite);
  }, [html, open, citations]);
  return <div class="chunk" ref={box} dangerouslySetInnerHTML={{ __html: html }} />;
}

/** equip gives code a button that copies it, makes what scrolls reachable by keyboard, and turns the marks of citations into buttons. */
function equip(box: HTMLElement, citations: Citation[], onCite: (c: Citation) => void) {
  for (const pre of box.querySelectorAll("pre")) {
    if (pre.querySelector("button")) continue;
    pre.tabIndex = 0;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet small copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(pre.querySelector("code")?.textContent ?? ""));
    pre.prepend(button);
  }
  for (const table of box.querySelectorAll("table")) table.tabIndex = 0;
  if (citations.length) mark(box, citations, onCite);
}

function mark(box: HTMLElement, citations: Citation[], onCite: (c: Citation) => void) {
  const texts: Text[] = [];
  const all = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (all.nextNode()) if (!all.currentNode.parentElement!.closest("code, button, a")) texts.push(all.currentNode as Text);
  for (const node of texts) {
    const parts = node.data.split(/(\[\d{1,3}\])/);
    if (parts.length < 2) continue;
    node.replaceWith(...parts.map((p) => {
      const c = /^\[\d+\]$/.test(p) ? citations.find((x) => `[${x.number}]` === p) : undefined;
      if (!c) return p;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "cite";
      button.textContent = p;
      button.title = c.document_name;
      button.addEventListener("click", () => onCite(c));
      return button;
    }));
  }
}

const where = (c: Citation) => [c.document_name, c.page ? `page ${c.page}` : "", ...(c.heading ?? [])].filter(Boolean).join(" · ");

function Sources({ of, onCite }: { of: Citation[]; onCite: (c: Citation) => void }) {
  return (
    <div class="sources">
      <span class="dim">Sources</span>
      <ul>{of.map((c) => <li key={c.number}><button type="button" class="quiet small" onClick={() => onCite(c)}>[{c.number}] {where(c)}</button></li>)}</ul>
    </div>
  );
}

/** around is how many bytes before and after a passage are shown. */
const around = 400;

/** Passage shows what is cited where it stands in its document. */
function Passage({ of: c, onClose }: { of: Citation; onClose: () => void }) {
  const text = useSignal<{ before: string; cited: string; after: string } | null>(null);
  const problem = useSignal("");
  useEffect(() => {
    const [start, end] = [Number(c.start), Number(c.end)];
    const read = (from: number, to: number) => (to <= from ? Promise.resolve("") : get<{ text: string }>(
      `/v1/banks/${part(c.bank_id)}/documents/${part(c.document_id)}/text?version=${part(c.version)}&start=${from}&end=${to}`).then((t) => t.text));
    Promise.all([read(Math.max(0, start - around), start), read(start, end), read(end, end + around).catch(() => "")])
      .then(([before, cited, after]) => { text.value = { before, cited, after }; }, (e: Error) => { problem.value = e.message; });
  }, [c]);
  const t = text.value;
  return (
    <Dialog title={c.document_name} onClose={onClose} wide>
      <p class="dim">{where(c)}</p>
      {problem.value && <p class="note">The document cannot be read now: {problem.value} This is what the answer cites:</p>}
      <pre class="passage" tabIndex={0}>{t ? <>{t.before}<mark>{t.cited}</mark>{t.after}</> : <mark>{c.quote}</mark>}</pre>
      <p><a href={`/knowledge/${part(c.bank_id)}?document=${part(c.document_id)}`}>Open the document</a></p>
    </Dialog>
  );
}
