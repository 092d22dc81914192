package sitemap

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxNested is how deep elements of a sitemap may be nested, maxAddress the longest address.
const (
	maxNested  = 16
	maxAddress = 2048
)

// list is what a sitemap lists.
type list struct{ pages, maps []string }

// parse reads a sitemap. Entities that it declares itself are refused, as by encoding/xml.
func parse(data []byte) (out list, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	var path []string
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, fmt.Errorf("it is not XML: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if path = append(path, t.Name.Local); len(path) > maxNested {
				return out, errors.New("its elements are nested too deep")
			}
			text.Reset()
		case xml.CharData:
			if text.Len()+len(t) <= maxAddress {
				text.Write(t)
			} else if isLoc(path) {
				return out, fmt.Errorf("it has an address of more than %d bytes", maxAddress)
			}
		case xml.EndElement:
			if address := strings.TrimSpace(text.String()); isLoc(path) && address != "" {
				out.add(path[1], address)
			}
			path = path[:len(path)-1]
			text.Reset()
		}
	}
	return out, nil
}

// isLoc reports whether a path is that of an address.
func isLoc(path []string) bool {
	return len(path) == 3 && path[2] == "loc" && (path[0] == "urlset" && path[1] == "url" || path[0] == "sitemapindex" && path[1] == "sitemap")
}

func (l *list) add(parent, address string) {
	if parent == "sitemap" {
		l.maps = append(l.maps, address)
		return
	}
	address, _, _ = strings.Cut(address, "#")
	l.pages = append(l.pages, address)
}
