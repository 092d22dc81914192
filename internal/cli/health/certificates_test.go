package health_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/health"
	"github.com/windlass-dev/windlass/libs/meshtls"
)

// authority issues certificates into files of a directory.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	root *x509.Certificate
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, dir: t.TempDir(), key: key, root: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(10, 0, 0),
	}}
	a.issue("ca", a.root)
	return a
}

// issue writes NAME.crt and NAME.key, and returns the path of the former without its ending.
func (a *authority) issue(name string, c *x509.Certificate) string {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, c, a.root, a.key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	path := filepath.Join(a.dir, name)
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: raw}, ".key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(path+file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return path
}

// leaf is a certificate of a process with roles, valid for the last and the next half year.
func leaf(roles ...string) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"mesh.example"},
		NotBefore: time.Now().AddDate(0, -6, 0), NotAfter: time.Now().AddDate(0, 6, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, role := range roles {
		c.URIs = append(c.URIs, meshtls.Identity(role))
	}
	return c
}

// process serves handshakes with a certificate as a role does, and returns its address.
func process(t *testing.T, source meshtls.Source) string {
	t.Helper()
	cfg := meshtls.AskingServer(source)
	cfg.NextProtos = []string{"h2"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// check checks the certificates of a configuration.
func check(t *testing.T, yaml string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range health.Certificates(t.Context(), file, []string{}) {
		fmt.Fprintf(&out, "%s %s: %s → %s\n", f.Outcome, f.Check, f.Detail, f.Todo)
	}
	return out.String()
}

func TestCertificatesOfFiles(t *testing.T) {
	ca, other := newAuthority(t, "Operator"), newAuthority(t, "Somebody")
	ending, over, late, nameless := leaf("policy"), leaf("policy"), leaf("policy"), leaf("policy")
	ending.NotAfter = time.Now().AddDate(0, 0, 8)
	over.NotAfter = time.Now().Add(-time.Hour)
	late.NotBefore = time.Now().Add(time.Hour)
	nameless.DNSNames = []string{"elsewhere.example"}
	good := ca.issue("good", leaf("policy", "registry"))
	for _, row := range []struct{ name, cert, want string }{
		{"a good one", good, "ok mesh.tls: names policy, registry; valid until "},
		{"one that ends soon", ca.issue("ending", ending), "warning mesh.tls: names policy; valid until "},
		{"when", ca.issue("ending", ending), ", in 7 days → Replace "},
		{"one that has expired", ca.issue("over", over), "broken mesh.tls: it expired at "},
		{"one of the future", ca.issue("late", late), "broken mesh.tls: it is not valid before "},
		{"one of another authority", other.issue("other", leaf("policy")), "broken mesh.tls: x509: certificate signed by unknown authority"},
		{"one without a role", ca.issue("none", leaf()), "broken mesh.tls: the certificate names no role → Issue it with a URI spiffe:"},
		{"one with another name", ca.issue("nameless", nameless), "has not the name in mesh.tls.server_name, \"mesh.example\""},
		{"one that is not there", good + "-nothing", "broken mesh.tls: "},
	} {
		got := check(t, fmt.Sprintf("mesh:\n  tls: {cert: %s.crt, key: %[1]s.key, ca: %s/ca.crt, server_name: mesh.example}\n", row.cert, ca.dir))
		if !strings.Contains(got, row.want) {
			t.Errorf("%s: %s\nwant %q", row.name, got, row.want)
		}
	}
	for _, row := range []struct{ name, yaml, want string }{
		{"none", "", "ok gateway.tls: none: "},
		{"a good one", "url: https://mesh.example, tls: {cert: %s.crt, key: %[1]s.key}", "ok gateway.tls: valid until "},
		{"another host", "url: https://windlass.example, tls: {cert: %s.crt, key: %[1]s.key}", "broken gateway.tls: x509: certificate is "},
		{"another key", "url: https://mesh.example, tls: {cert: %s.crt, key: " + other.dir + "/ca.key}", "broken gateway.tls: "},
	} {
		yaml := row.yaml
		if yaml != "" {
			yaml = "gateway: {" + fmt.Sprintf(yaml, good) + "}\n"
		}
		if got := check(t, yaml); !strings.Contains(got, row.want) {
			t.Errorf("gateway, %s: %s\nwant %q", row.name, got, row.want)
		}
	}
}

func TestCertificateForTemporal(t *testing.T) {
	ca := newAuthority(t, "Operator")
	good, over := ca.issue("good", leaf()), leaf()
	over.NotAfter = time.Now().Add(-time.Hour)
	for _, row := range []struct{ name, yaml, want string }{
		{"none, on this machine", "address: 127.0.0.1:7233", "ok temporal.tls: this process shows no certificate"},
		{"none, elsewhere", "address: temporal.example:7233", "warning temporal.tls: temporal.example:7233 is called in clear text"},
		{"an API key", "address: temporal.example:7233, api_key: k", "ok temporal.tls: this process shows no certificate"},
		{"a good one", fmt.Sprintf("tls: {cert: %s.crt, key: %[1]s.key}", good), "ok temporal.tls: valid until "},
		{"an old one", fmt.Sprintf("tls: {cert: %s.crt, key: %[1]s.key}", ca.issue("over", over)), "broken temporal.tls: it expired at "},
		{"no key", fmt.Sprintf("tls: {cert: %s.crt}", good), "broken temporal.tls: temporal.tls: cert and key go together"},
	} {
		if got := check(t, "temporal: {"+row.yaml+"}\n"); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s\nwant %q", row.name, got, row.want)
		}
	}
}

func TestCertificatesOfProcesses(t *testing.T) {
	const key = "a-key-for-tests-that-is-long-enough-0123456789"
	derived := func(key string, roles ...string) meshtls.Source {
		s, err := meshtls.FromKey([]byte(key), roles...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := check(t, "mesh:\n  key: "+key+"\n  targets:\n"+
		"    policy: '"+process(t, derived(key, "policy"))+", "+process(t, derived(key, "worker"))+"'\n"+
		"    registry: "+process(t, derived("another-key-"+key, "registry"))+"\n"+
		"    sessions: "+away+"\n    gateway: dns:///gateway:9090\n")
	for _, want := range []string{
		"ok mesh.tls: certificates are derived from mesh.key",
		"ok mesh policy: 127.0.0.1:", "broken mesh policy: 127.0.0.1:", "does not name spiffe://windlass/policy",
		"broken mesh registry: 127.0.0.1:", "unknown authority", "or the same mesh.key",
		"warning mesh sessions: not reachable: dial tcp", "→ Start the process, or correct mesh.targets.sessions",
		"ok mesh gateway: dns:///gateway:9090 is not checked",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if got := check(t, "mesh: {key: "+key+", tls: {mode: accept}}\n"); !strings.Contains(got, "warning mesh.tls: mode accept") {
		t.Error(got)
	}
	if got := check(t, "mesh: {nothing: 1}\n"); !strings.Contains(got, "broken configuration: ") {
		t.Error(got)
	}
}
