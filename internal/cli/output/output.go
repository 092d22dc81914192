// Package output prints results: as a table for people, as JSON or YAML for programs, or as names only.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// Format is the value of the -o flag.
type Format string

// Formats.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Parse reads a format.
func Parse(s string) (Format, error) {
	f := Format(s)
	switch f {
	case Table, JSON, YAML, Name:
		return f, nil
	}
	if queries, err := f.queries(); queries {
		return f, err
	}
	return "", fmt.Errorf("output %q: it must be table, json, yaml or name, or jsonpath=… or custom-columns=…", s)
}

// Value writes one JSON value, indented, or as YAML.
func Value(w io.Writer, f Format, raw json.RawMessage) error {
	switch queries, err := f.queries(); {
	case err != nil:
		return err
	case queries:
		return query(w, f, []json.RawMessage{raw}, false)
	case f == YAML:
		return writeYAML(w, raw)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// List writes a list of JSON values as one array, or as YAML.
func List(w io.Writer, f Format, items []json.RawMessage) error {
	if queries, err := f.queries(); queries && err == nil {
		return query(w, f, items, true)
	}
	if items == nil {
		items = []json.RawMessage{}
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return Value(w, f, raw)
}

// Rows writes a table with aligned columns. paint, if there is one, colours cells by their column.
func Rows(w io.Writer, header []string, rows [][]string, paint ...func(column, cell string) string) error {
	widths := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for _, row := range all {
		for i, c := range row {
			row[i] = Line(c)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	for n, row := range all {
		var line strings.Builder
		for i, c := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2)
			if n > 0 && len(paint) > 0 && paint[0] != nil {
				c = paint[0](header[i], c)
			}
			line.WriteString(c + padding)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxField is the longest text of a field that people see whole, in bytes, and shownField what they see of a longer one.
const (
	maxField   = 8 << 10
	shownField = 400
)

// Fields writes the non-empty fields of a JSON object for people, one per line. Of a very long one it writes the beginning.
func Fields(w io.Writer, raw json.RawMessage) error {
	fields, err := members(raw)
	if err != nil {
		return err
	}
	width := 0
	for _, f := range fields {
		width = max(width, utf8.RuneCountInString(f.name))
	}
	var b strings.Builder
	for _, f := range fields {
		if len(f.text) > maxField {
			f.text = truncate.Bytes(f.text, shownField) + fmt.Sprintf("\n(%d bytes; -o yaml shows all)", len(f.text))
		}
		fmt.Fprintf(&b, "%-*s  %s\n", width, f.name, strings.ReplaceAll(f.text, "\n", "\n"+strings.Repeat(" ", width+2)))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

type member struct{ name, text string }

func members(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("print fields: %.40q is no JSON object", raw)
	}
	var out []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("print fields: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("print fields: %w", err)
		}
		if text := scalar(value); text != "" {
			out = append(out, member{fmt.Sprint(name), text})
		}
	}
	return out, nil
}

// scalar formats a value for people, "" for an empty one.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return Text(strings.TrimRight(s, "\n"))
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return Text(strings.Join(list, ", "))
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	switch b.String() {
	case "null", "{}", "[]", "0", "false":
		return ""
	}
	return Text(b.String())
}

// Text makes foreign text safe for a terminal: control characters except newline and tab are replaced by visible ones.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' ||
			r >= '\u2066' && r <= '\u2069':
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Line is Text on one line.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// CellWidth is the maximum length of texts in tables, in characters.
const CellWidth = 48

// Cell is Line, truncated to CellWidth.
func Cell(s string) string { return Short(s, CellWidth) }

// Short is Line, truncated to n characters.
func Short(s string, n int) string {
	s = Line(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// YesNo returns "yes" or "no".
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Percent formats a rate from 0 to 1.
func Percent(rate float64) string { return fmt.Sprintf("%.1f%%", 100*rate) }
