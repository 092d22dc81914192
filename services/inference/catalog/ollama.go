package catalog

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/ollama"
)

// Settings of a local Ollama.
const (
	ollamaPort    = "11434"
	ollamaTimeout = 300 * time.Millisecond
)

// ollama looks for an Ollama with a model, on this machine or at OLLAMA_HOST. It is added without a check if it has the default model.
func (d *detector) ollama(ctx context.Context) error {
	if d.has(ollama.Name) {
		return nil
	}
	base := ollamaAddress(d.deps.Getenv("OLLAMA_HOST"))
	models := d.ollamaModels(ctx, base)
	if len(models) == 0 && !strings.HasPrefix(d.cfg.DefaultModel, ollama.Name+"/") {
		return nil
	}
	p := ProviderConfig{Name: ollama.Name, Kind: ollama.Name, BaseURL: base} // its models come and go: ask it
	if err := p.check(); err != nil {
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
	p, err := ollama.Kind{}.New(provider.Config{
		Identity: provider.Identity{Name: ollama.Name}, BaseURL: base, HTTP: d.deps.Egress.Client(egress.Options{MaxResponseBytes: 1 << 20}),
	})
	if err != nil {
		return nil
	}
	names, _ := p.Models(ctx) // one that does not answer is none
	return names
}
