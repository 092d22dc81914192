// Command docgen writes the generated pages of docs/reference (configuration, commands, events, domain events, errors, metrics and model
// APIs), and the dashboards and rules in deploy. It also writes the comments of the API that are served by reflection, and the types of the
// API for the console. With -check it writes nothing and fails if a page is out of date.
package main

//go:generate go run . -root ../..

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the repository's top folder")
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	if err := run(*root, *check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

// reference is where the pages are.
const reference = "docs/reference/"

// page is one generated file.
type page struct {
	name  string // its path
	write func(w *writer, root string) error
}

func pages() []page {
	return append(monitoringFiles(), []page{
		{reference + "config.md", writeConfig},
		{reference + "cli.md", writeCLI},
		{reference + "events.md", writeEvents},
		{reference + "domain-events.md", writeDomainEvents},
		{reference + "errors.md", writeErrors},
		{reference + "model-apis.md", writeModelAPIs},
		{reference + "metrics.md", writeMetrics},
		{"libs/rpc/comment/comments.json", writeComments},
		{"gateway/console/app/src/schema.ts", writeTypes},
	}...)
}

// run writes all pages, or with check reports which of them are stale.
func run(root string, check bool, say io.Writer) error {
	var stale []string
	for _, p := range pages() {
		var w writer
		if err := p.write(&w, root); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		path := filepath.Join(root, filepath.FromSlash(p.name))
		have, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		switch {
		case bytes.Equal(have, w.Bytes()):
		case check:
			stale = append(stale, p.name)
		default:
			if err := os.WriteFile(path, w.Bytes(), 0o644); err != nil {
				return err
			}
			fmt.Fprintln(say, "wrote", path)
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("%s: not what the code gives; run 'go generate ./internal/docgen' and commit the result",
			strings.Join(stale, ", "))
	}
	return nil
}

// writer collects one page.
type writer struct{ bytes.Buffer }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// title starts a page.
func (w *writer) title(title, intro string) {
	w.line("# %s\n\n<!-- Written by internal/docgen. Do not edit: run 'go generate ./internal/docgen'. -->\n\n%s", title,
		strings.TrimSpace(intro))
}

// code formats text as code inside a table.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// cell keeps text inside its column.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// sentence adds a full stop. The text may begin with a lower-case value, so its first letter stays.
func sentence(s string) string {
	if s != "" && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}
