// What bar charts are drawn from.
import assert from "node:assert/strict";
import { test } from "node:test";
import { share, slots, top } from "./bars.ts";

test("the axis ends at a round number", () => {
  for (const [max, want] of [[0, 1], [1, 1], [3, 5], [7, 10], [12, 20], [21, 25], [0.03, 0.05], [980, 1000]]) assert.ok(Math.abs(top([max, 0]) - want) < 1e-9, `${max}: ${top([max])}`);
});

test("days without turns are there", () => {
  assert.deepEqual(slots(Date.parse("2026-11-26T22:00:00Z"), Date.parse("2026-11-28T01:00:00Z"), "day"), ["2026-11-26", "2026-11-27", "2026-11-28"]);
  assert.deepEqual(slots(Date.parse("2026-11-28T00:30:00Z"), Date.parse("2026-11-28T02:00:00Z"), "hour"), ["2026-11-28T00", "2026-11-28T01"]);
  assert.equal(slots(0, Date.now(), "hour").length, 800);
});

test("shares stay within the whole", () => {
  assert.equal(share(5, 10), 50);
  assert.equal(share(15, 10), 100);
  assert.equal(share(1, 0), 0);
});
