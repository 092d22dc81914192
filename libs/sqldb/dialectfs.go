package sqldb

import (
	"bytes"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

// dialectFS renders the .sql files of a file system for one dialect.
type dialectFS struct {
	fs.FS
	dialect string
}

// postgresTypes matches upper-case type names that SQLite's STRICT tables do not support.
var postgresTypes = regexp.MustCompile(`\b(BIGINT|SMALLINT|BOOLEAN)\b`)

// render renders a migration for one dialect.
func render(dialect, text string) string {
	if dialect == Postgres {
		return strings.NewReplacer("{{json}}", "JSONB", "{{blob}}", "BYTEA", "{{strict}}", "", "{{rowless}}", "",
			"{{identity}}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY").Replace(text)
	}
	text = strings.NewReplacer("{{json}}", "TEXT", "{{blob}}", "BLOB", "{{strict}}", " STRICT", "{{rowless}}", " STRICT, WITHOUT ROWID",
		"{{identity}}", "INTEGER PRIMARY KEY AUTOINCREMENT", "DOUBLE PRECISION", "REAL").Replace(text)
	return postgresTypes.ReplaceAllString(text, "INTEGER")
}

// Open opens a file. The text of an .sql file is rendered in memory.
func (d dialectFS) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text = []byte(render(d.dialect, string(text)))
	return &textFile{Reader: bytes.NewReader(text), info: sizedInfo{FileInfo: info, size: int64(len(text))}}, nil
}

// Glob is forwarded because goose uses it to find files.
func (d dialectFS) Glob(pattern string) ([]string, error) { return fs.Glob(d.FS, pattern) }

// textFile is an open file whose text is in memory.
type textFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *textFile) Close() error               { return nil }

// sizedInfo is a file's info with the rendered size.
type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }
