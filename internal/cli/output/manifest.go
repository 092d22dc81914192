package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Manifests writes resources as YAML documents that "windlass apply" takes: each begins with the kind of document. A field "kind" of the
// resource itself, as sources have it, is called "source_kind" there.
func Manifests(w io.Writer, kind string, items []json.RawMessage) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	for _, raw := range items {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		node, err := yamlNode(dec)
		if err != nil {
			return fmt.Errorf("print YAML: %w", err)
		}
		for i := 0; i < len(node.Content); i += 2 {
			if node.Content[i].Value == "kind" {
				node.Content[i].Value = kind + "_kind"
			}
		}
		name, value := &yaml.Node{}, &yaml.Node{}
		name.SetString("kind")
		value.SetString(kind)
		node.Content = append([]*yaml.Node{name, value}, node.Content...)
		if err := enc.Encode(node); err != nil {
			return fmt.Errorf("print YAML: %w", err)
		}
	}
	return enc.Close()
}
