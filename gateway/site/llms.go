package site

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// about introduces Windlass to readers of the list.
const about = `# Windlass

> Windlass runs agents as durable turns: each step of a turn survives crashes, each tool call is recorded before it leaves, and policies,
> approvals and budgets decide what may happen. It is one program for one machine, or a mesh of roles on PostgreSQL and Temporal, with REST,
> gRPC, Server-Sent Events and MCP.

The OpenAPI document of the REST API is at %s/openapi.json. All pages below except the optional ones are in one text at %s%s.
`

// listText returns the list of pages by kind, with one line for each. Pages that explain decisions are optional.
func (s *Site) listText(base string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, about, base, base, FullPath)
	listed := map[string]bool{home: true}
	for _, k := range s.menu {
		if s.isDecisions(k) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", k.Title)
		for _, g := range k.Groups {
			for _, p := range g.Pages {
				if file := s.fileAt(p.Address); file != "" && !listed[file] {
					listed[file] = true
					s.line(&b, base, file, p.Title)
				}
			}
		}
	}
	b.WriteString("\n## Optional\n\n")
	for _, file := range slices.Sorted(maps.Keys(s.pages)) {
		if !listed[file] {
			s.line(&b, base, file, "")
		}
	}
	return b.Bytes()
}

// line writes the line of a page. title is how the list of pages calls it, "" if it does not.
func (s *Site) line(b *bytes.Buffer, base, file, title string) {
	c, err := s.pages[file].load()
	if err != nil {
		return // what is embedded can be read
	}
	if title == "" {
		title = c.title
	}
	fmt.Fprintf(b, "- [%s](%s%s%s)", title, base, Below, file)
	if c.summary != "" {
		b.WriteString(": " + c.summary)
	}
	b.WriteByte('\n')
}

// fullText returns the pages that are not optional, in the order of the list.
func (s *Site) fullText() []byte {
	var b bytes.Buffer
	done := map[string]bool{}
	for _, k := range s.menu {
		if s.isDecisions(k) {
			continue
		}
		for _, g := range k.Groups {
			for _, p := range g.Pages {
				file := s.fileAt(p.Address)
				source, err := fs.ReadFile(s.files, file)
				if err != nil || done[file] {
					continue // a link elsewhere, or a page with two links
				}
				done[file] = true
				fmt.Fprintf(&b, "<!-- %s%s -->\n\n%s\n", Below, file, bytes.TrimRight(source, "\n"))
				b.WriteByte('\n')
			}
		}
	}
	return b.Bytes()
}

// isDecisions reports whether a kind is the one of the decisions.
func (s *Site) isDecisions(k kind) bool {
	for _, g := range k.Groups {
		for _, p := range g.Pages {
			return strings.HasPrefix(p.Address+"/", Below+decisions)
		}
	}
	return false
}

// fileAt returns the page at an address, "" if there is none.
func (s *Site) fileAt(to string) string {
	to, _, _ = strings.Cut(to, "#")
	for file, p := range s.pages {
		if p.address == to {
			return file
		}
	}
	return ""
}
