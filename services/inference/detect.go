package inference

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/anthropic"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
	"github.com/windlass-dev/windlass/services/inference/provider/scripted"
)

// Settings of a local Ollama.
const (
	ollama        = "ollama"
	ollamaPort    = "11434"
	ollamaTimeout = 300 * time.Millisecond
)

// detect returns the configured providers, then the detected ones, in order of preference. A configured provider replaces a detected one
// with the same name.
func detect(ctx context.Context, cfg Config, deps Deps) ([]*source, error) {
	d := &detector{cfg: cfg, deps: deps}
	for i, p := range cfg.Providers {
		if err := d.add(p, preferred(p), fmt.Sprintf("inference.providers[%d].api_key", i)); err != nil {
			return nil, fmt.Errorf("providers[%d]: %w", i, err)
		}
	}
	if !cfg.Detect {
		return d.found, nil
	}
	if err := d.keys(); err != nil {
		return nil, err
	}
	if err := d.ollama(ctx); err != nil {
		return nil, err
	}
	return d.found, nil
}

// preferred returns the default model of a configured provider, "" if unknown.
func preferred(p ProviderConfig) string {
	switch {
	case p.Kind == Scripted:
		return scripted.ModelName
	case len(p.Models) > 0:
		return p.Models[0]
	case p.BaseURL == "" && p.Kind == OpenAI:
		return openai.DefaultModel
	case p.BaseURL == "" && p.Kind == Anthropic:
		return anthropic.DefaultModel
	default:
		return ""
	}
}

// detector collects providers.
type detector struct {
	cfg   Config
	deps  Deps
	found []*source
}

func (d *detector) has(name string) bool {
	return slices.ContainsFunc(d.found, func(s *source) bool { return s.name == name })
}

// add creates a provider. preferred is its default model; keyFrom names the setting of its key, for errors.
func (d *detector) add(p ProviderConfig, preferred, keyFrom string) error {
	s := &source{name: p.Name, kind: p.Kind, preferred: preferred, models: p.Models, keyFrom: p.APIKeyFrom, keyless: p.APIKey.IsZero()}
	if envref.Whole(p.APIKey.Reveal()) { // read when it is used
		s.stored, s.tenant, p.APIKey = p.APIKey.Reveal(), cmp.Or(p.Tenant, authn.DefaultTenant), secret.Value{}
	}
	id := provider.Identity{Name: p.Name, KeyFrom: keyFrom}
	client := d.deps.Egress.Client(egress.Options{MaxResponseBytes: int64(d.cfg.MaxResponse)})
	var err error
	switch p.Kind {
	case OpenAI:
		s.Provider, err = openai.New(openai.Config{Identity: id, BaseURL: p.BaseURL, APIKey: p.APIKey, Headers: p.Headers, HTTP: client})
	case Anthropic:
		s.Provider, err = anthropic.New(anthropic.Config{Identity: id, BaseURL: p.BaseURL, APIKey: p.APIKey, Headers: p.Headers, HTTP: client})
	default:
		s.Provider, err = scripted.New()
	}
	if err != nil {
		return err
	}
	d.found = append(d.found, s)
	return nil
}

// keys detects providers by their keys in the environment.
func (d *detector) keys() error {
	for _, env := range []struct{ name, kind, model string }{
		{"OPENAI", OpenAI, openai.DefaultModel}, {"ANTHROPIC", Anthropic, anthropic.DefaultModel},
	} {
		key := d.deps.Getenv(env.name + "_API_KEY")
		if key == "" || d.has(env.kind) {
			continue
		}
		model := cmp.Or(d.deps.Getenv(env.name+"_MODEL"), env.model)
		p := ProviderConfig{Name: env.kind, Kind: env.kind, BaseURL: d.deps.Getenv(env.name + "_BASE_URL"), APIKey: secret.New(key)}
		if err := p.validate(); err != nil {
			return fmt.Errorf("%s_BASE_URL: %w", env.name, err)
		}
		if err := d.add(p, model, env.name+"_API_KEY"); err != nil {
			return err
		}
	}
	return nil
}

// ollama looks for an Ollama with a model, on this machine or at OLLAMA_HOST. It is added without a check if it has the default model.
func (d *detector) ollama(ctx context.Context) error {
	if d.has(ollama) {
		return nil
	}
	base := ollamaAddress(d.deps.Getenv("OLLAMA_HOST"))
	models := d.ollamaModels(ctx, base)
	if len(models) == 0 && !strings.HasPrefix(d.cfg.DefaultModel, ollama+"/") {
		return nil
	}
	p := ProviderConfig{Name: ollama, Kind: OpenAI, BaseURL: base + "/v1"} // its models come and go: ask it
	if err := p.validate(); err != nil {
		return fmt.Errorf("OLLAMA_HOST: %w", err)
	}
	first := ""
	if len(models) > 0 {
		first = models[0]
	}
	return d.add(p, first, "OLLAMA_HOST")
}

// ollamaAddress reads OLLAMA_HOST as Ollama does: a host, a host and port, or a URL; an address to listen on is one of ours.
func ollamaAddress(host string) string {
	scheme, usual := "http", ollamaPort
	if before, after, ok := strings.Cut(host, "://"); ok {
		scheme, host = before, after
		usual = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	host = strings.TrimRight(host, "/")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), usual
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	return (&url.URL{Scheme: scheme, Host: net.JoinHostPort(name, port)}).String()
}

// ollamaModels returns the names of its models, none when there is no Ollama.
func (d *detector) ollamaModels(ctx context.Context, base string) []string {
	ctx, cancel := context.WithTimeout(ctx, ollamaTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/tags", nil)
	if err != nil {
		return nil
	}
	resp, err := d.deps.Egress.Client(egress.Options{MaxResponseBytes: 1 << 20}).Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	var listed struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&listed) != nil {
		return nil
	}
	var names []string
	for _, m := range listed.Models {
		if m.Name != "" {
			names = append(names, m.Name)
		}
	}
	return names
}
