// Figures for people.
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** micros are the millionths of a US dollar of an amount in dollars, which may be text. */
export const micros = (dollars: unknown) => Math.round(Number(dollars || 0) * 1e6);

/** money formats millionths of a US dollar, "" for none. */
export function money(micros: number): string {
  return micros ? `$${(micros / 1e6).toFixed(micros < 10_000 ? 6 : micros < 100_000_000 ? 4 : 2)}` : "";
}

/** ago says how far from now a time is, in the past or to come. */
export function ago(time: string, now = Date.now()): string {
  const away = (now - Date.parse(time)) / 1000;
  const s = Math.abs(away);
  const words = s < 60 ? "" : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86_400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
  if (!words) return away < -1 ? "in a moment" : "now";
  return away < 0 ? `in ${words}` : `${words} ago`;
}

export const short = (hash: string) => (hash ? `${hash.slice(0, 12)}…` : "");

/** bytes formats a size. */
export function bytes(n: number): string {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (n < 1024) return `${unit === "B" ? n : n.toFixed(1)} ${unit}`;
    n /= 1024;
  }
  return `${n.toFixed(1)} GiB`;
}

// eslint-disable-next-line no-control-regex
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/** visible writes characters that one does not see, or that change the direction of others, as their code points. */
export const visible = (text: string) => text.replace(unseen, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** webAddress is a URL of the web, "" for what is none, such as a script. */
export const webAddress = (url: string) => (/^https?:\/\//i.test(url) ? url : "");

/** count is a number with its noun: 1 call, 2 calls. */
export const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;
