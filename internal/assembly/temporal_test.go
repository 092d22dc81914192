package assembly

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/meshtls/meshtlstest"
	"github.com/windlass-dev/windlass/libs/secret"
)

// TestHowToConnectToTemporal is what the how-to page says: which settings turn TLS on, and which are wrong.
func TestHowToConnectToTemporal(t *testing.T) {
	dir := t.TempDir()
	files, err := devserver.Issue(dir, secret.New("the key of the mesh under test, long enough"))
	if err != nil {
		t.Fatal(err)
	}
	key, open, empty := filepath.Join(dir, "api.key"), filepath.Join(dir, "open.key"), filepath.Join(dir, "empty.key")
	if err := errors.Join(os.WriteFile(key, []byte("k1\n"), 0o600), os.WriteFile(open, []byte("k"), 0o644),
		os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		cfg    TemporalConfig
		secure bool
		key    string
		wrong  string
	}{
		{name: "nothing"},
		{name: "TLS alone", cfg: TemporalConfig{TLS: TemporalTLSConfig{Enabled: true}}, secure: true},
		{name: "an authority", cfg: TemporalConfig{TLS: TemporalTLSConfig{CA: files.CA}}, secure: true},
		{name: "a certificate", cfg: TemporalConfig{TLS: TemporalTLSConfig{Cert: files.Client, Key: files.Client}}, secure: true},
		{name: "an API key", cfg: TemporalConfig{APIKey: secret.New("k2")}, secure: true, key: "k2"},
		{name: "an API key in a file", cfg: TemporalConfig{APIKeyFile: key}, secure: true, key: "k1"},
		{name: "two API keys", cfg: TemporalConfig{APIKey: secret.New("k2"), APIKeyFile: key}, wrong: "not both"},
		{name: "an API key for all to read", cfg: TemporalConfig{APIKeyFile: open}, wrong: "chmod 600"},
		{name: "an empty file", cfg: TemporalConfig{APIKeyFile: empty}, wrong: "is empty"},
		{name: "no key", cfg: TemporalConfig{TLS: TemporalTLSConfig{Cert: files.Client}}, wrong: "temporal.tls: cert and key go together"},
		{name: "no such file", cfg: TemporalConfig{TLS: TemporalTLSConfig{CA: dir + "/none"}}, wrong: dir + "/none"},
	} {
		got, err := row.cfg.Client(slog.New(slog.DiscardHandler))
		if row.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("%s: %v, want something about %q", row.name, err, row.wrong)
			}
			continue
		}
		if err != nil || (got.TLS != nil) != row.secure || (got.APIKey != nil) != (row.key != "") {
			t.Errorf("%s: %+v, %v", row.name, got, err)
		}
		if row.key != "" {
			if have, err := got.APIKey(t.Context()); err != nil || have != row.key {
				t.Errorf("%s: the key is %q, %v", row.name, have, err)
			}
		}
	}
	later := TemporalConfig{APIKeyFile: key}
	connected, err := later.Client(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("rotated"), 0o600); err != nil {
		t.Fatal(err)
	}
	if have, err := connected.APIKey(t.Context()); err != nil || have != "rotated" {
		t.Errorf("after the file has changed: %q, %v", have, err)
	}
}

// TestTemporalRequiresACertificate connects to a server with mutual TLS.
func TestTemporalRequiresACertificate(t *testing.T) {
	files, err := devserver.Issue(t.TempDir(), secret.New("the key of the mesh under test, long enough"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := meshtls.FromFiles(files.Server, files.Server, files.CA, "")
	if err != nil {
		t.Fatal(err)
	}
	full := TemporalTLSConfig{CA: files.CA, Cert: files.Client, Key: files.Client}
	for _, row := range []struct {
		name   string
		change func(*TemporalTLSConfig)
		want   bool
	}{
		{"by its address", func(*TemporalTLSConfig) {}, true},
		{"by its name", func(c *TemporalTLSConfig) { c.ServerName = devserver.ServerName }, true},
		{"by another name", func(c *TemporalTLSConfig) { c.ServerName = "temporal.example" }, false},
		{"without a certificate", func(c *TemporalTLSConfig) { c.Cert, c.Key = "", "" }, false},
		{"with the authorities of the system", func(c *TemporalTLSConfig) { c.CA = "" }, false},
	} {
		c := TemporalConfig{TLS: full}
		row.change(&c.TLS)
		secure, err := c.clientTLS()
		if err != nil {
			t.Fatal(err)
		}
		if got := meshtlstest.Served(t, own, secure); got != row.want {
			t.Errorf("%s: %t, want %t", row.name, got, row.want)
		}
	}
}

func TestTheProxyOfTheTemporalUI(t *testing.T) {
	for _, c := range []TemporalUIConfig{{Addr: "127.0.0.1:8233"}, {Target: "https://127.0.0.1:8234"}} {
		if c.check() == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	if err := errors.Join(TemporalUIConfig{}.check(), TemporalUIConfig{Addr: "a:1", Target: "http://b"}.check()); err != nil {
		t.Error(err)
	}
}
