package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// issue writes a certificate for 127.0.0.1 that is its own authority.
func issue(t *testing.T, cert, key string, serial int64) *x509.Certificate {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true, IsCA: true,
	}, &x509.Certificate{SerialNumber: big.NewInt(serial)}, pair.Public(), pair)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: raw}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusted := x509.NewCertPool()
	trusted.AddCert(issue(t, cert, key, 1))
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) {
		c.URL, c.TLS = "https://windlass.example.com", gateway.TLSConfig{Cert: cert, Key: key}
	})
	addr := strings.TrimPrefix(s.url, "http://")
	get := func(url string) *http.Response {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{
			ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted},
		}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r
	}

	if r := get("https://" + addr + "/healthz"); r.Proto != "HTTP/2.0" || r.StatusCode != http.StatusOK {
		t.Errorf("got %s %s", r.Proto, r.Status)
	}
	if r := get("https://" + addr + "/v1/agents"); r.StatusCode != http.StatusOK {
		t.Errorf("a connection of the same user is not recognized: %s", r.Status)
	}
	if r := get("http://" + addr + "/healthz"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("clear text: %s", r.Status)
	}

	next := issue(t, cert, key, 2)
	trusted.AddCert(next)
	testpoll.Until(t, "the new certificate", func() bool {
		return get("https://" + addr + "/healthz").TLS.PeerCertificates[0].Equal(next)
	})
}

func TestTLSConfiguration(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.pem")
	if err := os.WriteFile(garbage, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		url  string
		tls  gateway.TLSConfig
		want string
	}{
		"no key":     {"https://a", gateway.TLSConfig{Cert: garbage}, "set both"},
		"no file":    {"https://a", gateway.TLSConfig{Cert: filepath.Join(dir, "none"), Key: garbage}, "no such file"},
		"no PEM":     {"https://a", gateway.TLSConfig{Cert: garbage, Key: garbage}, "read certificate"},
		"clear text": {"http://a", gateway.TLSConfig{Cert: garbage, Key: garbage}, "need an https address"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, up := config.Default[gateway.Config](), newUpstream(t)
			cfg.URL, cfg.TLS = row.url, row.tls
			deps := depsOn(rpctest.ServeAs(t, "all", up.register, rpctest.WithPrincipal(nil)))
			if _, err := gateway.New(cfg, deps); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
