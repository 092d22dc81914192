package sqldb

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Grants returns statements for PostgreSQL after which a role may read and change rows of the schemas, and nothing else: it cannot change
// their tables, and does not see other schemas. The owner of the schemas runs them once, after the first Migrate; tables that it adds later
// have the same grants. The role must exist. Running them again changes nothing.
func Grants(schemas []string, role string) (string, error) {
	if role == "" || len(role) > 63 || strings.ContainsFunc(role, func(r rune) bool { return r < ' ' }) {
		return "", fmt.Errorf("role %q: want a name of 1 to 63 bytes", role)
	}
	to := pgx.Identifier{role}.Sanitize()
	var b strings.Builder
	// Temporary tables: the check of a disk that was full writes one.
	fmt.Fprintf(&b, "DO $do$ BEGIN EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %%I TO %%I', current_database(), %s); END $do$;\n",
		"'"+strings.ReplaceAll(role, "'", "''")+"'")
	for _, schema := range schemas {
		if !schemaName.MatchString(schema) {
			return "", fmt.Errorf("schema %q: want lower-case letters, digits and underscores", schema)
		}
		for _, statement := range []string{
			"GRANT USAGE ON SCHEMA %s TO %s",
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s",
			"REVOKE INSERT, UPDATE, DELETE ON %s.goose_" + schema + " FROM %s",
			"ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %s",
		} {
			fmt.Fprintf(&b, statement+";\n", pgx.Identifier{schema}.Sanitize(), to)
		}
	}
	return b.String(), nil
}
