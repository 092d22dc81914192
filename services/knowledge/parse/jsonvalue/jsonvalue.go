// Package jsonvalue reads JSON: a line for each value, with its path.
package jsonvalue

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Format is JSON: one value, or a sequence of values as JSON Lines has them.
type Format struct{}

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	switch extension {
	case ".json", ".geojson", ".webmanifest":
		return "application/json"
	case ".jsonl", ".ndjson":
		return "application/x-ndjson"
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(mediaType string) bool {
	switch mediaType {
	case "application/json", "text/json", "application/x-ndjson", "application/jsonl":
		return true
	}
	return strings.HasSuffix(mediaType, "+json")
}

// Parse reads a document. Values of its outermost object or array are blocks of their own.
func (Format) Parse(in document.Input) (document.Document, error) {
	text, err := charset.Decode(in.Data, in.MediaType)
	if err != nil {
		return document.Document{}, err
	}
	r := reader{in: json.NewDecoder(strings.NewReader(text))}
	r.in.UseNumber()
	for first := true; ; first = false {
		switch token, err := r.in.Token(); {
		case errors.Is(err, io.EOF):
			r.flush()
			return r.b.Document()
		case err != nil:
			return document.Document{}, damaged(err)
		default:
			if !first {
				r.flush()
			}
			if err := r.value(token, "", 0); err != nil {
				return document.Document{}, err
			}
		}
	}
}

// damaged refuses a document: the decoder's errors quote what they met.
func damaged(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return document.Refuse("is not valid JSON at byte %d", syntax.Offset)
	}
	return document.Refuse("is not valid JSON: it ends early")
}

// reader turns values into lines.
type reader struct {
	in    *json.Decoder
	b     document.Builder
	lines strings.Builder
}

// flush makes the lines a block.
func (r *reader) flush() {
	r.b.Add(document.Table, 0, r.lines.String())
	r.lines.Reset()
}

// value writes a value that begins with a token.
func (r *reader) value(token json.Token, path string, depth int) error {
	if depth > document.MaxDepth {
		return document.Refuse("is nested more than %d deep: split it into several documents", document.MaxDepth)
	}
	switch token {
	case json.Delim('{'):
		return r.object(path, depth)
	case json.Delim('['):
		return r.array(path, depth)
	}
	r.line(path, scalar(token))
	if r.lines.Len() > r.b.Room() {
		r.flush() // which refuses the document
	}
	return r.b.Err()
}

func (r *reader) object(path string, depth int) error {
	for r.in.More() {
		key, err := r.in.Token()
		if err != nil {
			return damaged(err)
		}
		name, _ := key.(string)
		if err := r.member(join(path, name), depth); err != nil {
			return err
		}
	}
	return r.end()
}

func (r *reader) array(path string, depth int) error {
	for i := 0; r.in.More(); i++ {
		if err := r.member(path+"["+strconv.Itoa(i)+"]", depth); err != nil {
			return err
		}
	}
	return r.end()
}

func (r *reader) member(path string, depth int) error {
	if depth == 0 {
		r.flush()
	}
	token, err := r.in.Token()
	if err != nil {
		return damaged(err)
	}
	return r.value(token, path, depth+1)
}

// end reads the end of an object or array.
func (r *reader) end() error {
	if _, err := r.in.Token(); err != nil {
		return damaged(err)
	}
	return nil
}

func (r *reader) line(path, value string) {
	if path != "" {
		r.lines.WriteString(path + ": ")
	}
	r.lines.WriteString(document.OneLine(value) + "\n")
}

// scalar returns a value as it is written: numbers with all their digits.
func scalar(token json.Token) string {
	switch v := token.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// join returns the path of a member.
func join(path, name string) string {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }
	if name == "" || strings.ContainsFunc(name, odd) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
