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

// splitFront returns the front matter of a document with its lines of dashes, and what follows it.
func splitFront(source string) (front, after string, found bool) {
	rest, found := strings.CutPrefix(source, "---\n")
	if !found {
		return "", source, false
	}
	if end := strings.Index("\n"+rest, "\n---\n"); end >= 0 {
		return rest[:max(0, end-1)], rest[end+len("---\n"):], true
	}
	if front, found := strings.CutSuffix(rest, "\n---"); found {
		return front, "", true
	}
	return "", source, false // a line and text
}

// mapOf reads front matter; an error when it is too long or no map.
func mapOf(front string) (*yaml.Node, error) {
	if len(front) > maxFrontMatter {
		return nil, document.Refuse("has front matter of more than %d bytes", maxFrontMatter)
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(front), &root); err != nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, document.Refuse("has front matter with labels that is no map in YAML")
	}
	return root.Content[0], nil
}

// frontMatter reads the front matter of a document, and returns what follows it. Its title becomes that of the document;
// other fields with a value or a list of values become lines of a paragraph. What is no map in YAML is text.
func frontMatter(b *document.Builder, source string) string {
	front, after, found := splitFront(source)
	if !found {
		return source
	}
	root, err := mapOf(front)
	if err != nil {
		return source
	}
	fields := root.Content
	var lines strings.Builder
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
	front, _, _ := splitFront(document.Clean(decoded))
	root, err := mapOf(front)
	var fields struct {
		Labels yaml.Node `yaml:"labels"`
	}
	if err == nil && root.Decode(&fields) != nil { // a field twice, for example
		err = document.Refuse("has front matter with labels that cannot be read")
	}
	switch {
	case err == nil:
		return labelsOf(&fields.Labels)
	case labelsField.MatchString(front):
		return nil, err
	default:
		return nil, nil // it is text
	}
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
