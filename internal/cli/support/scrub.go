package support

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

// minSecret is the length from which a known secret is replaced wherever it stands, in bytes: a shorter one is part of other words.
const minSecret = 6

var (
	// telling matches names of variables and keys whose values are secrets.
	telling = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|secret|token|api_?key|access_?key|(^|_)key|authorization|cookie|credential|canary)s?$`)
	// userinfo matches the password of a URL, of any length.
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/?#@"']*):[^\s/?#@"']+@`)
	// scheme matches what follows the name of an authentication scheme.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
)

// scrubber replaces secrets in texts.
type scrubber struct {
	environ []string
	file    string
	known   *strings.Replacer
	formats *shield.Shield
	failed  error // why the configuration cannot be read
}

// newScrubber knows the secrets of an environment and of a configuration, which may be wrong.
func newScrubber(environ []string, file string) (*scrubber, error) {
	formats, err := shield.New(shield.Config{Name: "support", Detector: "secrets", Action: shield.Redact})
	if err != nil {
		return nil, err
	}
	s := &scrubber{environ: append([]string{}, environ...), file: file, formats: formats}
	var values []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if telling.MatchString(name) || strings.HasPrefix(name, "WINDLASS_TOOL_") || strings.HasPrefix(name, "WINDLASS_EXECUTOR_") {
			values = append(values, value)
		}
	}
	cfg, err := s.load(false)
	s.failed = err
	values = append(values, config.Secrets(cfg)...)
	s.known = replacer(values)
	return s, nil
}

func (s *scrubber) load(references bool) (assembly.Config, error) {
	return assembly.Load(assembly.Defaults(), config.Options{File: s.file, Environ: s.environ, KeepReferences: references})
}

// replacer replaces values in the forms that they have in texts, the longest first.
func replacer(values []string) *strings.Replacer {
	var forms []string
	for _, v := range values {
		v = strings.TrimSpace(v)
		if len(v) < minSecret {
			continue
		}
		quoted := fmt.Sprintf("%q", v)
		forms = append(forms, v, quoted[1:len(quoted)-1], url.QueryEscape(v), hex.EncodeToString([]byte(v)),
			base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)))
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, secret.Redacted)
	}
	return strings.NewReplacer(pairs...)
}

// clean replaces the known secrets in a text, and what has the form of one.
func (s *scrubber) clean(text string) string {
	text = s.known.Replace(text)
	text = userinfo.ReplaceAllString(text, "$1:"+secret.Redacted+"@")
	text = scheme.ReplaceAllString(text, "$1 "+secret.Redacted)
	_, text = s.formats.Check(text)
	return text
}

// configuration returns the effective configuration as YAML. References to the environment are left as they are.
func (s *scrubber) configuration() (string, error) {
	if s.failed != nil {
		return "", s.failed
	}
	cfg, err := s.load(true)
	if err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := doc.Encode(cfg); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	mask(&doc, false)
	raw, err := yaml.Marshal(&doc)
	if err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return string(raw), nil
}

// mask replaces texts under keys whose name says that they are secrets, and all in maps of headers and variables.
func mask(n *yaml.Node, hidden bool) {
	if n.Kind == yaml.ScalarNode {
		if hidden && n.Tag == "!!str" && n.Value != "" && !strings.Contains(n.Value, "${") {
			n.Value, n.Style = secret.Redacted, yaml.DoubleQuotedStyle
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			mask(c, hidden)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		mask(n.Content[i+1], hidden || telling.MatchString(key) || key == "headers" || key == "env")
	}
}
