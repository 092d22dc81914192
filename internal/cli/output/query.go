package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Formats with an expression behind the name.
const (
	jsonPath = "jsonpath="
	columns  = "custom-columns="
)

// relaxed is a path as kubectl's custom columns take it: with or without braces and the first dot.
var relaxed = regexp.MustCompile(`^\{?\.?([^{}]+)\}?$`)

// Plain reports whether a format is a table or names, and not written by Value and List.
func (f Format) Plain() bool { return f == Table || f == Name }

// queries reports whether a format has an expression, and whether that can be read.
func (f Format) queries() (bool, error) {
	if text, ok := strings.CutPrefix(string(f), jsonPath); ok {
		_, err := readPath(text, false)
		return true, err
	}
	if text, ok := strings.CutPrefix(string(f), columns); ok {
		_, _, err := readColumns(text)
		return true, err
	}
	return false, nil
}

// readPath reads an expression. What it names must be there, unless missing says that it need not.
func readPath(text string, missing bool) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("output").AllowMissingKeys(missing)
	if !strings.Contains(text, "{") {
		text = "{" + text + "}"
	}
	if err := p.Parse(text); err != nil {
		return nil, fmt.Errorf("jsonpath %q: %w", text, err)
	}
	return p, nil
}

func readColumns(text string) (names []string, paths []*jsonpath.JSONPath, err error) {
	for column := range strings.SplitSeq(text, ",") {
		name, path, ok := strings.Cut(column, ":")
		m := relaxed.FindStringSubmatch(path)
		if !ok || name == "" || m == nil {
			return nil, nil, fmt.Errorf("custom-columns %q: want NAME:.path, with commas between columns", text)
		}
		p, err := readPath("{."+m[1]+"}", true)
		if err != nil {
			return nil, nil, err
		}
		names, paths = append(names, name), append(paths, p)
	}
	return names, paths, nil
}

// decode reads JSON with numbers as they are written.
func decode(raw []byte) (any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("print JSON: %w", err)
	}
	return v, nil
}

// query writes what an expression finds in items. A JSONPath of a list sees {"items": […]}, as in kubectl.
func query(w io.Writer, f Format, items []json.RawMessage, list bool) error {
	values := make([]any, len(items))
	for i, raw := range items {
		var err error
		if values[i], err = decode(raw); err != nil {
			return err
		}
	}
	if text, ok := strings.CutPrefix(string(f), jsonPath); ok {
		path, err := readPath(text, false)
		if err != nil {
			return err
		}
		var data any = map[string]any{"items": values}
		if !list {
			data = values[0]
		}
		found, err := find(path, data)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, Text(found))
		return err
	}
	names, paths, err := readColumns(strings.TrimPrefix(string(f), columns))
	if err != nil {
		return err
	}
	rows := make([][]string, len(values))
	for i, v := range values {
		for _, path := range paths {
			cell, err := find(path, v)
			if err != nil {
				return err
			}
			if cell == "" {
				cell = "<none>"
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return Rows(w, names, rows)
}

func find(path *jsonpath.JSONPath, data any) (string, error) {
	var b strings.Builder
	if err := path.Execute(&b, data); err != nil {
		return "", fmt.Errorf("jsonpath: %w", err)
	}
	return b.String(), nil
}
