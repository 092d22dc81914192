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

/** takes reports whether one of the globs, which begins with "!", takes a permission away, whatever the others give. */
export const takes = (globs: string[], permission: string): boolean => globs.some((g) => g.startsWith("!") && matches(g.slice(1), permission));

/** holds reports whether globs give a permission, and none takes it away. */
export function holds(globs: string[], permission: string): boolean {
  return !takes(globs, permission) && globs.some((g) => !g.startsWith("!") && matches(g, permission));
}

export interface RolePermissions { role: string; permissions: string[] }

/** rolesWith are the names of the roles that would give a permission to a caller who has these globs: none if one of them takes it away. */
export const rolesWith = (own: string[], roles: RolePermissions[], permission: string): string[] =>
  takes(own, permission) ? [] : roles.filter((r) => holds(r.permissions, permission)).map((r) => r.role);
