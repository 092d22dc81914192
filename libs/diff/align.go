// Package diff aligns two sequences: which elements they have in common, in order, and which only one of them has.
package diff

import "slices"

// Only is the index of an element that the other sequence does not have.
const Only = -1

// Pair is one row of two aligned sequences: an index into each, or Only if a sequence has no element in the row.
type Pair struct{ A, B int }

// maxCells bounds the table for what remains between the common prefix and suffix. Larger remainders are not searched for common elements.
const maxCells = 1 << 22

// Align aligns two sequences of n and m elements with as many equal pairs as their orders allow. Elements only in the first come before
// those only in the second.
func Align(n, m int, equal func(a, b int) bool) []Pair {
	var out, tail []Pair
	from := 0
	for from < n && from < m && equal(from, from) {
		out = append(out, Pair{from, from})
		from++
	}
	for n > from && m > from && equal(n-1, m-1) {
		n, m = n-1, m-1
		tail = append(tail, Pair{n, m})
	}
	slices.Reverse(tail)
	return slices.Concat(out, between(from, n, m, equal), tail)
}

// between aligns the elements from an index up to n and m.
func between(from, n, m int, equal func(a, b int) bool) []Pair {
	rows, cols := n-from, m-from
	var out []Pair
	a, b := from, from
	if rows > 0 && cols > 0 && rows <= maxCells/cols {
		longest := lengths(from, rows, cols, equal)
		at := func(a, b int) int32 { return longest[(a-from)*(cols+1)+b-from] }
		for a < n && b < m {
			switch {
			case equal(a, b):
				out = append(out, Pair{a, b})
				a, b = a+1, b+1
			case at(a+1, b) >= at(a, b+1):
				out = append(out, Pair{a, Only})
				a++
			default:
				out = append(out, Pair{Only, b})
				b++
			}
		}
	}
	for ; a < n; a++ {
		out = append(out, Pair{a, Only})
	}
	for ; b < m; b++ {
		out = append(out, Pair{Only, b})
	}
	return out
}

// lengths returns the table of longest common subsequences of the suffixes at each pair of indexes.
func lengths(from, rows, cols int, equal func(a, b int) bool) []int32 {
	width := cols + 1
	table := make([]int32, (rows+1)*width)
	for i := rows - 1; i >= 0; i-- {
		for j := cols - 1; j >= 0; j-- {
			if equal(from+i, from+j) {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	return table
}
