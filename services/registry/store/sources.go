package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

const sourceColumns = `s.tenant, s.id, s.name, s.kind, s.spec, s.disabled, s.state, s.last_error, s.synced_us, s.tool_count, s.drifted_count,
	s.server_version, s.protocol_version, s.created_us, s.updated_us, s.revision, s.digest, s.warnings,
	s.login_subject`

var insertSources = sqldb.Insert("sources", `tenant, id, name, kind, spec, disabled, state, last_error, synced_us, tool_count,
	server_version, protocol_version, created_us, updated_us, revision, login_subject`)

// sqlSources implements SourceStore.
type sqlSources struct{ db eventDB }

func (q sqlSources) CreateSource(ctx context.Context, s Source) error {
	spec, err := json.Marshal(s.Spec)
	if err != nil {
		return fmt.Errorf("encode source: %w", err)
	}
	err = q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		err := sqldb.ExecOne(ctx, tx, insertSources,
			s.Tenant, s.ID, s.Name, s.Kind, string(spec), s.Disabled, s.State, "", 0, 0,
			"", "", sqldb.Micros(s.CreateTime), sqldb.Micros(s.UpdateTime), s.Revision, s.LoginSubject)
		if err != nil {
			return err
		}
		if err := writeDocument(ctx, tx, s); err != nil {
			return err
		}
		return record(q.db.sourceEvent(ctx, sourceCreated, s, ""))
	})
	if sqldb.IsUnique(err) {
		return fmt.Errorf("source %q: %w", s.Name, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("create source: %w", err)
	}
	return nil
}

func (q sqlSources) Source(ctx context.Context, tenant, idOrName string) (Source, error) {
	return sqldb.One(ctx, q.db.Reader(), func(row sqldb.Scanner) (s Source, err error) {
		var f sourceFields
		if err := row.Scan(append(f.into(&s), &s.Document)...); err != nil {
			return s, err
		}
		return s, f.finish(&s)
	}, `SELECT `+sourceColumns+`, COALESCE(d.document, '') FROM sources s
		LEFT JOIN source_documents d ON d.tenant = s.tenant AND d.source_id = s.id
		WHERE s.tenant = $1 AND (s.id = $2 OR s.name = $2)`, tenant, idOrName)
}

var insertDocuments = sqldb.Insert("source_documents", "tenant, source_id, document")

// writeDocument replaces the document that is a part of the source.
func writeDocument(ctx context.Context, tx sqldb.Tx, s Source) error {
	if _, err := sqldb.Exec(ctx, tx, `DELETE FROM source_documents WHERE tenant = $1 AND source_id = $2`, s.Tenant, s.ID); err != nil {
		return err
	}
	if s.Document == "" {
		return nil
	}
	return sqldb.ExecOne(ctx, tx, insertDocuments, s.Tenant, s.ID, s.Document)
}

func (q sqlSources) Sources(ctx context.Context, tenant, after string, limit int) ([]Source, error) {
	return sqldb.All(ctx, q.db.Reader(), scanSource, `SELECT `+sourceColumns+` FROM sources s
		WHERE s.tenant = $1 AND s.name > $2 ORDER BY s.name LIMIT $3`, tenant, after, limit)
}

func (q sqlSources) AllSources(ctx context.Context) ([]Source, error) {
	return sqldb.All(ctx, q.db.Reader(), scanSource, `SELECT `+sourceColumns+` FROM sources s ORDER BY s.tenant, s.name`)
}

func (q sqlSources) UpdateSource(ctx context.Context, s Source) error {
	spec, err := json.Marshal(s.Spec)
	if err != nil {
		return fmt.Errorf("encode source: %w", err)
	}
	return q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		if _, err := lockSource(ctx, q.db.DB, tx, s); err != nil {
			return err
		}
		err := sqldb.ExecOne(ctx, tx, `UPDATE sources SET spec = $1, disabled = $2, updated_us = $3, revision = revision + 1,
			login_subject = $4 WHERE tenant = $5 AND id = $6`, string(spec), s.Disabled, sqldb.Micros(s.UpdateTime), s.LoginSubject, s.Tenant, s.ID)
		if err != nil {
			return err
		}
		if err := writeDocument(ctx, tx, s); err != nil {
			return err
		}
		changed := s
		changed.Revision++
		return record(q.db.sourceEvent(ctx, sourceUpdated, changed, ""))
	})
}

// lockSource locks the source's row in a writing transaction and returns its state. It returns ErrChanged if its revision differs from that
// of s, and ErrNotFound if the source is gone.
func lockSource(ctx context.Context, db *sqldb.DB, tx sqldb.Tx, s Source) (state string, err error) {
	var revision uint32
	_, err = sqldb.One(ctx, tx, func(row sqldb.Scanner) (struct{}, error) { return struct{}{}, row.Scan(&revision, &state) },
		`SELECT revision, state FROM sources WHERE tenant = $1 AND id = $2`+db.ForUpdate(), s.Tenant, s.ID)
	if err == nil && revision != s.Revision {
		return "", ErrChanged
	}
	return state, err
}

func (q sqlSources) SetLoginSubject(ctx context.Context, tenant, id, subject string) error {
	return q.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, `UPDATE sources SET login_subject = $1 WHERE tenant = $2 AND id = $3`, subject, tenant, id)
		return err
	})
}

func (q sqlSources) DeleteSource(ctx context.Context, tenant, id string) error {
	return q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		s, err := sqldb.One(ctx, tx, scanSource, `SELECT `+sourceColumns+` FROM sources s WHERE s.tenant = $1 AND s.id = $2`+q.db.ForUpdate(),
			tenant, id)
		if err != nil {
			return err
		}
		if err := sqldb.ExecOne(ctx, tx, `DELETE FROM sources WHERE tenant = $1 AND id = $2`, tenant, id); err != nil {
			return err
		}
		return record(q.db.sourceEvent(ctx, sourceDeleted, s, ""))
	})
}

func scanSource(row sqldb.Scanner) (s Source, err error) {
	var f sourceFields
	if err := row.Scan(f.into(&s)...); err != nil {
		return s, err
	}
	return s, f.finish(&s)
}

// sourceFields holds the columns of a source that need decoding.
type sourceFields struct {
	spec, warnings           []byte
	synced, created, updated int64
}

func (f *sourceFields) into(s *Source) []any {
	return []any{
		&s.Tenant, &s.ID, &s.Name, &s.Kind, &f.spec, &s.Disabled, &s.State, &s.LastError, &f.synced, &s.ToolCount, &s.DriftedCount,
		&s.ServerVersion, &s.ProtocolVersion, &f.created, &f.updated, &s.Revision, &s.Digest, &f.warnings,
		&s.LoginSubject,
	}
}

func (f *sourceFields) finish(s *Source) error {
	s.SyncTime, s.CreateTime, s.UpdateTime = sqldb.Time(f.synced), sqldb.Time(f.created), sqldb.Time(f.updated)
	if err := json.Unmarshal(f.spec, &s.Spec); err != nil {
		return fmt.Errorf("decode source %s: %w", s.ID, err)
	}
	return decodeList(f.warnings, &s.Warnings)
}

// encodeList returns a list as a column: JSON, or empty text for none.
func encodeList(list []string) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	text, err := json.Marshal(list)
	return string(text), err
}

func decodeList(column []byte, into *[]string) error {
	if len(column) == 0 {
		return nil
	}
	if err := json.Unmarshal(column, into); err != nil {
		return fmt.Errorf("decode list: %w", err)
	}
	return nil
}
