// One reader of a stream of events. EventSource reconnects and resumes by itself, with the id of the last event.
import { signal } from "@preact/signals";
import { apply, emptyView, handlers, type Event, type View } from "./fold";
import { parse } from "./json";

export class Stream {
  /** version changes whenever the view did, at most once a frame. */
  readonly version = signal(0);
  readonly problem = signal("");
  readonly view: View = emptyView();
  private source: EventSource;
  private frame = 0;

  /** also gets all events, those of more types too, before the page is drawn with them. */
  constructor(path: string, private also: (e: Event) => void = () => undefined, more: string[] = []) {
    this.source = new EventSource(path);
    for (const type of new Set([...Object.keys(handlers), ...more])) this.source.addEventListener(type, (e) => this.take(e));
    this.source.addEventListener("error-status", (e) => {
      this.problem.value = `${JSON.parse((e as MessageEvent).data).detail} Reconnecting…`;
    });
    this.source.addEventListener("end", () => this.close());
    this.source.addEventListener("open", () => { this.problem.value = ""; });
    this.source.addEventListener("error", () => {
      this.problem.value = this.source.readyState === EventSource.CLOSED
        ? "The server refuses this stream now. Reload the page, and log in again if it asks you to."
        : "The connection broke. Reconnecting…";
    });
  }

  private take(e: globalThis.Event) {
    const event = parse((e as MessageEvent).data) as Event;
    apply(this.view, event);
    this.also(event);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.version.value++;
    });
  }

  close() {
    this.source.close();
    this.problem.value = "";
  }
}
