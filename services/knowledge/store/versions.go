package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// PassageOf returns a range of the text of a version of a document, with the heading and the page of the chunk in which it begins.
// ErrNotFound if the version has no chunk there.
func (s documentRows) PassageOf(ctx context.Context, d Document, version string, start, end int64) (p Passage, text string, err error) {
	var heading, data []byte
	scan := func(row sqldb.Scanner) (Passage, error) {
		p := Passage{Document: d.ID, DocumentName: d.Name, Version: version, Start: start, End: end}
		err := row.Scan(&p.ID, &p.Ordinal, &p.Page, &heading, &data)
		return p, err
	}
	p, err = sqldb.One(ctx, s.db.Reader(), scan, `SELECT c.id, c.ordinal, c.page, c.heading,
		substr(v.text, CAST($5 AS INTEGER), CAST($6 AS INTEGER)) FROM chunks c
		JOIN document_versions v ON v.tenant = c.tenant AND v.id = c.version
		WHERE c.tenant = $1 AND c.document = $2 AND c.version = $3 AND c.end_byte > $4 ORDER BY c.ordinal LIMIT 1`,
		d.Tenant, d.ID, version, start, start+1, end-start)
	if err != nil {
		return p, "", err
	}
	if err := json.Unmarshal(heading, &p.Heading); err != nil {
		return p, "", fmt.Errorf("decode heading of chunk %d: %w", p.ID, err)
	}
	return p, string(data), nil
}
