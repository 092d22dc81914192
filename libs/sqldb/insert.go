package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Insert returns the statement that inserts a row: one placeholder for each of the columns, which are separated by commas. What
// is to happen in a conflict can be appended. The text is put together once, as a package's variable.
func Insert(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + Placeholders(1, Columns(columns)) + ")"
}

// Inserts inserts many rows with few statements.
type Inserts struct {
	columns int
	texts   [len(insertSizes)]string
}

// insertSizes are the numbers of rows that one statement inserts. There are few, so that the statements stay prepared, and all parameters
// of one stay below the limits of both engines.
var insertSizes = [...]int{32, 8, 1}

// NewInserts returns the statements that insert rows: a value for each of the columns, which are separated by commas.
func NewInserts(table, columns string) *Inserts {
	s := &Inserts{columns: Columns(columns)}
	for i, rows := range insertSizes {
		var b strings.Builder
		b.WriteString("INSERT INTO " + table + " (" + columns + ") VALUES ")
		for row := range rows {
			if row > 0 {
				b.WriteString(", ")
			}
			b.WriteString("(" + Placeholders(1+row*s.columns, s.columns) + ")")
		}
		s.texts[i] = b.String()
	}
	return s
}

// Exec inserts rows, in their order.
func (s *Inserts) Exec(ctx context.Context, tx Tx, rows [][]any) error {
	return Groups(rows, func(group [][]any) error {
		args := make([]any, 0, len(group)*s.columns)
		for _, row := range group {
			args = append(args, row...)
		}
		n, err := Exec(ctx, tx, s.texts[slices.Index(insertSizes[:], len(group))], args...)
		if err == nil && n != int64(len(group)) {
			err = fmt.Errorf("statement inserted %d rows, not %d", n, len(group))
		}
		return err
	})
}

// Groups calls f with groups of all, in their order, until it fails. The groups have few sizes, so that statements for them stay prepared.
func Groups[T any](all []T, f func(group []T) error) error {
	for _, size := range insertSizes {
		for len(all) >= size {
			if err := f(all[:size]); err != nil {
				return err
			}
			all = all[size:]
		}
	}
	return nil
}

// Columns counts columns that are separated by commas.
func Columns(columns string) int { return strings.Count(columns, ",") + 1 }

// Placeholders returns n placeholders from $first on, separated by commas.
func Placeholders(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(first+i))
	}
	return b.String()
}
