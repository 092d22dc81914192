// Figures for people.
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** money formats millionths of a US dollar. */
export function money(micros: number): string {
  return micros ? `$${(micros / 1e6).toFixed(micros < 10_000 ? 6 : 4)}` : "";
}

export function ago(time: string): string {
  const s = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (s < 60) return "now";
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export const short = (hash: string) => (hash ? `${hash.slice(0, 12)}…` : "");
