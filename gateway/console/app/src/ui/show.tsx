// Single facts, shown everywhere in the same way.
import { signal } from "@preact/signals";
import { ago, duration, money } from "../format";
import { copy } from "./dialog";

const tones: Record<string, string> = {};
for (const [tone, words] of Object.entries({
  good: "completed ready ok done active approved allow allowed enabled healthy succeeded delivered indexed connected available valid",
  bad: "failed denied deny error unavailable unhealthy blocked rejected refused broken revoked exhausted void",
  warn: "waiting degraded drifted pending paused ask expired unknown deprecated unresolved",
  going: "running queued syncing started executing processing indexing pending_sync retrying",
})) for (const w of words.split(" ")) tones[w] = tone;

/** Status is a state in one word; its colour says the same. */
export function Status({ of }: { of: string }) {
  const word = of.toLowerCase().replaceAll("_", " ");
  return <span class={`status ${tones[of.toLowerCase()] ?? "plain"} ${of.toLowerCase()}`}>{word}</span>;
}

const now = signal(Date.now());
setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 15_000);

/** When is a time as people say it, exact on hover. */
export function When({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="dim">–</span>;
  return <time dateTime={at} title={`${new Date(at).toLocaleString()} (${at})`}>{ago(at, Math.max(now.value, Date.now()))}</time>;
}

export const Took = ({ ms }: { ms: number | null | undefined }) => <span class="figure">{ms == null || Number.isNaN(ms) ? "–" : duration(ms)}</span>;

export function Money({ micros }: { micros: number | string | null | undefined }) {
  return <span class="figure" title={micros ? `${micros} millionths of a US dollar` : undefined}>{money(Number(micros ?? 0)) || "$0"}</span>;
}

/** Id is an id that is copied by a click, and leads somewhere with `href`. */
export function Id({ of, href }: { of: string; href?: string }) {
  const button = (text: string) => (
    <button type="button" class="copy-id" title={`Copy ${of}`} aria-label={`Copy ${of}`} onClick={(e) => { e.preventDefault(); copy(of); }}>{text}</button>
  );
  return <span class="id">{href ? <><a href={href}>{of}</a>{button("⧉")}</> : button(of)}</span>;
}
