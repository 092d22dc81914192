package page

import (
	"github.com/windlass-dev/windlass/libs/fault"
)

// Limit is the largest page of any list.
const Limit = 1000

// Request returns the page size of a list call, def if none is requested, and decodes its page token into cursor; see Size and Decode. It
// returns a fault about page_size or page_token.
func Request(list string, size int32, token string, def int, cursor any) (int, error) {
	n, err := Size(size, def, Limit)
	if err != nil {
		return 0, fault.Invalid("page_size", "must be 0 to %d", Limit)
	}
	if err := Decode(list, token, cursor); err != nil {
		return 0, fault.BadPageToken(err)
	}
	return n, nil
}

// Trim splits rows, of which up to size+1 were read, into a page and the token of the next page, "" for the last page.
func Trim[T any](rows []T, size int, list string, cursor func(T) any) ([]T, string) {
	if len(rows) <= size {
		return rows, ""
	}
	rows = rows[:size]
	return rows, Encode(list, cursor(rows[size-1]))
}
