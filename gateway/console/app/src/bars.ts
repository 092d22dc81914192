// What bar charts are drawn from.

export interface Bar { key: string; name: string; value: number; title: string }

/** top is a round number that is not less than any value: the upper end of an axis. */
export function top(values: number[]): number {
  const max = Math.max(0, ...values);
  if (max === 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  return [1, 2, 2.5, 5, 10].map((f) => f * unit).find((x) => x >= max * (1 - 1e-9))!;
}

/** slots are the days or hours between two times, in UTC, so that those in which nothing happened are there as well. */
export function slots(since: number, until: number, unit: "day" | "hour"): string[] {
  const ms = unit === "day" ? 86_400_000 : 3_600_000;
  const out: string[] = [];
  for (let t = Math.floor(since / ms) * ms; t < until && out.length < 800; t += ms) out.push(new Date(t).toISOString().slice(0, unit === "day" ? 10 : 13));
  return out;
}

/** share is a part of a whole in percent, from 0 to 100; 0 of nothing. */
export const share = (part: number, whole: number) => (whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0);
