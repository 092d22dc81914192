// Package canon reads and writes the arguments of tool calls: one JSON object, with a canonical form for hashing.
package canon

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Object is a parsed JSON object. Numbers keep their text, so that no precision is lost on the way to the tool.
type Object map[string]any

// Parse reads one JSON object. Empty text is an empty object, since models send that for tools without parameters. The error is written for
// a model: it says what is wrong and where.
func Parse(text []byte) (Object, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Object{}, nil
	}
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a JSON object but %s", kind(v))
	}
	return object, nil
}

// parse reads one JSON value.
func parse(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, explain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more text after the JSON value, at byte %d", dec.InputOffset())
	}
	return v, nil
}

func explain(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("not valid JSON: it ends too early")
	default:
		return fmt.Errorf("not valid JSON: %w", err)
	}
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// JSON returns the object with sorted keys and every number as it was written. A duplicate key appears once: what is sent is what was
// validated.
func (o Object) JSON() []byte { return AppendValue(nil, map[string]any(o), literal) }

// Hash returns the hex SHA-256 of the canonical form of RFC 8785. Integers that a float64 cannot hold keep their digits instead of being
// rounded, so that two large ids never have the same hash.
func (o Object) Hash() string {
	sum := sha256.Sum256(AppendValue(nil, map[string]any(o), canonical))
	return hex.EncodeToString(sum[:])
}

// AppendValue appends the JSON of any encoding/json value, with sorted members and with each json.Number formatted by number.
func AppendValue(out []byte, v any, number func(json.Number) string) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, compareUTF16)
		out = append(out, '{')
		for i, k := range keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, k), ':')
			out = AppendValue(out, v[k], number)
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendValue(out, e, number)
		}
		return append(out, ']')
	case json.Number:
		return append(out, number(v)...)
	case float64:
		return append(out, number(json.Number(strconv.FormatFloat(v, 'g', -1, 64)))...)
	case string:
		return appendString(out, v)
	case bool:
		return strconv.AppendBool(out, v)
	default:
		return append(out, "null"...)
	}
}

// compareUTF16 orders keys as RFC 8785 requires: by UTF-16 code units. That is the order of bytes, except between characters above U+FFFF
// and those from U+E000, whose first byte is private or above.
func compareUTF16(a, b string) int {
	const private = 0xEE
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] < private || b[i] < private:
			return cmp.Compare(a[i], b[i])
		default:
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// appendString escapes no more than JSON requires.
func appendString(out []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	out = append(out, '"')
	plain := 0 // where the part begins that is not appended yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, size := utf8.DecodeRuneInString(s[i:])
			if size == 1 { // invalid
				out = utf8.AppendRune(append(out, s[plain:i]...), utf8.RuneError)
				plain = i + 1
			}
			i += size
			continue
		}
		i++
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[plain:i-1]...)
		plain = i
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(out, s[plain:]...), '"')
}

func literal(n json.Number) string { return n.String() }

// canonical writes a number as ECMAScript does, so that 1, 1.0 and 1e0 are the same.
func canonical(n json.Number) string {
	if isInteger(n.String()) && n != "-0" {
		return n.String()
	}
	f, err := n.Float64()
	if err != nil {
		return n.String() // out of a float64's range
	}
	if f == 0 {
		return "0"
	}
	text, err := json.Marshal(f) // encoding/json formats floats as ECMAScript does
	if err != nil {
		return n.String()
	}
	return string(text)
}

func isInteger(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return false
		}
	}
	return true
}
