package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// kept is a vector that chunks of a document's next version get whose text is the same.
type kept struct {
	space        int64
	hash         string
	code, vector []byte
}

// keepVectors returns the vectors of a document's chunks whose text is in its next version, too.
func keepVectors(ctx context.Context, tx sqldb.Tx, d Document, next []Chunk) ([]kept, error) {
	hashes := map[string]bool{}
	for _, c := range next {
		hashes[c.Hash] = c.Hash != ""
	}
	scan := func(row sqldb.Scanner) (k kept, err error) {
		err = row.Scan(&k.space, &k.hash, &k.code, &k.vector)
		k.code, k.vector = append([]byte{}, k.code...), append([]byte{}, k.vector...)
		return k, err
	}
	all, err := sqldb.All(ctx, tx, scan, `SELECT e.space, e.hash, e.code, e.vector FROM chunks c JOIN chunk_vectors e ON e.chunk = c.id
		WHERE c.tenant = $1 AND c.document = $2 ORDER BY e.seq`, d.Tenant, d.ID)
	var out []kept
	for _, k := range all {
		if hashes[k.hash] {
			out = append(out, k)
		}
	}
	return out, err
}

// moveVectors gives kept vectors to the chunks that a document has now, which have none.
func moveVectors(ctx context.Context, tx sqldb.Tx, d Document, all []kept, chunks []Chunk) error {
	if len(all) == 0 {
		return nil
	}
	type key struct {
		space   int64
		ordinal int
	}
	scan := func(row sqldb.Scanner) (ids [2]int64, err error) {
		err = row.Scan(&ids[0], &ids[1])
		return ids, err
	}
	ids, err := sqldb.All(ctx, tx, scan, "SELECT ordinal, id FROM chunks WHERE tenant = $1 AND document = $2 ORDER BY ordinal", d.Tenant, d.ID)
	if err != nil {
		return err
	}
	ordinals := map[string][]int{}
	for i, c := range chunks {
		ordinals[c.Hash] = append(ordinals[c.Hash], i)
	}
	var rows [][]any
	stored, done := map[int64]int64{}, map[key]bool{}
	for _, k := range all {
		for _, ordinal := range ordinals[k.hash] {
			if at := (key{k.space, ordinal}); !done[at] {
				done[at] = true
				stored[k.space]++
				rows = append(rows, []any{d.Tenant, d.Bank, k.space, ids[ordinal][1], d.ID, ordinal, k.hash, k.code, k.vector})
			}
		}
	}
	for space, n := range stored {
		if err := countVectors(ctx, tx, BankKey{d.Tenant, d.Bank}, space, n); err != nil {
			return err
		}
	}
	return chunkVectors.Exec(ctx, tx, rows)
}

// dropVectors subtracts the vectors of a document from those of its bank. They are deleted with their chunks.
func dropVectors(ctx context.Context, tx sqldb.Tx, d Document) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE bank_spaces SET vectors = vectors - (SELECT count(*) FROM chunks c
			JOIN chunk_vectors e ON e.chunk = c.id WHERE c.tenant = $1 AND c.document = $2 AND e.space = bank_spaces.space)
		WHERE tenant = $1 AND bank = $3`, d.Tenant, d.ID, d.Bank)
	return err
}
