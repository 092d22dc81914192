package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
)

// Settings of a local Ollama.
const (
	ollama        = "ollama"
	ollamaPort    = "11434"
	ollamaTimeout = 300 * time.Millisecond
)

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
	p := ProviderConfig{Name: ollama, Kind: openai.Kind{}.Traits().Name, BaseURL: base + "/v1"} // its models come and go: ask it
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
