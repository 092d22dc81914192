package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Item is what a source had at a sync.
type Item struct {
	// Key names it in its source.
	Key string
	// Validator says whether it changed without reading it; "" = it must be read.
	Validator string
	// SHA256 is the hash of what was read.
	SHA256 string
	// Labels are those that it brought itself.
	Labels []string
	// Document is what it became. Of Items, it has ID, Name, MediaType, SHA256, Labels and Attributes only, as they are now; Labels are those
	// that it has once its latest version is live.
	Document Document
}

func scanItem(row sqldb.Scanner) (i Item, err error) {
	var own, labels, attributes []byte
	d := &i.Document
	err = row.Scan(&i.Key, &i.Validator, &i.SHA256, &own, &d.ID, &d.Name, &d.MediaType, &d.SHA256, &labels, &attributes)
	if err != nil {
		return i, err
	}
	err = errors.Join(json.Unmarshal(own, &i.Labels), json.Unmarshal(labels, &d.Labels), json.Unmarshal(attributes, &d.Attributes))
	if err != nil {
		return i, fmt.Errorf("decode item %q: %w", i.Key, err)
	}
	i.Document = i.Document.normal()
	return i, nil
}

// Items returns the items of a source whose documents exist.
func (s sourceRows) Items(ctx context.Context, src Source) ([]Item, error) {
	return sqldb.All(ctx, s.db.Reader(), scanItem, `SELECT i.item, i.validator, i.sha256, i.labels, d.id, d.name, d.media_type, d.sha256,
		COALESCE(d.next_labels, d.labels), d.attributes FROM source_items i JOIN documents d ON d.tenant = i.tenant AND d.id = i.document
		WHERE i.tenant = $1 AND i.source = $2`, src.Tenant, src.ID)
}

// PutItem stores an item as a document, together with the progress of its sync. Errors are those of PutDocument, ErrExists when another
// document has its name, and those of SetProgress.
func (s sourceRows) PutItem(ctx context.Context, p PendingSync, bank string, put Put, item Item, progress Progress,
) (out Document, err error) {
	put.Document = put.Document.normal()
	labels, err := json.Marshal(append([]string{}, item.Labels...))
	if err != nil {
		return out, fmt.Errorf("encode labels: %w", err)
	}
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, p.Tenant, bank); err != nil {
			return err
		}
		src, err := s.advance(ctx, tx, p, progress)
		if err != nil {
			return err
		}
		owned, err := sqldb.All(ctx, tx, sqldb.Column[string], `SELECT document FROM source_items
			WHERE tenant = $1 AND source = $2 AND item = $3`, src.Tenant, src.ID, item.Key)
		if err != nil {
			return err
		}
		put.Visible = func(d Document) bool { return slices.Contains(owned, d.ID) }
		if out, err = putDocument(ctx, s.db, tx, put); err != nil {
			return err
		}
		return sqldb.ExecOne(ctx, tx, `INSERT INTO source_items (tenant, source, item, bank, document, validator, sha256, labels)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant, source, item) DO UPDATE SET document = excluded.document,
			validator = excluded.validator, sha256 = excluded.sha256, labels = excluded.labels`,
			src.Tenant, src.ID, item.Key, src.Bank, out.ID, item.Validator, item.SHA256, string(labels))
	})
	if errors.Is(err, ErrHidden) {
		err = ErrExists
	}
	return out, err
}

// DropItem deletes an item that has vanished with its document, and stores the progress of the sync; errors as SetProgress.
func (s sourceRows) DropItem(ctx context.Context, p PendingSync, bank string, item Item, progress Progress) error {
	return s.db.WriteAlone(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, p.Tenant, bank); err != nil {
			return err
		}
		src, err := s.advance(ctx, tx, p, progress)
		if err != nil {
			return err
		}
		return dropItem(ctx, s.db, tx, src, item)
	})
}

// dropItem deletes an item with its document. The bank is locked. It ignores what is gone.
func dropItem(ctx context.Context, db *sqldb.DB, tx sqldb.Tx, src Source, item Item) error {
	if err := deleteDocument(ctx, db, tx, src.Tenant, src.Bank, item.Document.ID); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM source_items WHERE tenant = $1 AND source = $2 AND item = $3", src.Tenant, src.ID, item.Key)
	return err
}
