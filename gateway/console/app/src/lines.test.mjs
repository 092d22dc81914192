// Differences line by line, and what the lists make of what they read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, unified } from "./lines.ts";
import { globbed, nested } from "./model.ts";

const text = (lines) => lines.map((l) => l.op + l.text).join("\n");

test("lines that are in both texts stay", () => {
  assert.equal(text(compared("a\nb\nc", "a\nx\nc\nd")), " a\n-b\n+x\n c\n+d");
  assert.equal(text(compared("", "a")), "-\n+a");
  assert.equal(text(compared("a\nb", "a\nb")), " a\n b");
  assert.equal(text(compared("1\n2\n3\n4", "3\n4\n1\n2")), "-1\n-2\n 3\n 4\n+1\n+2");
});

test("a comparison gives both texts back", () => {
  const [a, b] = [Array.from({ length: 300 }, (_, i) => i * 7 % 13).join("\n"), Array.from({ length: 280 }, (_, i) => i * 5 % 11).join("\n")];
  const lines = compared(a, b);
  assert.equal(lines.filter((l) => l.op !== "+").map((l) => l.text).join("\n"), a);
  assert.equal(lines.filter((l) => l.op !== "-").map((l) => l.text).join("\n"), b);
});

test("long texts are compared at once", () => {
  const lines = compared("a\n".repeat(30_000), "b\n".repeat(30_000));
  assert.equal(lines.length, 60_001);
});

test("a unified diff loses its positions, and no line", () => {
  assert.equal(text(unified("@@ -1,3 +1,3 @@\n same\n-old\n+new\n--- a rule\n+++ counted\n\\ No newline\n")), " same\n-old\n+new\n--- a rule\n+++ counted");
});

test("globs name tools", () => {
  assert.ok(globbed("orders__search", ["orders__*"]));
  assert.ok(globbed("a.b", ["a.b"]));
  assert.ok(!globbed("axb", ["a.b"]));
  assert.ok(!globbed("orders__search", ["orders__", "x*"]));
});

test("things are below what they belong to, and none is lost", () => {
  const rows = [["a", ""], ["b", "a"], ["c", "gone"], ["d", "b"], ["e", "f"], ["f", "e"]].map(([id, parent]) => ({ id, parent }));
  const got = nested(rows, (r) => r.id, (r) => r.parent).map(({ row, depth }) => row.id + depth);
  assert.deepEqual(got, ["a0", "b1", "d2", "c0", "e0", "f1"]);
});
