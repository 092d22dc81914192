package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// ErrState means that the document is in a state in which this cannot be done.
var ErrState = errors.New("not in this state")

// pending selects documents whose latest version is still to be ingested.
const pending = "state IN ('queued', 'ingesting')"

// ingestionRows are the ingestions of documents' latest versions.
type ingestionRows struct{ base }

// Pending is a version that is to be ingested.
type Pending struct {
	// Tenant has it; Version is its id.
	Tenant, Version string
}

func scanPending(s sqldb.Scanner) (p Pending, err error) {
	err = s.Scan(&p.Tenant, &p.Version)
	return p, err
}

// Startable returns the versions whose workflows are to be started: those that were started before the given time and have no outcome yet,
// and the ones that wait longest of those never started, so that no more than open are under way with those started since. Those of paused
// banks are left out.
func (s ingestionRows) Startable(ctx context.Context, before time.Time, open int) ([]Pending, error) {
	const columns = "SELECT tenant, latest_version FROM documents WHERE " + pending + ` AND NOT EXISTS (SELECT 1 FROM banks b
		WHERE b.tenant = documents.tenant AND b.id = documents.bank AND b.paused = 1)`
	again, err := sqldb.All(ctx, s.db.Reader(), scanPending, columns+` AND start_us > 0 AND start_us < $1
		ORDER BY start_us, update_us LIMIT $2`, sqldb.Micros(before), open)
	if err != nil {
		return nil, err
	}
	started, err := sqldb.One(ctx, s.db.Reader(), sqldb.Column[int], "SELECT count(*) FROM documents WHERE "+pending+" AND start_us > 0")
	if err != nil || started >= open {
		return again, err
	}
	first, err := sqldb.All(ctx, s.db.Reader(), scanPending, columns+" AND start_us = 0 ORDER BY update_us LIMIT $1", open-started)
	return append(again, first...), err
}

// MarkStarted notes that the workflow of a version was started. It ignores one that is no longer pending.
func (s ingestionRows) MarkStarted(ctx context.Context, p Pending, at time.Time) error {
	return s.change(ctx, p, func(tx sqldb.Tx, d Document) error {
		return setIngestion(ctx, tx, d, "start_us = $3", sqldb.Micros(at))
	})
}

// BeginIngestion notes that a version is being ingested, and returns its document with how many attempts have begun, this one included. A
// document that is not in the state Ingesting is not to be ingested: it has an outcome. ErrNotFound when there is a later version, or the
// document was deleted.
func (s ingestionRows) BeginIngestion(ctx context.Context, p Pending) (d Document, attempts int, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if d, err = s.latest(ctx, tx, p); err != nil || !d.pending() {
			return err
		}
		d.State = Ingesting
		attempts, err = sqldb.One(ctx, tx, sqldb.Column[int], `UPDATE documents SET state = 'ingesting', attempts = attempts + 1
			WHERE tenant = $1 AND id = $2 RETURNING attempts`, d.Tenant, d.ID)
		return err
	})
	return d, attempts, err
}

// ReleaseIngestion takes back an attempt that was stopped before it had an outcome. It ignores a version that is no longer pending.
func (s ingestionRows) ReleaseIngestion(ctx context.Context, p Pending) error {
	return s.change(ctx, p, func(tx sqldb.Tx, d Document) error {
		return setIngestion(ctx, tx, d, "attempts = attempts - 1")
	})
}

// FailIngestion notes why a version cannot be ingested. It ignores one that is no longer pending.
func (s ingestionRows) FailIngestion(ctx context.Context, p Pending, problem string) error {
	return s.change(ctx, p, func(tx sqldb.Tx, d Document) error {
		return setIngestion(ctx, tx, d, "state = 'failed', problem = $3", problem)
	})
}

// change runs f for the document whose latest version is pending, if there is one.
func (s ingestionRows) change(ctx context.Context, p Pending, f func(sqldb.Tx, Document) error) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		d, err := s.latest(ctx, tx, p)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil || !d.pending():
			return err
		}
		return f(tx, d)
	})
}

// Ingested is what a version's content became.
type Ingested struct {
	// Title is the one that the document gives itself; may be empty.
	Title string
	// Text is the version's text, valid UTF-8 without NUL.
	Text string
	// Chunks are its passages, in their order.
	Chunks []Chunk
}

// FinishIngestion makes a version the live one: its text is stored, and its chunks take the place of those of the live version, which is
// deleted. It returns the state of the document; if that was not pending, nothing changed. ErrNotFound as BeginIngestion.
func (s ingestionRows) FinishIngestion(ctx context.Context, p Pending, in Ingested) (state State, err error) {
	err = s.db.WriteAlone(ctx, func(tx sqldb.Tx) error {
		d, err := s.lockLatest(ctx, tx, p)
		if err != nil {
			return err
		}
		if state = d.State; !d.pending() {
			return nil
		}
		state = Ready
		return replaceLive(ctx, tx, d, in)
	})
	return state, err
}

// replaceLive makes the latest version of a document the live one. The bank is locked.
func replaceLive(ctx context.Context, tx sqldb.Tx, d Document, in Ingested) error {
	kept, err := keepVectors(ctx, tx, d, in.Chunks)
	if err != nil {
		return err
	}
	if err := dropChunks(ctx, tx, d); err != nil {
		return err
	}
	if d.Version != "" {
		if err := dropVersion(ctx, tx, d.Tenant, d.Version); err != nil {
			return err
		}
	}
	if err := sqldb.ExecOne(ctx, tx, "UPDATE document_versions SET title = $3, text = $4 WHERE tenant = $1 AND id = $2",
		d.Tenant, d.LatestVersion, in.Title, []byte(in.Text)); err != nil {
		return err
	}
	if err := insertChunks(ctx, tx, d, d.LatestVersion, in.Chunks); err != nil {
		return err
	}
	if err := errors.Join(moveVectors(ctx, tx, d, kept, in.Chunks), takeNextLabels(ctx, tx, d)); err != nil {
		return err
	}
	return setIngestion(ctx, tx, d, "state = 'ready', problem = '', live_version = latest_version, title = $3, text_bytes = $4, chunks = $5",
		in.Title, len(in.Text), len(in.Chunks))
}

// CancelIngestion cancels the ingestion of a document's latest version. ErrState if it is not pending, ErrNotFound.
func (s ingestionRows) CancelIngestion(ctx context.Context, tenant, bank, id string) (d Document, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if d, err = lockDocument(ctx, s.db, tx, tenant, bank, id); err != nil {
			return err
		}
		if !d.pending() {
			return fmt.Errorf("document %s is %s: %w", id, d.State, ErrState)
		}
		d.State = Cancelled
		return setIngestion(ctx, tx, d, "state = 'cancelled'")
	})
	return d, err
}

// RetryIngestion queues the content of a document's latest version again, as the given version. ErrState if the latest one did not fail and
// was not cancelled, ErrNotFound.
func (s ingestionRows) RetryIngestion(ctx context.Context, tenant, bank, id, version string, at time.Time) (d Document, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if _, err = lockBank(ctx, s.db, tx, tenant, bank); err != nil {
			return err
		}
		if d, err = lockDocument(ctx, s.db, tx, tenant, bank, id); err != nil {
			return err
		}
		if d.State != Failed && d.State != Cancelled {
			return fmt.Errorf("document %s is %s: %w", id, d.State, ErrState)
		}
		former := d.LatestVersion
		d.LatestVersion, d.UpdateTime, d.State, d.Problem = version, at, Queued, ""
		if err := addVersion(ctx, tx, d, []byte{}); err != nil { // the former version keeps the content until then
			return err
		}
		if err := dropVersion(ctx, tx, tenant, former); err != nil {
			return err
		}
		return setIngestion(ctx, tx, d, "state = 'queued', problem = '', latest_version = $3, update_us = $4, start_us = 0, attempts = 0",
			version, sqldb.Micros(at))
	})
	return d, err
}

// pending reports whether the latest version is still to be ingested.
func (d Document) pending() bool { return d.State == Queued || d.State == Ingesting }

// setIngestion changes columns of a document, whose values follow as parameters from $3 on.
func setIngestion(ctx context.Context, tx sqldb.Tx, d Document, columns string, values ...any) error {
	values = append([]any{d.Tenant, d.ID}, values...)
	return sqldb.ExecOne(ctx, tx, "UPDATE documents SET "+columns+" WHERE tenant = $1 AND id = $2", values...)
}

// latest reads and locks the document whose latest version is the given one; ErrNotFound.
func (s ingestionRows) latest(ctx context.Context, tx sqldb.Tx, p Pending) (Document, error) {
	return sqldb.One(ctx, tx, scanDocument, "SELECT "+documentColumns+` FROM documents WHERE tenant = $1 AND latest_version = $2
		AND id = (SELECT document FROM document_versions WHERE tenant = $1 AND id = $2)`+s.db.ForUpdate(), p.Tenant, p.Version)
}

// lockLatest is latest after the document's bank was locked.
func (s ingestionRows) lockLatest(ctx context.Context, tx sqldb.Tx, p Pending) (Document, error) {
	bank, err := sqldb.One(ctx, tx, sqldb.Column[string], "SELECT bank FROM document_versions WHERE tenant = $1 AND id = $2",
		p.Tenant, p.Version)
	if err != nil {
		return Document{}, err
	}
	if _, err := lockBank(ctx, s.db, tx, p.Tenant, bank); err != nil {
		return Document{}, err
	}
	return s.latest(ctx, tx, p)
}

// lockDocument reads and locks a document of a bank; ErrNotFound.
func lockDocument(ctx context.Context, db *sqldb.DB, tx sqldb.Tx, tenant, bank, id string) (Document, error) {
	return sqldb.One(ctx, tx, scanDocument, "SELECT "+documentColumns+" FROM documents WHERE tenant = $1 AND id = $2 AND bank = $3"+
		db.ForUpdate(), tenant, id, bank)
}
