package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// skillScheme begins the URIs of files of skills: skill://SOURCE/SKILL/PATH.
const skillScheme = "skill://"

// skillMain is the file of a skill that is listed. It names the others.
const skillMain = "SKILL.md"

// skills serves the files of skills as resources. A file is read by a call of the skill's tool, so policies, limits and the ledger apply as
// to any call.
type skills struct{ *calls }

// skillFile is a file of a skill.
type skillFile struct{ source, skill, path string }

// uri returns the URI of the file.
func (f skillFile) uri() string {
	return skillScheme + f.source + "/" + url.PathEscape(f.skill) + "/" + (&url.URL{Path: f.path}).EscapedPath()
}

// parseSkill returns the file of a URI, false if it is none of a skill.
func parseSkill(uri string) (skillFile, bool) {
	rest, ok := strings.CutPrefix(uri, skillScheme)
	parts := strings.SplitN(rest, "/", 3)
	if !ok || len(parts) != 3 {
		return skillFile{}, false
	}
	name, err := url.PathUnescape(parts[1])
	if err != nil {
		return skillFile{}, false
	}
	file, err := url.PathUnescape(parts[2])
	return skillFile{parts[0], name, file}, err == nil && parts[0] != "" && name != "" && file != ""
}

// each calls use for the skills of a source that the caller may use, until it returns false.
func (s skills) each(ctx context.Context, source string, use func(*registryv1.Tool) bool) *failure {
	for token := ""; ; {
		found, err := s.tools.ListTools(ctx, &registryv1.ListToolsRequest{PageSize: toolsPage, PageToken: token, Source: source})
		if err != nil {
			return failureOf(err)
		}
		for _, t := range found.GetTools() {
			if t.GetSkill() && !t.GetDrifted() && !use(t) {
				return nil
			}
		}
		if token = found.GetNextPageToken(); token == "" {
			return nil
		}
	}
}

// list returns what the skills of a source are in a list of the protocol: resources, a template, or nothing. It is nil if the source has no
// skills that the caller may use.
func (s skills) list(ctx context.Context, kind offer, source string) ([]any, *failure) {
	var items []any
	f := s.each(ctx, source, func(t *registryv1.Tool) bool {
		switch kind.field {
		case "resources":
			items = append(items, map[string]any{
				"uri": skillFile{source, t.GetOriginalName(), skillMain}.uri(), "name": t.GetOriginalName(), "description": t.GetDescription(),
				"mimeType": mediaType(skillMain),
			})
			return true
		case "resourceTemplates":
			items = []any{map[string]any{
				"uriTemplate": fmt.Sprintf("%s%s/{skill}/{+file}", skillScheme, source), "name": source,
				"description": "A file of a skill, which its " + skillMain + " names.",
			}}
		default:
			items = []any{}
		}
		return false
	})
	return items, f
}

// find returns the name of the tool of a skill; empty if there is none that the caller may use.
func (s skills) find(ctx context.Context, file skillFile) (name string, f *failure) {
	f = s.each(ctx, file.source, func(t *registryv1.Tool) bool {
		if t.GetOriginalName() == file.skill {
			name = t.GetName()
		}
		return name == ""
	})
	return name, f
}

// read returns a file of a skill by the name of its tool.
func (s skills) read(q *request, name string, file skillFile) (any, *failure) {
	arguments, err := json.Marshal(map[string]string{"file": file.path})
	if err != nil {
		return nil, noResource(q.common.URI)
	}
	result, asked, err := s.run(q, s.request(q, name, arguments))
	switch {
	case err != nil:
		return nil, failureOf(err)
	case asked != nil:
		return nil, &failure{Code: mcp.INTERNAL_ERROR, Message: fmt.Sprintf("the skill %q asked something", file.skill)}
	}
	var text strings.Builder
	for _, part := range result.GetContent() {
		text.WriteString(part.GetText())
	}
	if result.GetIsError() {
		f := noResource(q.common.URI)
		f.Message = text.String()
		return nil, f
	}
	return map[string]any{"contents": []any{map[string]any{
		"uri": q.common.URI, "mimeType": mediaType(file.path), "text": text.String(),
	}}}, nil
}

// mediaType returns the type of a text by the name of its file.
func mediaType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".json":
		return "application/json"
	case ".csv":
		return "text/csv"
	case ".html", ".htm":
		return "text/html"
	case ".yaml", ".yml":
		return "application/yaml"
	}
	return "text/plain"
}
