package markdown

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// maxFrontMatter limits front matter in bytes; longer one is text.
const maxFrontMatter = 64 << 10

// frontMatter reads the front matter of a document, and returns what follows it. Its title becomes that of the document;
// other fields with a
// value or a list of values become lines of a paragraph.
func frontMatter(b *document.Builder, source string) string {
	rest, found := strings.CutPrefix(source, "---\n")
	if !found {
		return source
	}
	end := strings.Index("\n"+rest, "\n---\n")
	if end < 0 || end > maxFrontMatter {
		return source
	}
	front, after := rest[:max(0, end-1)], rest[end+len("---\n"):]
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(front), &root); err != nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return source
	}
	var lines strings.Builder
	fields := root.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		name, value := fields[i].Value, scalars(fields[i+1])
		switch {
		case value == "":
		case name == "title":
			b.SetTitle(value)
			fallthrough
		default:
			lines.WriteString(name + ": " + document.OneLine(value) + "\n")
		}
	}
	b.Add(document.Paragraph, 0, lines.String())
	return after
}

// labelsField finds the field with labels in what may be front matter.
var labelsField = regexp.MustCompile(`(?m)^\s*["']?labels["']?\s*:`)

// Labels returns the values of the field "labels" in the front matter of a document, which it decodes as Parse does; an error when the
// document cannot be decoded, or when the front matter cannot be read and may have some.
func Labels(in document.Input) ([]string, error) {
	decoded, err := charset.Decode(in.Data, in.MediaType)
	if err != nil {
		return nil, err
	}
	rest, found := strings.CutPrefix(document.Clean(decoded), "---\n")
	if !found {
		return nil, nil
	}
	end := strings.Index("\n"+rest, "\n---\n")
	switch {
	case end < 0 && strings.HasSuffix(rest, "\n---"):
		end = len(rest) - len("---")
	case end < 0:
		return nil, nil // a line and text
	case end > maxFrontMatter && !labelsField.MatchString(rest[:end]):
		return nil, nil // it is text
	case end > maxFrontMatter:
		return nil, document.Refuse("has front matter of more than %d bytes", maxFrontMatter)
	}
	var front struct {
		Labels yaml.Node `yaml:"labels"`
	}
	if err := yaml.Unmarshal([]byte(rest[:max(0, end-1)]), &front); err != nil {
		if labelsField.MatchString(rest[:end]) {
			return nil, document.Refuse("has front matter with labels that is not YAML")
		}
		return nil, nil // it is text
	}
	return labelsOf(&front.Labels)
}

// labelsOf returns the labels of a field: one, or a list.
func labelsOf(n *yaml.Node) (out []string, err error) {
	switch n.Kind {
	case 0:
	case yaml.ScalarNode:
		for name := range strings.SplitSeq(n.Value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	case yaml.SequenceNode:
		for _, v := range n.Content {
			if v.Kind != yaml.ScalarNode {
				return nil, document.Refuse("has labels in its front matter that are no list of names")
			}
			out = append(out, v.Value)
		}
	default:
		return nil, document.Refuse("has labels in its front matter that are no list of names")
	}
	return out, nil
}

// scalars returns a value, or the values of a list.
func scalars(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value
	case yaml.SequenceNode:
		var values []string
		for _, v := range n.Content {
			if v.Kind == yaml.ScalarNode {
				values = append(values, v.Value)
			}
		}
		return strings.Join(values, ", ")
	case yaml.DocumentNode, yaml.MappingNode, yaml.AliasNode:
	}
	return ""
}

// plain returns the characters that a text stands for.
func plain(n *ast.Text, source []byte) []byte {
	value := n.Segment.Value(source)
	if n.IsRaw() {
		return value
	}
	return util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(value)))
}
