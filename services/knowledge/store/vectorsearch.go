package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// VectorState is what a bank has of vectors in a space.
type VectorState struct {
	// Live says whether searches use the space.
	Live bool
	// Vectors counts the chunks that have one.
	Vectors int64
	// Last is the seq of the last vector that was stored; 0 = none.
	Last int64
}

// VectorState returns what a bank has in a space; ErrNotFound if it has nothing.
func (s Snapshot) VectorState(ctx context.Context, tenant, bank string, space int64) (VectorState, error) {
	scan := func(row sqldb.Scanner) (v VectorState, err error) {
		err = row.Scan(&v.Live, &v.Vectors, &v.Last)
		return v, err
	}
	return sqldb.One(ctx, s.q, scan, `SELECT live, vectors, COALESCE((SELECT seq FROM chunk_vectors
			WHERE tenant = $1 AND bank = $2 AND space = $3 ORDER BY seq DESC LIMIT 1), 0)
		FROM bank_spaces WHERE tenant = $1 AND bank = $2 AND space = $3`, tenant, bank, space)
}

// Code is the code of a chunk's vector.
type Code struct {
	// Seq orders codes of a bank by the time at which they were stored.
	Seq int64
	// Chunk identifies the chunk in the database; Document and Ordinal say which of a document it is.
	Chunk    int64
	Document string
	Ordinal  int
	// Code is the code; empty if the chunk's text has no direction.
	Code []byte
}

// Codes returns at most limit codes of a bank in a space after the given one, in their order.
func (s Snapshot) Codes(ctx context.Context, tenant, bank string, space, after int64, limit int) ([]Code, error) {
	scan := func(row sqldb.Scanner) (c Code, err error) {
		err = row.Scan(&c.Seq, &c.Chunk, &c.Document, &c.Ordinal, &c.Code)
		return c, err
	}
	return sqldb.All(ctx, s.q, scan, `SELECT seq, chunk, document, ordinal, code FROM chunk_vectors
		WHERE tenant = $1 AND bank = $2 AND space = $3 AND seq > $4 ORDER BY seq LIMIT $5`, tenant, bank, space, after, limit)
}

// Readable says which documents of a bank a search may return.
type Readable struct {
	// Hidden are documents that it must not return.
	Hidden map[string]bool
	// Only are the only ones that it may return, if Some is set.
	Only map[string]bool
	Some bool
}

// Has reports whether the search may return a document.
func (r Readable) Has(document string) bool {
	return !r.Hidden[document] && (!r.Some || r.Only[document])
}

// Readable returns which documents of a bank have no other labels than the given ones, and the given attributes.
func (s Snapshot) Readable(ctx context.Context, f Find) (r Readable, err error) {
	text := "SELECT DISTINCT document FROM document_labels WHERE tenant = $1 AND bank = $2"
	if len(f.Labels) > 0 {
		text += " AND name NOT IN (" + sqldb.Placeholders(3, len(f.Labels)) + ")"
	}
	hidden, err := sqldb.All(ctx, s.q, sqldb.Column[string], text, append([]any{f.Tenant, f.Bank}, texts(f.Labels)...)...)
	if err != nil {
		return r, err
	}
	r.Hidden = set(hidden)
	for _, name := range slices.Sorted(maps.Keys(f.Attributes)) {
		have, err := sqldb.All(ctx, s.q, sqldb.Column[string], `SELECT document FROM document_attributes
			WHERE tenant = $1 AND bank = $2 AND name = $3 AND value = $4`, f.Tenant, f.Bank, name, f.Attributes[name])
		if err != nil {
			return r, err
		}
		if only := set(have); !r.Some {
			r.Only, r.Some = only, true
		} else {
			maps.DeleteFunc(r.Only, func(id string, _ bool) bool { return !only[id] })
		}
	}
	return r, nil
}

func set(all []string) map[string]bool {
	out := make(map[string]bool, len(all))
	for _, v := range all {
		out[v] = true
	}
	return out
}

// Near is a chunk with its vector.
type Near struct {
	// ID identifies the chunk in the database; Document and Ordinal say which of a document it is.
	ID       int64
	Document string
	Ordinal  int
	// Vector has its numbers.
	Vector []byte
}

// Vectors returns those of some chunks that are in a bank, that f allows, and that have a vector in a space, in no particular order. Only
// tenant, bank, labels and attributes of f count.
func (s Snapshot) Vectors(ctx context.Context, f Find, space int64, chunks []int64) (out []Near, err error) {
	scan := func(row sqldb.Scanner) (n Near, err error) {
		err = row.Scan(&n.ID, &n.Document, &n.Ordinal, &n.Vector)
		return n, err
	}
	err = sqldb.Groups(chunks, func(ids []int64) error {
		args := []any{f.Tenant, f.Bank, space}
		for _, id := range ids {
			args = append(args, id)
		}
		var filter strings.Builder
		filter.WriteString(" AND NOT EXISTS (" + hiddenBy("c.document", f.Labels, len(args)+1) + ")")
		args = append(args, texts(f.Labels)...)
		for _, name := range slices.Sorted(maps.Keys(f.Attributes)) {
			args = append(args, name, f.Attributes[name])
			fmt.Fprintf(&filter, ` AND EXISTS (SELECT 1 FROM document_attributes a
				WHERE a.tenant = $1 AND a.document = c.document AND a.name = $%d AND a.value = $%d)`, len(args)-1, len(args))
		}
		found, err := sqldb.All(ctx, s.q, scan, `SELECT c.id, c.document, c.ordinal, e.vector
			FROM chunks c JOIN chunk_vectors e ON e.chunk = c.id AND e.space = $3
			WHERE c.tenant = $1 AND c.bank = $2 AND c.id IN (`+sqldb.Placeholders(4, len(ids))+")"+filter.String(), args...)
		out = append(out, found...)
		return err
	})
	return out, err
}
