package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsNeedAPermission: users need metrics.get, and Prometheus the token from a file, which can be replaced.
func TestMetricsNeedAPermission(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "scrape.token")
	keep := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep("the.first.token.of.prometheus")
	p := newLoginsWith(t, []string{"WINDLASS_TELEMETRY_METRICS_TOKEN_FILE=" + file})
	for name, row := range map[string]struct {
		authorization string
		status        int
		details       bool
	}{
		"local":           {"", 200, true},
		"alice":           {"Bearer " + p.access("alice"), 403, true}, // may see health
		"the admin":       {"Bearer " + p.access("admin"), 200, true},
		"Prometheus":      {"Bearer the.first.token.of.prometheus", 200, false},
		"another token":   {"Bearer the.second.token.of.prometheus", 401, false},
		"no token at all": {"Bearer ", 401, false},
	} {
		status, body := p.read("/metrics", row.authorization)
		if status != row.status || status == 200 && !strings.Contains(body, "go_goroutines") {
			t.Errorf("%s: %d %.100s", name, status, body)
		}
		if status, body = p.read("/readyz", row.authorization); status != 200 || strings.Contains(body, "checks") != row.details {
			t.Errorf("readiness for %s: %d %s", name, status, body)
		}
		if status, _ = p.read("/v1/me", "Bearer the.first.token.of.prometheus"); status != 401 {
			t.Errorf("the token of Prometheus is a user's: %d", status)
		}
	}
	keep("the.second.token.of.prometheus")
	for token, want := range map[string]int{"the.first.token.of.prometheus": 401, "the.second.token.of.prometheus": 200} {
		if status, _ := p.read("/metrics", "Bearer "+token); status != want {
			t.Errorf("%s after it was replaced: %d", token, status)
		}
	}
}

// access logs a user in and returns their access token.
func (p *logins) access(user string) string {
	p.t.Helper()
	p.logIn(user)
	raw, err := os.ReadFile(filepath.Join(p.home, user, ".config", "windlass", "credentials.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	var kept struct {
		Servers map[string]struct {
			Token string `json:"access_token"`
		} `json:"servers"`
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		p.t.Fatal(err)
	}
	return kept.Servers[p.Client.Base].Token
}

// read gets a path with an Authorization header, "" for none.
func (p *logins) read(path, authorization string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.Client.Base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}
