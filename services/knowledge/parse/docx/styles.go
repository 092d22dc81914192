package docx

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/office"
)

// style is a style of paragraphs.
type style struct {
	level int // of a heading; 0 for others
	base  string
}

// headings returns the levels of the styles that are headings: by their outline level or their English name, or as the style that they are
// based on.
func headings(a *office.Archive, part string) (map[string]int, error) {
	in, err := a.Part(part)
	if in == nil || err != nil {
		return nil, err
	}
	styles := map[string]style{}
	err = in.Elements(func(e xml.StartElement) error {
		if e.Name.Local != "style" {
			return nil
		}
		s, err := readStyle(in)
		styles[office.Attribute(e, "styleId")] = s
		return err
	})
	levels := map[string]int{}
	for id, s := range styles {
		for range maxLevel { // styles may be based on each other
			if s.level > 0 || s.base == "" {
				break
			}
			s = styles[s.base]
		}
		if s.level > 0 {
			levels[id] = s.level
		}
	}
	return levels, err
}

func readStyle(in *office.Reader) (s style, err error) {
	err = in.Each(func(e xml.StartElement) error {
		value := office.Attribute(e, "val")
		switch e.Name.Local {
		case "basedOn":
			s.base = value
		case "name":
			s.level = max(s.level, byName(strings.ToLower(value)))
		case "outlineLvl":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < maxLevel {
				s.level = n + 1
			}
		}
		return nil
	})
	return s, err
}

// byName returns the level of a style by its name: Word's own styles have English ones in every language.
func byName(name string) int {
	if name == "title" {
		return 1
	}
	number, found := strings.CutPrefix(name, "heading ")
	n, err := strconv.Atoi(number)
	if !found || err != nil || n < 1 || n > maxLevel {
		return 0
	}
	return n
}
