// JSON as a tree that folds, with its numbers as they are written.
import { useSignal } from "@preact/signals";
import { visible } from "../format";
import { Exact, pretty } from "../json";
import { Copy } from "./page";

/** few is how many entries and characters of one value are shown at once. */
const few = { entries: 100, characters: 2000 };

const isBranch = (v: unknown): v is object => typeof v === "object" && v !== null && !(v instanceof Exact);

/** Json shows a value. It unfolds what is small. */
export function Json({ value, label = "JSON" }: { value: unknown; label?: string }) {
  return (
    <div class="json" role="group" aria-label={label}>
      <Copy text={() => pretty(value)} />
      <Value value={value} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
  if (!isBranch(value)) return <Leaf value={value} />;
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  if (!entries.length) return <span class="json-mark">{list ? "[]" : "{}"}</span>;
  return <Branch list={list} entries={entries} depth={depth} />;
}

function Branch({ list, entries, depth }: { list: boolean; entries: [string, unknown][]; depth: number }) {
  const open = useSignal(depth === 0 || depth < 3 && entries.length <= 12);
  const shown = useSignal(few.entries);
  return (
    <details class="json-branch" open={open.value} onToggle={(e) => { if (e.target === e.currentTarget) open.value = e.currentTarget.open; }}>
      <summary class="json-mark">{list ? `[${entries.length}]` : `{${entries.length}}`}</summary>
      {open.value && (
        <ul>
          {entries.slice(0, shown.value).map(([k, v]) => (
            <li key={k}><span class={list ? "json-index" : "json-key"}>{visible(k)}</span> <Value value={v} depth={depth + 1} /></li>
          ))}
          {entries.length > shown.value && (
            <li><button type="button" class="quiet small" onClick={() => { shown.value += 1000; }}>{entries.length - shown.value} more</button></li>
          )}
        </ul>
      )}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  const whole = useSignal(false);
  if (typeof value !== "string") return <span class={value === null ? "json-null" : "json-number"}>{String(value)}</span>;
  const long = value.length > few.characters && !whole.value;
  return (
    <span class="json-text">
      {visible(long ? value.slice(0, few.characters) : value)}
      {long && <button type="button" class="quiet small" onClick={() => { whole.value = true; }}>… {value.length - few.characters} more characters</button>}
    </span>
  );
}
