package office

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Limits of an XML file.
const (
	maxTokens   = 50_000_000
	maxXMLDepth = 300
)

// Reader reads the tokens of an XML file. Names have no prefixes of namespaces in Local.
type Reader struct {
	in     *xml.Decoder
	open   []string // names of the elements that are open
	tokens int
}

func newReader(in io.Reader) *Reader {
	d := xml.NewDecoder(in)
	d.CharsetReader = func(name string, r io.Reader) (io.Reader, error) {
		if strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "us-ascii") {
			return r, nil
		}
		return nil, errors.New("another character set")
	}
	return &Reader{in: d}
}

// Next returns the next token: a start or end of an element, or text. It is valid until the next call. The error is io.EOF at the end.
func (r *Reader) Next() (xml.Token, error) {
	for {
		token, err := r.in.RawToken()
		switch {
		case errors.Is(err, io.EOF) && len(r.open) == 0:
			return nil, io.EOF
		case err != nil:
			return nil, damaged()
		}
		if r.tokens++; r.tokens > maxTokens {
			return nil, document.Refuse("has more than %d elements: split it into several documents", maxTokens)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(r.open) == maxXMLDepth {
				return nil, document.Refuse("is nested more than %d deep: simplify it", maxXMLDepth)
			}
			r.open = append(r.open, t.Name.Local)
			return token, nil
		case xml.EndElement:
			if len(r.open) == 0 || r.open[len(r.open)-1] != t.Name.Local {
				return nil, damaged()
			}
			r.open = r.open[:len(r.open)-1]
			return token, nil
		case xml.CharData:
			return token, nil
		case xml.Directive:
			return nil, document.Refuse("defines XML types or entities, which are not read: save it again with Office or LibreOffice")
		}
	}
}

// Skip reads up to the end of the element that began last.
func (r *Reader) Skip() error {
	for depth := len(r.open) - 1; len(r.open) > depth; {
		if _, err := r.Next(); err != nil {
			return unended(err)
		}
	}
	return nil
}

// Text reads up to the end of the element that began last, and returns the text in it.
func (r *Reader) Text() (string, error) {
	var out strings.Builder
	for depth := len(r.open) - 1; len(r.open) > depth; {
		token, err := r.Next()
		if err != nil {
			return "", unended(err)
		}
		if t, ok := token.(xml.CharData); ok {
			out.Write(t)
		}
	}
	return out.String(), nil
}

// Each calls start for each element that begins before the end of the element that began last. It may read such an element,
// or a part of it.
func (r *Reader) Each(start func(xml.StartElement) error) error {
	for depth := len(r.open) - 1; len(r.open) > depth; {
		token, err := r.Next()
		if err != nil {
			return unended(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if err := start(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Elements calls start for each element of a file. It may read such an element, or a part of it.
func (r *Reader) Elements(start func(xml.StartElement) error) error {
	for {
		token, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := token.(xml.StartElement); ok {
			if err := start(e); err != nil {
				return err
			}
		}
	}
}

func unended(err error) error {
	if errors.Is(err, io.EOF) {
		return damaged()
	}
	return err
}

// Attribute returns an attribute of an element by its name without a prefix, "" for none.
func Attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// RelationID returns the attribute r:id of an element.
func RelationID(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// On reports whether an element switches something on: its value is missing, or not one for no.
func On(e xml.StartElement) bool {
	switch Attribute(e, "val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}
