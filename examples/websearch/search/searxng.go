package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of a request to SearXNG.
const (
	answerTimeout = 15 * time.Second
	maxAnswer     = 4 << 20
)

// SearXNG searches the web with an instance of SearXNG. Source of the API: https://docs.searxng.org/dev/search_api.html
type SearXNG struct {
	base   *url.URL
	client *http.Client
}

// NewSearXNG checks the address of an instance; it connects with the first search.
func NewSearXNG(address string) (*SearXNG, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--searxng %q: want the base URL of an instance, such as https://searx.example.com", address)
	}
	return &SearXNG{base: u, client: &http.Client{
		Timeout: answerTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Name implements Engine.
func (s *SearXNG) Name() string { return "the web, through " + s.base.Host }

// Close implements Engine.
func (s *SearXNG) Close() { s.client.CloseIdleConnections() }

// Search implements Engine.
func (s *SearXNG) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	target := s.base.JoinPath("search")
	target.RawQuery = url.Values{"q": {query}, "format": {"json"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", s.base.Host, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s refuses format=json; its settings must list json under search.formats", s.base.Host)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered with status %d", s.base.Host, res.StatusCode)
	}
	var answer struct {
		Results []struct{ Title, URL, Content string }
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s answered with something that is no list of results", s.base.Host)
	}
	var found []Hit
	for _, r := range answer.Results {
		if u, err := url.Parse(r.URL); err == nil && (u.Scheme == "http" || u.Scheme == "https") && len(found) < limit {
			found = append(found, Hit{Title: r.Title, URL: r.URL, Snippet: r.Content})
		}
	}
	return found, nil
}

// Read implements Engine. This server opens no page of the web: an address can lead into the network that it runs in.
func (s *SearXNG) Read(context.Context, string) (Page, error) {
	return Page{}, errors.New("pages of the web are not read here; use their snippets, or another tool that reads pages")
}

// Check implements Engine.
func (s *SearXNG) Check(ctx context.Context) (string, error) {
	_, err := s.Search(ctx, "test", 1)
	return s.Name(), err
}
