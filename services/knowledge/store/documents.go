package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// State says how far the latest version of a document is.
type State string

// States of a document.
const (
	// Queued documents wait to be ingested.
	Queued State = "queued"
	// Ingesting documents are being ingested.
	Ingesting State = "ingesting"
	// Ready documents are found.
	Ready State = "ready"
	// Failed documents could not be ingested.
	Failed State = "failed"
	// Cancelled documents are those whose ingestion was cancelled.
	Cancelled State = "cancelled"
)

// Document is a text of a bank with where it came from, without the text.
type Document struct {
	// Tenant and ID name it; Bank has it under a Name; Subject created it.
	Tenant, ID, Bank, Name, Subject string
	// MediaType, Size and SHA256 (hex) are those of the latest version's content, State and Problem those of its ingestion.
	MediaType, SHA256 string
	Size              int64
	State             State
	Problem           string
	// Version is the live version, which searches find; "" = none yet. LatestVersion is the same or the next one.
	Version, LatestVersion string
	// Title, TextBytes and Chunks are those of the live version.
	Title     string
	TextBytes int64
	Chunks    int
	// Labels are sorted. Who reads the document needs all of them.
	Labels []string
	// Attributes are for filters.
	Attributes map[string]string
	// CreateTime is when the document was made, UpdateTime when its latest version was.
	CreateTime, UpdateTime time.Time
}

// documentRows are documents with their versions and contents.
type documentRows struct{ base }

const documentColumns = `tenant, id, bank, name, subject, media_type, size, sha256, state, problem, live_version, latest_version,
	title, text_bytes, chunks, labels, attributes, create_us, update_us`

var insertDocuments = sqldb.Insert("documents", documentColumns)

func scanDocument(s sqldb.Scanner) (d Document, err error) {
	var labels, attributes []byte
	err = s.Scan(&d.Tenant, &d.ID, &d.Bank, &d.Name, &d.Subject, &d.MediaType, &d.Size, &d.SHA256, &d.State, &d.Problem, &d.Version,
		&d.LatestVersion, &d.Title, &d.TextBytes, &d.Chunks, &labels, &attributes, sqldb.TimeColumn(&d.CreateTime),
		sqldb.TimeColumn(&d.UpdateTime))
	if err != nil {
		return d, err
	}
	if err := errors.Join(json.Unmarshal(labels, &d.Labels), json.Unmarshal(attributes, &d.Attributes)); err != nil {
		return d, fmt.Errorf("decode document %s: %w", d.ID, err)
	}
	return d.normal(), nil
}

// normal returns a document whose labels are sorted, and nil if there are none, as its attributes are.
func (d Document) normal() Document {
	d.Labels = slices.Sorted(slices.Values(d.Labels))
	if len(d.Attributes) == 0 {
		d.Attributes = nil
	}
	return d
}

// Document reads a document of a bank; ErrNotFound.
func (s documentRows) Document(ctx context.Context, tenant, bank, id string) (Document, error) {
	return sqldb.One(ctx, s.db.Reader(), scanDocument, "SELECT "+documentColumns+` FROM documents
		WHERE tenant = $1 AND id = $2 AND bank = $3`, tenant, id, bank)
}

// DocumentsOf returns those of some documents of a tenant, at most 100, that exist.
func (s documentRows) DocumentsOf(ctx context.Context, tenant string, ids []string) ([]Document, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return sqldb.All(ctx, s.db.Reader(), scanDocument, "SELECT "+documentColumns+` FROM documents
		WHERE tenant = $1 AND id IN (`+sqldb.Placeholders(2, len(ids))+`)`, append([]any{tenant}, texts(ids)...)...)
}

// Documents returns at most limit documents of a bank, newest first, before the given id; "" = from the newest on. It leaves out those with
// a label that is not among the given ones.
func (s documentRows) Documents(ctx context.Context, tenant, bank string, labels []string, before string, limit int) ([]Document, error) {
	args := append([]any{tenant, bank, before, limit}, texts(labels)...)
	return sqldb.All(ctx, s.db.Reader(), scanDocument, "SELECT "+documentColumns+` FROM documents
		WHERE tenant = $1 AND bank = $2 AND ($3 = '' OR id < $3) AND NOT EXISTS (`+hiddenBy("documents.id", labels, 5)+`)
		ORDER BY id DESC LIMIT $4`, args...)
}

// hiddenBy returns a query for the labels of a document of the tenant $1 that are not among labels, whose values follow as parameters from
// $first on.
func hiddenBy(document string, labels []string, first int) string {
	text := "SELECT 1 FROM document_labels l WHERE l.tenant = $1 AND l.document = " + document
	if len(labels) > 0 {
		text += " AND l.name NOT IN (" + sqldb.Placeholders(first, len(labels)) + ")"
	}
	return text
}

// texts returns texts as parameters.
func texts(all []string) []any {
	out := make([]any, 0, len(all))
	for _, text := range all {
		out = append(out, text)
	}
	return out
}

// Labels returns the labels that documents of a bank have, sorted.
func (s documentRows) Labels(ctx context.Context, tenant, bank string) ([]string, error) {
	return sqldb.All(ctx, s.db.Reader(), sqldb.Column[string], `SELECT DISTINCT name FROM document_labels
		WHERE tenant = $1 AND bank = $2 ORDER BY name`, tenant, bank)
}

// Put is a document to store.
type Put struct {
	// Document has what is stored; ID and LatestVersion are used if they are needed.
	Document Document
	// Data is the content.
	Data []byte
	// Limit is the maximum number of documents of a tenant.
	Limit int
	// Visible reports whether the caller may read the document that has the name.
	Visible func(Document) bool
}

// PutDocument stores a document. One of the same name gets a new version, unless it has the same content and media type; its labels and
// attributes are replaced, but it keeps the labels of a live version with another content until the new one is live. It returns the
// document as it is then. Errors are ErrNotFound for the bank, ErrTooMany and ErrHidden.
func (s documentRows) PutDocument(ctx context.Context, p Put) (out Document, err error) {
	p.Document = p.Document.normal()
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, p.Document.Tenant, p.Document.Bank); err != nil {
			return err
		}
		out, err = putDocument(ctx, s.db, tx, p)
		return err
	})
	return out, err
}

// putDocument stores a document of a bank that is locked.
func putDocument(ctx context.Context, db *sqldb.DB, tx sqldb.Tx, p Put) (Document, error) {
	in := p.Document
	known, err := sqldb.One(ctx, tx, scanDocument, "SELECT "+documentColumns+` FROM documents
		WHERE tenant = $1 AND bank = $2 AND name = $3`+db.ForUpdate(), in.Tenant, in.Bank, in.Name)
	switch {
	case errors.Is(err, ErrNotFound):
		return addDocument(ctx, tx, p)
	case err != nil:
		return known, err
	case !p.Visible(known):
		return known, ErrHidden
	}
	return replaceDocument(ctx, tx, known, p)
}

// addDocument stores a document whose name is new.
func addDocument(ctx context.Context, tx sqldb.Tx, p Put) (Document, error) {
	d := p.Document
	n, err := sqldb.One(ctx, tx, sqldb.Column[int], "SELECT count(*) FROM documents WHERE tenant = $1", d.Tenant)
	switch {
	case err != nil:
		return d, err
	case n >= p.Limit:
		return d, ErrTooMany
	}
	d.State, d.Problem, d.Version = Queued, "", ""
	labels, attributes, err := encodeLabels(d)
	if err != nil {
		return d, err
	}
	err = sqldb.ExecOne(ctx, tx, insertDocuments, d.Tenant, d.ID, d.Bank, d.Name, d.Subject, d.MediaType, d.Size, d.SHA256,
		string(d.State), "", "", d.LatestVersion, "", 0, 0, labels, attributes, sqldb.Micros(d.CreateTime), sqldb.Micros(d.UpdateTime))
	if err != nil {
		return d, err
	}
	if err := insertLabels(ctx, tx, d); err != nil {
		return d, err
	}
	return d, addVersion(ctx, tx, d, p.Data)
}

// replaceDocument stores what is new of a document that is there.
func replaceDocument(ctx context.Context, tx sqldb.Tx, d Document, p Put) (Document, error) {
	in := p.Document
	same := d.SHA256 == in.SHA256 && d.MediaType == in.MediaType
	if err := relabel(ctx, tx, &d, in, same); err != nil || same {
		return d, err
	}
	if d.LatestVersion != d.Version { // it was never ready, and never will be
		if err := dropVersion(ctx, tx, d.Tenant, d.LatestVersion); err != nil {
			return d, err
		}
	}
	d.MediaType, d.Size, d.SHA256, d.State, d.Problem = in.MediaType, in.Size, in.SHA256, Queued, ""
	d.LatestVersion, d.UpdateTime = in.LatestVersion, in.UpdateTime
	if err := sqldb.ExecOne(ctx, tx, `UPDATE documents SET media_type = $3, size = $4, sha256 = $5, state = $6, problem = '',
		latest_version = $7, update_us = $8, start_us = 0, attempts = 0 WHERE tenant = $1 AND id = $2`, d.Tenant, d.ID, d.MediaType, d.Size,
		d.SHA256, string(d.State), d.LatestVersion, sqldb.Micros(d.UpdateTime)); err != nil {
		return d, err
	}
	return d, addVersion(ctx, tx, d, p.Data)
}

// relabel gives a document the labels and attributes of what is stored. While a live version with another content is found, labels are only
// added: those that the document is to have are noted for the moment at which its latest version becomes the live one.
func relabel(ctx context.Context, tx sqldb.Tx, d *Document, in Document, same bool) error {
	before, wanted := *d, in.Labels
	if d.Version != "" && (!same || d.LatestVersion != d.Version) {
		in.Labels = slices.Compact(slices.Sorted(slices.Values(slices.Concat(d.Labels, wanted))))
	}
	d.Labels, d.Attributes = in.Labels, in.Attributes
	if err := setNextLabels(ctx, tx, *d, wanted); err != nil {
		return err
	}
	if slices.Equal(d.Labels, before.Labels) && maps.Equal(d.Attributes, before.Attributes) {
		return nil
	}
	return setLabels(ctx, tx, *d)
}

// setLabels stores the labels and attributes of a document.
func setLabels(ctx context.Context, tx sqldb.Tx, d Document) error {
	labels, attributes, err := encodeLabels(d)
	if err != nil {
		return err
	}
	if err := sqldb.ExecOne(ctx, tx, "UPDATE documents SET labels = $3, attributes = $4 WHERE tenant = $1 AND id = $2", d.Tenant, d.ID, labels,
		attributes); err != nil {
		return err
	}
	return errors.Join(dropLabels(ctx, tx, d), insertLabels(ctx, tx, d))
}

// setNextLabels notes which labels a document gets when its latest version is live.
func setNextLabels(ctx context.Context, tx sqldb.Tx, d Document, wanted []string) error {
	if slices.Equal(d.Labels, wanted) { // it has them
		_, err := sqldb.Exec(ctx, tx, "UPDATE documents SET next_labels = NULL WHERE tenant = $1 AND id = $2 AND next_labels IS NOT NULL",
			d.Tenant, d.ID)
		return err
	}
	text, _, err := encodeLabels(Document{Labels: wanted})
	if err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE documents SET next_labels = $3 WHERE tenant = $1 AND id = $2", d.Tenant, d.ID, text)
}

// takeNextLabels gives a document the labels that were noted for it.
func takeNextLabels(ctx context.Context, tx sqldb.Tx, d Document) error {
	noted, err := sqldb.One(ctx, tx, sqldb.Column[[]byte], "SELECT next_labels FROM documents WHERE tenant = $1 AND id = $2", d.Tenant, d.ID)
	if err != nil || noted == nil {
		return err
	}
	d.Labels = nil
	if err := json.Unmarshal(noted, &d.Labels); err != nil {
		return fmt.Errorf("decode document %s: %w", d.ID, err)
	}
	if err := setNextLabels(ctx, tx, d, d.Labels); err != nil {
		return err
	}
	return setLabels(ctx, tx, d)
}

// DeleteDocument deletes a document with its versions, and chunks, content and words that no other has; ErrNotFound.
func (s documentRows) DeleteDocument(ctx context.Context, tenant, bank, id string) error {
	return s.db.WriteAlone(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, tenant, bank); err != nil {
			return err
		}
		return deleteDocument(ctx, s.db, tx, tenant, bank, id)
	})
}

// deleteDocument deletes a document of a bank that is locked; ErrNotFound.
func deleteDocument(ctx context.Context, db *sqldb.DB, tx sqldb.Tx, tenant, bank, id string) error {
	d, err := lockDocument(ctx, db, tx, tenant, bank, id)
	if err != nil {
		return err
	}
	if err := errors.Join(dropChunks(ctx, tx, d), dropLabels(ctx, tx, d)); err != nil {
		return err
	}
	for _, version := range slices.Compact([]string{d.LatestVersion, d.Version}) {
		if err := dropVersion(ctx, tx, tenant, version); err != nil {
			return err
		}
	}
	return sqldb.ExecOne(ctx, tx, "DELETE FROM documents WHERE tenant = $1 AND id = $2", tenant, id)
}

// encodeLabels returns labels and attributes as the columns have them.
func encodeLabels(d Document) (labels, attributes string, err error) {
	l, err := json.Marshal(append([]string{}, d.Labels...))
	if err != nil {
		return "", "", fmt.Errorf("encode labels: %w", err)
	}
	a, err := json.Marshal(d.Attributes)
	if err != nil {
		return "", "", fmt.Errorf("encode attributes: %w", err)
	}
	if d.Attributes == nil {
		a = []byte("{}")
	}
	return string(l), string(a), nil
}

var (
	documentLabels     = sqldb.NewInserts("document_labels", "tenant, document, name, bank")
	documentAttributes = sqldb.NewInserts("document_attributes", "tenant, document, name, value, bank")
)

// insertLabels stores labels and attributes for filters.
func insertLabels(ctx context.Context, tx sqldb.Tx, d Document) error {
	var labels, attributes [][]any
	for _, name := range d.Labels {
		labels = append(labels, []any{d.Tenant, d.ID, name, d.Bank})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		attributes = append(attributes, []any{d.Tenant, d.ID, name, d.Attributes[name], d.Bank})
	}
	if err := documentLabels.Exec(ctx, tx, labels); err != nil {
		return err
	}
	return documentAttributes.Exec(ctx, tx, attributes)
}

func dropLabels(ctx context.Context, tx sqldb.Tx, d Document) error {
	if _, err := sqldb.Exec(ctx, tx, "DELETE FROM document_labels WHERE tenant = $1 AND document = $2", d.Tenant, d.ID); err != nil {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM document_attributes WHERE tenant = $1 AND document = $2", d.Tenant, d.ID)
	return err
}
