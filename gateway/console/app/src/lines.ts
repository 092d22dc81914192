// Differences of texts, line by line.

export interface Line { op: " " | "+" | "-"; text: string }

/** compared says which lines of b are new and which of a are gone, by the longest common subsequence. Beyond some thousand lines it says that all changed. */
export function compared(a: string, b: string): Line[] {
  const [from, to] = [a.split("\n"), b.split("\n")];
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start++;
  let end = 0;
  while (end < from.length - start && end < to.length - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end++;
  const [x, y] = [from.slice(start, from.length - end), to.slice(start, to.length - end)];
  const same = (lines: string[]): Line[] => lines.map((text) => ({ op: " ", text }));
  return [...same(from.slice(0, start)), ...between(x, y), ...same(from.slice(from.length - end))];
}

function between(x: string[], y: string[]): Line[] {
  const out: Line[] = [];
  if (x.length * y.length > 4_000_000) {
    return [...x.map((text): Line => ({ op: "-", text })), ...y.map((text): Line => ({ op: "+", text }))];
  }
  const width = y.length + 1;
  const common = new Uint32Array((x.length + 1) * width); // of the lines from i and from j on
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      common[i * width + j] = x[i] === y[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      out.push({ op: " ", text: x[i]! });
      i++;
      j++;
    } else if (i < x.length && (j === y.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) out.push({ op: "-", text: x[i++]! });
    else out.push({ op: "+", text: y[j++]! });
  }
  return out;
}

/** unified reads a unified diff, as the server writes them: without names of files. The positions of its parts are left out. */
export const unified = (text: string): Line[] => text.replace(/\n$/, "").split("\n").filter((l) => !/^(@@|\\)/.test(l))
  .map((l) => ({ op: l[0] === "+" || l[0] === "-" ? l[0] : " ", text: /^[-+ ]/.test(l) ? l.slice(1) : l }));
