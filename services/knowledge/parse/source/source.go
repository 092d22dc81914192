// Package source reads source code.
package source

import (
	"path"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Format is source code of many languages, by the names of its files.
type Format struct{}

// prefix is that of the media types: text/x-go for Go.
const prefix = "text/x-"

// languages are the extensions of each language.
func languages() map[string][]string {
	return map[string][]string{
		"c": {".c", ".h"}, "c++": {".cc", ".cpp", ".cxx", ".hpp", ".hh"}, "csharp": {".cs"}, "css": {".css", ".scss", ".less"},
		"dart": {".dart"}, "elixir": {".ex", ".exs"}, "erlang": {".erl"}, "go": {".go"}, "graphql": {".graphql", ".gql"},
		"groovy": {".groovy", ".gradle"}, "haskell": {".hs"}, "java": {".java"}, "javascript": {".js", ".mjs", ".cjs", ".jsx"},
		"julia": {".jl"}, "kotlin": {".kt", ".kts"}, "lua": {".lua"}, "objectivec": {".m", ".mm"}, "ocaml": {".ml", ".mli"},
		"perl": {".pl", ".pm"}, "php": {".php"}, "protobuf": {".proto"}, "python": {".py", ".pyi"}, "r": {".r"}, "ruby": {".rb"},
		"rust": {".rs"}, "scala": {".scala"}, "sh": {".sh", ".bash", ".zsh", ".fish"}, "powershell": {".ps1"}, "sql": {".sql"},
		"swift": {".swift"}, "starlark": {".bzl", ".star"}, "terraform": {".tf", ".hcl"}, "toml": {".toml"}, "typescript": {".ts", ".tsx"},
		"vue": {".vue"}, "xml": {".xml", ".xsd"}, "yaml": {".yaml", ".yml"}, "zig": {".zig"}, "ini": {".ini", ".cfg", ".conf"},
	}
}

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	for language, extensions := range languages() {
		if slices.Contains(extensions, extension) {
			return prefix + language
		}
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(mediaType string) bool {
	switch mediaType {
	case "application/yaml", "application/x-yaml", "application/toml", "application/xml", "text/xml", "application/sql", "text/javascript",
		"application/javascript", "application/x-javascript", "application/typescript", "text/css", "application/x-sh", "application/graphql",
		"application/x-httpd-php":
		return true
	}
	return strings.HasPrefix(mediaType, prefix)
}

// Parse reads a document: a block ends at an empty line before a line without indentation, so that a declaration is one.
func (Format) Parse(in document.Input) (document.Document, error) {
	text, err := charset.Decode(in.Data, in.MediaType)
	if err != nil {
		return document.Document{}, err
	}
	var b document.Builder
	b.SetTitle(path.Base(in.Name))
	text = document.Clean(text)
	start, at, blank := 0, 0, false
	for line := range strings.Lines(text) {
		if blank && begins(line) {
			b.Add(document.Code, 0, text[start:at])
			start = at
		}
		blank = strings.TrimSpace(line) == ""
		at += len(line)
	}
	b.Add(document.Code, 0, text[start:])
	return b.Document()
}

// begins reports whether a line after an empty one begins a block.
func begins(line string) bool {
	return strings.TrimSpace(line) != "" && !strings.ContainsAny(line[:1], " \t})]")
}
