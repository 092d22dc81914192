// Permissions are decided as libs/glob and libs/authz do it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { holds, matches, rolesWith, takes } from "./permission.ts";

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

test("a role gives nothing that a rule takes", () => {
  const own = ["*.get", "!sessions.turns.*"], roles = [{ role: "admin", permissions: ["*"] }, { role: "reader", permissions: ["*.get"] }];
  assert.equal(takes(own, "sessions.turns.get"), true);
  assert.equal(takes(own, "registry.tools.call"), false);
  assert.deepEqual(rolesWith(own, roles, "sessions.turns.get"), []);
  assert.deepEqual(rolesWith(own, roles, "registry.tools.call"), ["admin"]);
});

test("whom to ask", () => {
  const roles = [{ role: "admin", permissions: ["*"] }, { role: "reader", permissions: ["*.get", "*.list"] }];
  assert.deepEqual(rolesWith([], roles, "sessions.turns.create"), ["admin"]);
  assert.deepEqual(rolesWith(["a.*"], roles, "sessions.turns.get"), ["admin", "reader"]);
});
