// What a conversation shows besides the items of its turns: files, citations, and what one can do about a call with an unknown outcome. A pure
// fold of the same events as fold.ts.
import type { Event } from "../fold";

export interface FileRef { file_id: string; name: string; media_type: string; size: number | string }

export interface Citation {
  number: number; bank_id: string; document_id: string; document_name: string; version: string; start: number | string; end: number | string;
  quote: string; heading: string[]; page: number;
}

/** Unresolved is a call whose outcome is unknown. A person can say it while there is an approval for it. */
interface Unresolved { approval: string; turn: string; call: string; tool: string; verdict: string }

interface Forked { from: string; seq: number; messages: number }

/** leftOut reports whether a conversation has more messages from where it comes than the ones read. */
export const leftOut = (forked: Forked, read: { seq: number }[]) => read.filter((m) => m.seq <= forked.seq).length < forked.messages;

export interface Said {
  /** queued and ended are the sequence numbers of each turn's first and last event. */
  queued: Map<string, number>;
  ended: Map<string, number>;
  /** files are those of each turn's input. */
  files: Map<string, FileRef[]>;
  /** citations of each message. */
  citations: Map<string, Citation[]>;
  /** unresolved calls by turn and call, see callKey. */
  unresolved: Map<string, Unresolved>;
  /** forked says where this conversation comes from: the session, "" for a file, and the sequence number that this event and all messages from
   *  there have. */
  forked: Forked | null;
  lastSeq: number;
}

export const nothingSaid = (): Said => ({
  queued: new Map(), ended: new Map(), files: new Map(), citations: new Map(), unresolved: new Map(), forked: null, lastSeq: 0,
});

/** types are the types of events that change what has been said and that fold.ts does not handle. */
export const types = ["session.forked"];

export const callKey = (turn: string, call: string) => `${turn} ${call}`;

const filesOf = (content: { file?: FileRef }[] | undefined): FileRef[] => (content ?? []).flatMap((p) => (p.file ? [p.file] : []));

/** record adds an event. */
export function record(s: Said, e: Event): void {
  if (e.seq > s.lastSeq) s.lastSeq = e.seq;
  const d = e.data;
  switch (e.type) {
    case "turn.queued":
      s.queued.set(e.turn_id, e.seq);
      s.files.set(e.turn_id, filesOf(d.input));
      break;
    case "turn.completed": case "turn.failed": case "turn.cancelled":
      s.ended.set(e.turn_id, e.seq);
      for (const u of s.unresolved.values()) if (u.turn === e.turn_id && !u.verdict) u.verdict = "over";
      break;
    case "message.completed": {
      const all = (d.message.content ?? []).flatMap((p: { citations?: Citation[] }) => p.citations ?? []) as Citation[];
      if (all.length) s.citations.set(d.message.id, [...new Map(all.map((c) => [c.number, c])).values()].sort((a, b) => a.number - b.number));
      break;
    }
    case "tool_call.unresolved":
      if (d.approval_id) s.unresolved.set(callKey(e.turn_id, d.call_id), { approval: d.approval_id, turn: e.turn_id, call: d.call_id, tool: d.tool, verdict: "" });
      break;
    case "tool_call.resolved":
      for (const u of s.unresolved.values()) if (u.approval === d.approval_id || u.turn === e.turn_id && u.call === d.call_id) u.verdict = d.verdict || d.outcome || "resolved";
      break;
    case "session.forked":
      s.forked = { from: d.from_session, seq: e.seq, messages: d.messages };
  }
}
