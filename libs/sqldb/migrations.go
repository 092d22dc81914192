package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

// postgresTypes matches upper-case type names that SQLite's STRICT tables do not support.
var postgresTypes = regexp.MustCompile(`\b(BIGINT|SMALLINT|BOOLEAN)\b`)

// render renders a migration for one dialect.
func render(dialect, text string) string {
	text = part(dialect, text)
	if dialect == Postgres {
		return strings.NewReplacer("{{json}}", "JSONB", "{{blob}}", "BYTEA", "{{strict}}", "", "{{rowless}}", "",
			"{{identity}}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY").Replace(text)
	}
	text = strings.NewReplacer("{{json}}", "TEXT", "{{blob}}", "BLOB", "{{strict}}", " STRICT", "{{rowless}}", " STRICT, WITHOUT ROWID",
		"{{identity}}", "INTEGER PRIMARY KEY AUTOINCREMENT", "DOUBLE PRECISION", "REAL").Replace(text)
	return postgresTypes.ReplaceAllString(text, "INTEGER")
}

// part returns the lines of a migration for one dialect: those that are not between "-- +" with the name of the other dialect and the next
// such mark; "-- +all" marks lines for both.
func part(dialect, text string) string {
	if !strings.Contains(text, "-- +"+SQLite+"\n") && !strings.Contains(text, "-- +"+Postgres+"\n") {
		return text
	}
	var out strings.Builder
	kept := true
	for line := range strings.Lines(text) {
		switch mark := strings.TrimSpace(line); mark {
		case "-- +" + SQLite, "-- +" + Postgres, "-- +all":
			kept = mark == "-- +all" || mark == "-- +"+dialect
			continue
		}
		if kept {
			out.WriteString(line)
		}
	}
	return out.String()
}

// migrations reads the .sql files of a directory. The part of a file above "-- +goose Down" is run at once, in one transaction: goose would
// take it apart into statements, line by line, which takes longer than running them.
func migrations(files fs.FS, dialect string) ([]*goose.Migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]*goose.Migration, 0, len(names))
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		up = render(dialect, up)
		if dialect == Postgres {
			up = "SET LOCAL statement_timeout = 0;\n" + up // it is for the statements of requests
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, up)
			return err
		}}, nil))
	}
	return all, nil
}
