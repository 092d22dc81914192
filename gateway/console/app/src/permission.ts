// What permissions a caller has, decided as the server does it.

/** matches reports whether a name matches a glob: "*" stands for any text, "?" for one character. */
export function matches(glob: string, name: string): boolean {
  const p = [...glob], n = [...name];
  let at = 0, i = 0, star = -1, mark = 0;
  while (i < n.length) {
    if (p[at] === "*") [star, mark] = [at++, i];
    else if (at < p.length && (p[at] === "?" || p[at] === n[i])) { at++; i++; }
    else if (star < 0) return false;
    else [at, i] = [star + 1, ++mark];
  }
  while (p[at] === "*") at++;
  return at === p.length;
}

/** holds reports whether globs give a permission. One that begins with "!" takes what it matches, whatever the others give. */
export function holds(globs: string[], permission: string): boolean {
  if (globs.some((g) => g.startsWith("!") && matches(g.slice(1), permission))) return false;
  return globs.some((g) => !g.startsWith("!") && matches(g, permission));
}

export interface RolePermissions { role: string; permissions: string[] }

/** rolesWith are the names of the roles that have a permission. */
export const rolesWith = (roles: RolePermissions[], permission: string): string[] =>
  roles.filter((r) => holds(r.permissions, permission)).map((r) => r.role);
