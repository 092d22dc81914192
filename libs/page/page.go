// Package page creates opaque page tokens for list calls and resolves page sizes.
package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrInvalid means that the caller sent an invalid page token or page size. Wrapped errors say why.
var ErrInvalid = errors.New("invalid page request")

// sumLen is the number of checksum bytes in front of a token's payload. It detects damage and mix-ups, not forgery: a token contains
// nothing that the caller could not have requested anyway.
const sumLen = 6

// Encode returns the token for the page after cursor. The list string binds the token to one list with one set of filters: pass the list's
// name and everything that changes its order or content, for example "tools|source=x". Encode panics if encoding/json cannot encode the
// cursor, since that is a bug.
func Encode(list string, cursor any) string {
	body, err := json.Marshal(cursor)
	if err != nil {
		panic(fmt.Sprintf("page: cursor of list %q cannot be encoded: %v", list, err))
	}
	return base64.RawURLEncoding.EncodeToString(append(sum(list, body), body...))
}

// Decode reads a token made by Encode for the same list into cursor, a pointer to the same type. An empty token leaves cursor unchanged and
// means the first page. A damaged token, or one of another list, is ErrInvalid.
func Decode(list, token string, cursor any) error {
	if token == "" {
		return nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) <= sumLen {
		return fmt.Errorf("%w: page_token is damaged", ErrInvalid)
	}
	body := raw[sumLen:]
	if string(sum(list, body)) != string(raw[:sumLen]) {
		return fmt.Errorf("%w: page_token is damaged or belongs to another list or filter", ErrInvalid)
	}
	if err := json.Unmarshal(body, cursor); err != nil {
		return fmt.Errorf("%w: page_token was made by another version", ErrInvalid)
	}
	return nil
}

// Size returns the page size to use: def for 0, limit for more than limit, and ErrInvalid for a negative number.
func Size(requested int32, def, limit int) (int, error) {
	switch n := int(requested); {
	case n < 0:
		return 0, fmt.Errorf("%w: page_size is negative (%d)", ErrInvalid, n)
	case n == 0:
		return min(def, limit), nil
	default:
		return min(n, limit), nil
	}
}

func sum(list string, body []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "windlass-page-1\x00%d\x00%s\x00", len(list), list)
	h.Write(body)
	return h.Sum(nil)[:sumLen]
}
