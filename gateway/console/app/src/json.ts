// JSON whose numbers stay as they are written: JavaScript rounds large ones, and a person must see what is sent.

/** Exact is a number that JavaScript would write in another way than it is written. */
export class Exact {
  constructor(readonly text: string) {}
  toString() { return this.text; }
}

const mark = `exact ${Math.random()}`; // no text of others contains it
const token = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d[\d.eE+-]*/g; // a string or a number
const marked = new RegExp(`"${mark}([^"]*)"`, "g");

/** parse reads JSON. Numbers that JavaScript would round, or write in another way, are Exact; none of the API's own are. */
export const parse = (text: string) => JSON.parse(
  text.replace(token, (t) => (t[0] === '"' || String(Number(t)) === t ? t : `{"${mark}":"${t}"}`)),
  (_key, value) => (value && typeof value === "object" && mark in value ? new Exact(value[mark]) : value),
);

/** pretty formats what parse returns, with all its numbers as they were written. */
export const pretty = (value: unknown) => (value == null ? ""
  : JSON.stringify(value, (_key, v) => (v instanceof Exact ? mark + v.text : v), 2).replace(marked, "$1"));

/** indented formats JSON with all its numbers as they are written. */
export const indented = (text: string) => pretty(parse(text));
