// Package docs runs what the README and the pages of docs/ tell people to do, and compares what comes out with what they say.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// page is one Markdown file.
type page struct {
	// path is relative to the repository's root, with slashes.
	path   string
	text   string
	blocks []block
}

// block is one fenced block.
type block struct {
	line int
	// lang is the first word after the fence, attrs the others: "notest", "title=FILE", "source=FILE".
	lang  string
	attrs []string
	text  string
}

func (b block) has(attr string) bool { return slices.Contains(b.attrs, attr) }

// attr returns the value of name=value, "" when it is absent.
func (b block) attr(name string) string {
	for _, a := range b.attrs {
		if value, ok := strings.CutPrefix(a, name+"="); ok {
			return value
		}
	}
	return ""
}

// pages reads README.md, CONTRIBUTING.md and all of docs/, in this order.
func pages(t *testing.T) []page {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []page
	for _, p := range paths {
		raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page{path: p, text: string(raw), blocks: parse(t, p, string(raw))})
	}
	return out
}

func parse(t *testing.T, path, text string) []block {
	t.Helper()
	var out []block
	var open *block
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		info, fence := strings.CutPrefix(trimmed, "```")
		switch {
		case fence && open == nil:
			words := strings.Fields(info)
			if len(words) == 0 {
				t.Errorf("%s:%d: a block without a language", path, i+1)
				words = []string{"text"}
			}
			indent = line[:len(line)-len(trimmed)]
			open = &block{line: i + 1, lang: words[0], attrs: words[1:]}
		case fence:
			out, open = append(out, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block has no end", path, open.line)
	}
	return out
}
