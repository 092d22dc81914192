// Permissions are decided as libs/glob and libs/authz do it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { holds, matches, rolesWith } from "./permission.ts";

test("globs", () => {
  for (const [glob, name, want] of [
    ["*", "a.b.c", true], ["a.*", "a.b.c", true], ["a.*", "a", false], ["a.*.c", "a.b.c", true], ["a.?.c", "a.b.c", true], ["a.?.c", "a.bb.c", false],
    ["*.create", "sessions.turns.create", true], ["*.create", "sessions.turns.get", false], ["", "", true], ["", "a", false], ["a*b*c", "aXbYbZc", true],
    ["?", "ä", true], ["?", "🙂", true], ["a.b", "A.b", false], ["**", "x", true],
  ]) assert.equal(matches(glob, name), want, `${glob} ~ ${name}`);
});

test("what is taken wins", () => {
  assert.equal(holds([], "a.b.get"), false);
  assert.equal(holds(["*"], "a.b.get"), true);
  assert.equal(holds(["*", "!a.*"], "a.b.get"), false);
  assert.equal(holds(["!a.*", "a.b.get"], "a.b.get"), false);
  assert.equal(holds(["!a.*"], "b.c.get"), false);
});

test("whom to ask", () => {
  const roles = [{ role: "admin", permissions: ["*"] }, { role: "reader", permissions: ["*.get", "*.list"] }];
  assert.deepEqual(rolesWith(roles, "sessions.turns.create"), ["admin"]);
  assert.deepEqual(rolesWith(roles, "sessions.turns.get"), ["admin", "reader"]);
});
