// The turn as it was after one of its events.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Event } from "../fold";
import { duration } from "../format";
import { setParams } from "../route";

/** length is how long playing a whole turn takes at most, in milliseconds. */
const length = 12_000;

/** useAt is the event that the turn is shown at, 0 for now. The address follows a moment later: browsers limit how often it may change. */
export function useAt(params: URLSearchParams): { at: number; set: (at: number) => void } {
  const given = Number(params.get("at")) || 0;
  const own = useSignal<number | null>(null);
  const timer = useRef(0);
  const written = useRef(given);
  useEffect(() => {
    if (given === written.current) return; // the address has caught up
    written.current = given;
    own.value = null;
  }, [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (at: number) => {
    own.value = at;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      written.current = at;
      setParams({ at: at ? String(at) : "" });
    }, 300);
  };
  return { at: own.value ?? given, set };
}

export function Scrubber({ events, at, set, active }: { events: readonly Event[]; version: number; at: number; set: (at: number) => void; active: boolean }) {
  const playing = useSignal(false);
  const frame = useRef(0);
  const first = events[0]?.seq ?? 0;
  const last = events.at(-1)?.seq ?? 0;
  const stop = () => {
    cancelAnimationFrame(frame.current);
    playing.value = false;
  };
  useEffect(() => stop, []);
  if (last <= first) return null;
  const index = at ? indexAt(events, at) : events.length - 1;
  const now = events[index]!;
  const step = (by: number) => {
    stop();
    const i = Math.min(events.length - 1, Math.max(0, index + by));
    set(i === events.length - 1 ? 0 : events[i]!.seq);
  };
  const play = () => {
    if (playing.value) { stop(); return; }
    const start = at ? index : 0;
    const per = Math.max(1, Math.min(400, length / events.length)); // milliseconds an event
    const began = performance.now();
    playing.value = true;
    const next = (time: number) => {
      const i = start + Math.max(0, Math.floor((time - began) / per)); // the frame may have begun before the click
      if (i >= events.length - 1) {
        stop();
        set(0);
        return;
      }
      set(events[i]!.seq);
      frame.current = requestAnimationFrame(next);
    };
    set(events[start]!.seq);
    frame.current = requestAnimationFrame(next);
  };
  return (
    <div class="tl-scrub" role="group" aria-label="Time of the turn">
      <button type="button" class="quiet small" onClick={play} aria-pressed={playing.value}>{playing.value ? "Stop" : "Play"}</button>
      <button type="button" class="quiet small" aria-label="One event back" onClick={() => step(-1)}>◂</button>
      <input type="range" aria-label="Event" min={first} max={last} value={now.seq} aria-valuetext={`event ${now.seq}, ${now.type}`} onInput={(e) => {
        stop();
        const to = Number(e.currentTarget.value);
        set(to >= last ? 0 : to);
      }} />
      <button type="button" class="quiet small" aria-label="One event on" onClick={() => step(1)}>▸</button>
      <span class="tl-when figure" role="status" aria-live="off">
        {at ? <>event {now.seq} of {last}, {duration(Date.parse(now.time) - Date.parse(events[0]!.time))}: <code>{now.type}</code></> : active ? "live" : `all ${last - first + 1} events`}
      </span>
      {at > 0 && <button type="button" class="quiet small" onClick={() => { stop(); set(0); }}>{active ? "To now" : "To the end"}</button>}
    </div>
  );
}

/** indexAt finds the last event up to a sequence number. */
function indexAt(events: readonly Event[], at: number): number {
  let [low, high] = [0, events.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (events[middle]!.seq <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
