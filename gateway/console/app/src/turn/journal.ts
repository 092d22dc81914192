// One reader of the events of a turn: it keeps those that are durable, for the list of events and to go back in time, and folds all of them.
import { signal } from "@preact/signals";
import { part } from "../api";
import { nothingSaid, record, type Said } from "../chat/said";
import { apply, emptyView, type Event, type View } from "../fold";
import { parse } from "../json";
import { advance, emptyTimeline, isTransient, timelineOf, type Timeline } from "../timeline";

/** slice is how long events are taken before the browser can draw, in milliseconds. */
const slice = 12;

export class Journal {
  /** version changes whenever the journal did, at most once a frame. */
  readonly version = signal(0);
  readonly problem = signal("");
  /** complete is true when all that is stored has been read, and the turn has ended. */
  readonly complete = signal(false);
  readonly events: Event[] = [];
  readonly view: View = emptyView();
  /** said is what a conversation shows besides. */
  readonly said: Said = nothingSaid();
  private readonly timelines = new Map<string, Timeline>();
  private readonly children = new Map<string, Event[]>();
  private source: EventSource | null = null;
  private frame = 0;

  constructor(readonly turn: string) { this.read(""); }

  private read(query: string) {
    this.source?.close();
    const source = this.source = new EventSource(`/v1/turns/${part(this.turn)}/events?event=message${query}`);
    source.onmessage = (e) => {
      this.queue.push(e.data as string);
      if (this.queue.length === 1) this.pump();
    };
    source.addEventListener("error-status", (e) => {
      this.problem.value = `${(JSON.parse((e as MessageEvent).data as string) as { detail: string }).detail} Reconnecting…`;
    });
    source.addEventListener("end", () => {
      source.close();
      this.problem.value = "";
      this.complete.value = true;
    });
    source.onopen = () => { this.problem.value = ""; };
    source.onerror = () => {
      if (this.complete.value) return;
      this.problem.value = source.readyState === EventSource.CLOSED
        ? "The server refuses this stream now. Reload the page, and log in again if it asks you to."
        : "The connection broke. Reconnecting…";
    };
  }

  /** withChildren reads what sub-agents do, too: from the beginning, as what is there already changes nothing. */
  withChildren = () => {
    if (this.children.size || this.nested) return;
    this.nested = true;
    this.complete.value = false;
    this.read("&include=children");
  };
  private nested = false;

  /** pump takes what has come, a slice at a time: a turn of thousands of events comes at once, and the page stays responsive. */
  private pump = () => {
    const until = performance.now() + slice;
    let n = 0;
    while (n < this.queue.length && (n === 0 || performance.now() < until)) this.take(parse(this.queue[n++]!) as Event);
    this.queue.splice(0, n);
    if (this.queue.length) this.timer = window.setTimeout(this.pump);
  };
  private queue: string[] = [];
  private timer = 0;

  private take(e: Event) {
    const own = e.turn_id === this.turn;
    if (own) {
      const last = this.events.at(-1);
      const transient = isTransient(e.type);
      if (!transient && last && e.seq <= last.seq) return;
      if (!transient) this.events.push(e);
      else if (this.seen(e as Event & { delta?: number })) return;
      apply(this.view, e);
      record(this.said, e);
    } else if (!e.turn_id) return;
    else if (!isTransient(e.type)) {
      const all = this.children.get(e.turn_id) ?? [];
      if (all.length && all.at(-1)!.seq >= e.seq) return;
      this.children.set(e.turn_id, all);
      all.push(e);
    }
    let t = this.timelines.get(e.turn_id);
    if (!t) this.timelines.set(e.turn_id, t = emptyTimeline(e.turn_id));
    advance(t, e);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.version.value++;
    });
  }

  /** seen tells whether a numbered delta is there already: withChildren reads the stream again. */
  private seen(e: Event & { delta?: number }): boolean {
    if (!e.delta) return false;
    const [seq, delta] = this.newest;
    if (e.seq < seq || e.seq === seq && e.delta <= delta) return true;
    this.newest = [e.seq, e.delta];
    return false;
  }
  private newest: [number, number] = [0, 0];

  get timeline(): Timeline { return this.timelines.get(this.turn) ?? emptyTimeline(this.turn); }

  /** child is the timeline of a sub-agent's turn, as far as it has been read; up to the time that the turn itself is shown at. */
  child = (turn: string, until = 0): Timeline | undefined => {
    if (!until) return this.timelines.get(turn);
    const all = this.children.get(turn);
    return all && timelineOf(turn, all.filter((e) => Date.parse(e.time) <= until));
  };

  /** asOf is the turn as it was after one of its events. Going on from there folds only what is between. */
  asOf(at: number): Timeline {
    if (!this.past || at < this.past.of.seq) this.past = { next: 0, of: emptyTimeline(this.turn) };
    const p = this.past;
    for (; p.next < this.events.length && this.events[p.next]!.seq <= at; p.next++) advance(p.of, this.events[p.next]!);
    return p.of;
  }
  private past: { next: number; of: Timeline } | null = null;

  /** viewOf is the conversation as it was after one of the events. */
  viewOf(at: number): View {
    const view = emptyView();
    for (const e of this.events) {
      if (e.seq > at) break;
      apply(view, e);
    }
    return view;
  }

  close() {
    this.source?.close();
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
  }
}
