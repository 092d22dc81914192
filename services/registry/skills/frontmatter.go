package skills

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of front matter. Those of its fields, in characters, are the format's own.
const (
	maxFrontMatter   = 16 << 10
	maxNodes         = 1000
	maxNameLen       = 64
	maxDescription   = 1024
	maxCompatibility = 500
	maxLicense       = 500
	maxAllowed       = 100
)

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const fence = "---"

// split returns the front matter and the body of a SKILL.md.
func split(text string) (front, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, fence+"\n")
	if !ok {
		return "", "", errors.New("SKILL.md does not begin with front matter (a line ---)")
	}
	if strings.HasPrefix(rest, fence+"\n") {
		return "", rest[len(fence)+1:], nil
	}
	front, body, ok = strings.Cut(rest, "\n"+fence+"\n")
	if !ok {
		if front, ok = strings.CutSuffix(rest, "\n"+fence); !ok {
			return "", "", errors.New("the front matter of SKILL.md does not end (a line ---)")
		}
	}
	if len(front) > maxFrontMatter {
		return "", "", fmt.Errorf("the front matter of SKILL.md is larger than %d bytes", maxFrontMatter)
	}
	return front, body, nil
}

// parse reads the front matter of a SKILL.md. Fields that the format does not have are left out.
func parse(text string) (skill, error) {
	front, _, err := split(text)
	if err != nil {
		return skill{}, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return skill{}, fmt.Errorf("the front matter of SKILL.md is no YAML: %w", err)
	}
	nodes := 0
	if err := plain(&doc, &nodes); err != nil {
		return skill{}, fmt.Errorf("the front matter of SKILL.md %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return skill{}, errors.New("the front matter of SKILL.md has no fields")
	}
	k, err := fields(doc.Content[0])
	if err != nil {
		return skill{}, err
	}
	switch {
	case !validName.MatchString(k.Name) || len(k.Name) > maxNameLen:
		err = fmt.Errorf("its name %.80q is not valid: use at most %d lower-case letters, digits and single hyphens", k.Name, maxNameLen)
	case k.Description == "":
		err = errors.New("it has no description")
	case utf8.RuneCountInString(k.Description) > maxDescription:
		err = fmt.Errorf("its description is longer than %d characters", maxDescription)
	case utf8.RuneCountInString(k.Compatibility) > maxCompatibility:
		err = fmt.Errorf("its compatibility is longer than %d characters", maxCompatibility)
	case utf8.RuneCountInString(k.License) > maxLicense:
		err = fmt.Errorf("its license is longer than %d characters", maxLicense)
	case len(k.Tools) > maxAllowed:
		err = fmt.Errorf("its allowed-tools are more than %d", maxAllowed)
	}
	return k, err
}

// plain refuses what front matter does not need: anchors, aliases, and thousands of nodes.
func plain(n *yaml.Node, nodes *int) error {
	if *nodes++; *nodes > maxNodes {
		return fmt.Errorf("has more than %d values", maxNodes)
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return errors.New("has anchors or aliases, which are not allowed")
	}
	for _, c := range n.Content {
		if err := plain(c, nodes); err != nil {
			return err
		}
	}
	return nil
}

// fields reads the fields of front matter.
func fields(m *yaml.Node) (k skill, err error) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i].Value, m.Content[i+1]
		if m.Content[i].Kind != yaml.ScalarNode {
			return k, errors.New("the front matter of SKILL.md has a key that is no text")
		}
		if seen[key] {
			return k, fmt.Errorf("the front matter of SKILL.md has %.80q twice", key)
		}
		seen[key] = true
		var into *string
		switch key {
		case "name":
			into = &k.Name
		case "description":
			into = &k.Description
		case "license":
			into = &k.License
		case "compatibility":
			into = &k.Compatibility
		case "metadata":
			if value.Kind != yaml.MappingNode && value.Tag != "!!null" {
				return k, errors.New("metadata in the front matter of SKILL.md is no map")
			}
		case "allowed-tools":
			if k.Tools, err = names(value); err != nil {
				return k, err
			}
		}
		if into == nil {
			continue
		}
		if value.Kind != yaml.ScalarNode {
			return k, fmt.Errorf("%s in the front matter of SKILL.md is no text", key)
		}
		if value.Tag != "!!null" {
			*into = strings.TrimSpace(value.Value)
		}
	}
	return k, nil
}

// names reads allowed-tools: a text with spaces or commas, or a list.
func names(n *yaml.Node) ([]string, error) {
	apart := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' })
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil, nil
		}
		return apart(n.Value), nil
	case yaml.SequenceNode:
		var all []string
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return nil, errors.New("allowed-tools in the front matter of SKILL.md has an entry that is no text")
			}
			all = append(all, apart(c.Value)...)
		}
		return all, nil
	default:
		return nil, errors.New("allowed-tools in the front matter of SKILL.md is neither a text nor a list")
	}
}
