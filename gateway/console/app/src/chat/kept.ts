// What this browser keeps of conversations: drafts, and how far each has been read.
import { signal } from "@preact/signals";
import type { FileRef } from "./said";

function read<T>(key: string, none: T): T {
  try { return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? none; } catch { return none; }
}

function write(key: string, value: unknown) {
  try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* the browser is full: what is kept is a help, not a promise */ }
}

export interface Draft { text: string; files: FileRef[] }

const draftKey = (session: string) => `draft:${session || "new"}`;

export const draftOf = (session: string): Draft => read<Draft>(draftKey(session), { text: "", files: [] });

export function keepDraft(session: string, d: Draft) {
  if (d.text || d.files.length) write(draftKey(session), d);
  else localStorage.removeItem(draftKey(session));
}

/** seen is the last sequence number that was read of each conversation. */
export const seen = signal<Record<string, number>>(read("seen", {}));

/** most is how many conversations are kept as read. */
const most = 300;

export function markSeen(session: string, seq: number) {
  if ((seen.value[session] ?? 0) >= seq) return;
  const { [session]: _, ...others } = seen.value;
  seen.value = Object.fromEntries([...Object.entries(others).slice(-most), [session, seq]]);
  write("seen", seen.value);
}

/** choice is a choice of the user that lasts. */
export function choice<T extends string>(key: string, none: T) {
  const s = signal<T>((localStorage.getItem(key) as T | null) ?? none);
  return { get value() { return s.value; }, set value(v: T) { s.value = v; try { localStorage.setItem(key, v); } catch { /* as above */ } } };
}
