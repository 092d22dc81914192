// JSON whose numbers stay as they are written: JavaScript rounds large ones, and a person must see what is sent.
type Source = { source?: string };
const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;

const read = (text: string, keep: (value: number) => boolean) =>
  JSON.parse(text, ((_key: string, value: unknown, at?: Source) =>
    typeof value === "number" && keep(value) && at?.source && raw ? raw(at.source) : value) as (key: string, value: unknown) => unknown);

/** parse reads a message of the API: numbers that JavaScript would round keep their text. None of the API's own are as large. */
export const parse = (text: string) => read(text, (value) => Math.abs(value) > Number.MAX_SAFE_INTEGER);

/** indented formats JSON with all its numbers as they are written; the text itself where a browser cannot. */
export const indented = (text: string) => (raw ? JSON.stringify(read(text, () => true), null, 2) : text);
