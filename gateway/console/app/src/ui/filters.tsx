// What a page shows is in its URL, so that a link shows the same.
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { go, path, search, setParams, withParams } from "../route";
import { Menu } from "./page";

/** Tabs are the views of one page, by ?tab=. */
export function Tabs({ at, of }: { at: string; of: [key: string, name: string][] }) {
  return (
    <nav class="tabs" aria-label="Views of this page">
      {of.map(([key, name]) => <a key={key} href={withParams({ tab: key })} aria-current={key === at ? "page" : undefined}>{name}</a>)}
    </nav>
  );
}

/** Filter is one parameter. A choice of "" is for all; a choice is a value, or a value and its name. */
export interface Filter { key: string; name: string; kind: "text" | "choice" | "time"; choices?: (string | [string, string])[] }

const spans: [string, string][] = [["", "any time"], ["1h", "last hour"], ["24h", "last 24 hours"], ["7d", "last 7 days"], ["30d", "last 30 days"]];

/** timeOf is the time, in RFC 3339, that a filter of kind time means: `24h` is 24 hours before now. See useTime. */
export function timeOf(value: string | null): string {
  const found = /^(\d+)([hd])$/.exec(value ?? "");
  if (!found) return value ?? "";
  return new Date(Date.now() - Number(found[1]) * (found[2] === "h" ? 3_600_000 : 86_400_000)).toISOString();
}

/** useTime is timeOf when a page got this value: a path that has it stays the same until the value is another, so that what was read is kept. */
export const useTime = (value: string | null): string => useMemo(() => timeOf(value), [value]);

/** useFiltered is the part of a REST query that the filters set, without a question mark; times as useTime has them. */
export function useFiltered(of: Filter[], params: URLSearchParams): string {
  const set = of.map((f) => [f, params.get(f.key) ?? ""] as const).filter(([, v]) => v);
  return useMemo(() => new URLSearchParams(set.map(([f, v]) => [f.key, f.kind === "time" ? timeOf(v) : v])).toString(), [set.map(([f, v]) => `${f.key}=${v}`).join("\n")]);
}

type Saved = Record<string, string>;
const savedAt = () => `filters:${path.value}`;
function saved(): Saved {
  try { return JSON.parse(localStorage.getItem(savedAt()) ?? "{}") as Saved; } catch { return {}; }
}

export function Filters({ of }: { of: Filter[] }) {
  const params = new URLSearchParams(search.value);
  const set = of.some((f) => params.get(f.key));
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(e) => e.preventDefault()}>
      {of.map((f) => <Control key={f.key} filter={f} value={params.get(f.key) ?? ""} />)}
      {set && <button type="button" class="quiet" onClick={() => setParams(Object.fromEntries(of.map((f) => [f.key, ""])))}>Clear</button>}
      <SavedFilters of={of} set={set} />
    </form>
  );
}

function Control({ filter, value }: { filter: Filter; value: string }) {
  const timer = useRef(0);
  if (filter.kind === "text") {
    const later = (v: string) => {
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => setParams({ [filter.key]: v }), 250);
    };
    return <input type="search" aria-label={filter.name} placeholder={filter.name} value={value} onInput={(e) => later(e.currentTarget.value)} />;
  }
  let choices = (filter.kind === "time" ? spans : filter.choices ?? []).map((c): [string, string] => (typeof c === "string" ? [c, c || `any ${filter.name.toLowerCase()}`] : c));
  if (!choices.some(([v]) => v === "")) choices = [["", `any ${filter.name.toLowerCase()}`], ...choices];
  if (!choices.some(([v]) => v === value)) choices = [...choices, [value, value]];
  return (
    <select aria-label={filter.name} value={value} onChange={(e) => setParams({ [filter.key]: e.currentTarget.value })}>
      {choices.map(([v, name]) => <option key={v} value={v} selected={v === value}>{name}</option>)}
    </select>
  );
}

function SavedFilters({ of, set }: { of: Filter[]; set: boolean }) {
  const all = useSignal(saved());
  const name = useSignal("");
  const keep = (next: Saved) => {
    localStorage.setItem(savedAt(), JSON.stringify(next));
    all.value = next;
  };
  const save = () => {
    const params = new URLSearchParams(search.value);
    const q = new URLSearchParams(of.flatMap((f) => (params.get(f.key) ? [[f.key, params.get(f.key)!]] : [])));
    keep({ ...all.value, [name.value.trim()]: q.toString() });
    name.value = "";
  };
  const names = Object.keys(all.value);
  if (!names.length && !set) return null;
  return (
    <Menu name="Saved" label="Saved filters of this page">
      {names.map((n) => (
        <div key={n} class="menu-row">
          <button type="button" onClick={() => go(`${path.value}?${all.value[n]}`)}>{n}</button>
          <button type="button" class="icon" aria-label={`Remove ${n}`} onClick={() => { const { [n]: _, ...rest } = all.value; keep(rest); }}>×</button>
        </div>
      ))}
      {set && (
        <div class="menu-row">
          <input aria-label="Name of these filters" placeholder="Name" value={name.value} onInput={(e) => { name.value = e.currentTarget.value; }} />
          <button type="button" disabled={!name.value.trim()} onClick={save}>Save</button>
        </div>
      )}
    </Menu>
  );
}
