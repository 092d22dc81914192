// A text area for the documents of bundles: it checks them while one types, and shows what is wrong beside the line.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Failed, post } from "../api";
import { lineErrors, type LineError } from "../yaml";

interface Applied { applied: { kind: string; id: string; action: string; warning: string }[] }

/** apply stores the documents of a text, or, when dry, says what it would do. */
export const apply = (text: string, dry = false) => post<Applied>("/v1/agents:apply", { yaml: text, dry_run: dry });

/** check finds what the server would refuse in a text. */
async function check(text: string): Promise<{ errors: LineError[]; said: string[] }> {
  try {
    const { applied } = await apply(text, true);
    return { errors: [], said: applied.map((a) => `${a.kind} ${a.id}: ${a.action === "unchanged" ? "unchanged" : `would be ${a.action}`}${a.warning ? `. ${a.warning}` : ""}`) };
  } catch (e) {
    const f = e as Failed;
    return { errors: lineErrors(f.fields, f.message), said: [] };
  }
}

export function Editor({ label, text }: { label: string; text: Signal<string> }) {
  const errors = useSignal<LineError[]>([]);
  const said = useSignal<string[]>([]);
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const margin = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let open = true;
    const timer = setTimeout(() => check(text.value).then((r) => {
      if (!open) return;
      errors.value = r.errors;
      said.value = r.said;
    }), 400);
    return () => {
      open = false;
      clearTimeout(timer);
    };
  }, [text.value]);
  const lines = text.value.split("\n");
  const at = (line: number) => errors.value.filter((e) => e.line === line).map((e) => e.text).join("; ");
  const jump = (line: number) => {
    const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.current?.focus();
    area.current?.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  };
  return (
    <div class="editor-box">
      <div class="editor">
        <div class="gutter" ref={gutter} aria-hidden="true">{lines.map((_, i) => <div key={i} class={at(i + 1) ? "wrong" : ""}>{i + 1}</div>)}</div>
        <textarea ref={area} class="code" aria-label={label} wrap="off" spellcheck={false} rows={Math.max(14, Math.min(34, lines.length + 1))} value={text.value}
          aria-invalid={errors.value.length > 0} onInput={(e) => { text.value = e.currentTarget.value; }}
          onScroll={(e) => {
            if (gutter.current) gutter.current.scrollTop = e.currentTarget.scrollTop;
            margin.current?.scrollTo(e.currentTarget.scrollLeft, e.currentTarget.scrollTop);
          }} />
        <div class="margin" ref={margin} aria-hidden="true">{lines.map((l, i) => <div key={i}><span class="ghost">{l}</span>{at(i + 1) && <span class="margin-note">← {at(i + 1)}</span>}</div>)}</div>
      </div>
      {errors.value.length > 0 && <div class="note bad" role="alert"><ul class="plain">{errors.value.map((e, i) => <li key={i}>{e.line > 0 && <button type="button" class="quiet small" onClick={() => jump(e.line)}>line {e.line}</button>} {e.text}</li>)}</ul></div>}
      {said.value.length > 0 && <p class="dim" role="status">{said.value.join("; ")}</p>}
    </div>
  );
}
