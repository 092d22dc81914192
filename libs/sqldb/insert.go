package sqldb

import (
	"strconv"
	"strings"
)

// Insert returns the statement that inserts a row: one placeholder for each of the columns, which are separated by commas. What
// is to happen in a conflict can be appended. The text is put together once, as a package's variable.
func Insert(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + Placeholders(1, Columns(columns)) + ")"
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
