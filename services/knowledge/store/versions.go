package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

const versionColumns = "tenant, id, bank, document, media_type, size, sha256, title, text, create_us"

var insertVersions = sqldb.Insert("document_versions", versionColumns)

// addVersion stores the latest version of a document, whose text is not read yet. Content that is there already is not stored again.
func addVersion(ctx context.Context, tx sqldb.Tx, d Document, data []byte) error {
	if _, err := sqldb.Exec(ctx, tx, `INSERT INTO document_blobs (tenant, sha256, refs, data) VALUES ($1, $2, 1, $3)
		ON CONFLICT (tenant, sha256) DO UPDATE SET refs = document_blobs.refs + 1`, d.Tenant, d.SHA256, data); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, insertVersions, d.Tenant, d.LatestVersion, d.Bank, d.ID, d.MediaType, d.Size, d.SHA256, "", []byte{},
		sqldb.Micros(d.UpdateTime))
}

// dropVersion deletes a version, and its content if no other version has it. It ignores one that is gone.
func dropVersion(ctx context.Context, tx sqldb.Tx, tenant, id string) error {
	sum, err := sqldb.One(ctx, tx, sqldb.Column[string], "SELECT sha256 FROM document_versions WHERE tenant = $1 AND id = $2", tenant, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"UPDATE document_blobs SET refs = refs - 1 WHERE tenant = $1 AND sha256 = $2",
		"DELETE FROM document_blobs WHERE tenant = $1 AND sha256 = $2 AND refs <= 0",
	} {
		if _, err := sqldb.Exec(ctx, tx, statement, tenant, sum); err != nil {
			return err
		}
	}
	return sqldb.ExecOne(ctx, tx, "DELETE FROM document_versions WHERE tenant = $1 AND id = $2", tenant, id)
}

// Content reads the content of a version; ErrNotFound when no version has it any more.
func (s documentRows) Content(ctx context.Context, tenant, sha256 string) ([]byte, error) {
	return sqldb.One(ctx, s.db.Reader(), sqldb.Column[[]byte], "SELECT data FROM document_blobs WHERE tenant = $1 AND sha256 = $2", tenant,
		sha256)
}

// Text is a range of a version's text.
type Text struct {
	// Data has the bytes from Start on; they may begin and end inside a character.
	Data []byte
	// Start is the position of the first byte, Size the length of the whole text.
	Start, Size int64
}

// Text reads up to length bytes of a version's text from start on; ErrNotFound when the document has no such version any more.
func (s documentRows) Text(ctx context.Context, d Document, version string, start, length int64) (Text, error) {
	t := Text{Start: start}
	scan := func(row sqldb.Scanner) (Text, error) {
		err := row.Scan(&t.Data, &t.Size)
		return t, err
	}
	return sqldb.One(ctx, s.db.Reader(), scan, `SELECT substr(text, CAST($4 AS INTEGER), CAST($5 AS INTEGER)), length(text)
		FROM document_versions WHERE tenant = $1 AND id = $2 AND document = $3`, d.Tenant, version, d.ID, start+1, length)
}

// Range names a range of the text of a version of a document in a bank.
type Range struct {
	Bank, Document, Version string
	// Start and End are its first byte, and the one after the last.
	Start, End int64
}

// Excerpt is the text of a range, with the heading and the page of the chunk in which it begins.
type Excerpt struct {
	Passage
	Text string
}

// Excerpts reads ranges of a tenant's documents, at most 100. It leaves out those of versions that have no chunk there.
func (s documentRows) Excerpts(ctx context.Context, tenant string, ranges []Range) (map[Range]Excerpt, error) {
	if len(ranges) == 0 {
		return nil, nil
	}
	out := make(map[Range]Excerpt, len(ranges))
	args, parts := []any{tenant}, make([]string, len(ranges))
	for i, r := range ranges {
		n := len(args)
		parts[i] = fmt.Sprintf(`SELECT * FROM (SELECT %d AS n, c.id, c.ordinal, c.page, c.heading, d.name,
			substr(v.text, CAST($%d AS INTEGER), CAST($%d AS INTEGER)) AS excerpt
			FROM chunks c JOIN document_versions v ON v.tenant = c.tenant AND v.id = c.version
			JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
			WHERE c.tenant = $1 AND c.bank = $%d AND c.document = $%d AND c.version = $%d AND c.end_byte > $%d ORDER BY c.ordinal LIMIT 1) AS r%d`,
			i, n+1, n+2, n+3, n+4, n+5, n+6, i)
		args = append(args, r.Start+1, r.End-r.Start, r.Bank, r.Document, r.Version, r.Start)
	}
	_, err := sqldb.All(ctx, s.db.Reader(), func(row sqldb.Scanner) (e Excerpt, err error) {
		var n int
		var heading, text []byte
		if err := row.Scan(&n, &e.ID, &e.Ordinal, &e.Page, &heading, &e.DocumentName, &text); err != nil {
			return e, err
		}
		if err := json.Unmarshal(heading, &e.Heading); err != nil {
			return e, fmt.Errorf("decode heading of chunk %d: %w", e.ID, err)
		}
		r := ranges[n]
		e.Document, e.Version, e.Start, e.End, e.Text = r.Document, r.Version, r.Start, r.End, string(text)
		out[r] = e
		return e, nil
	}, strings.Join(parts, " UNION ALL "), args...)
	return out, err
}
