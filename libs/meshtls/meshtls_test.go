package meshtls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// handshake connects a client to a server and returns both errors.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer conn.Close()
		_, err = conn.Write([]byte("hello"))
		done <- err
	}()
	if client.ServerName == "" {
		client.ServerName = "127.0.0.1"
	}
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(raw, client)
	defer conn.Close()
	if clientErr = conn.Handshake(); clientErr == nil {
		_, clientErr = io.ReadFull(conn, make([]byte, 5))
	}
	_ = raw.Close()
	return <-done, clientErr
}

func derived(t *testing.T, secret string) *Derived {
	t.Helper()
	d, err := FromKey([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestProcessesWithOneSecretAcceptEachOther(t *testing.T) {
	const secret = "the secret of the mesh under test"
	ours, other := derived(t, secret), derived(t, "the secret of another mesh, as long")
	dir := t.TempDir()
	cert, key, ca := write(t, dir, derived(t, secret))
	for _, tc := range []struct {
		name           string
		server, client *tls.Config
		refused        bool
	}{
		{"the same secret", Server(ours), client(t, derived(t, secret)), false},
		{"two peers", peer(t, ours), peer(t, derived(t, secret)), false},
		{"a client of another mesh", Server(ours), client(t, other), true},
		{"a server of another mesh", Server(other), client(t, ours), true},
		{
			"a client without certificate", Server(ours),
			&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: ours.pool, ServerName: DerivedName}, true,
		},
		{"files with the name", Server(ours), client(t, files(t, cert, key, ca, DerivedName)), false},
		{"files with another name", Server(ours), client(t, files(t, cert, key, ca, "elsewhere.example")), true},
		{"files without a name, of another address", Server(ours), client(t, files(t, cert, key, ca, "")), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if serverErr, clientErr := handshake(t, tc.server, tc.client); (errors.Join(serverErr, clientErr) != nil) != tc.refused {
				t.Errorf("server %v, client %v, want refused=%t", serverErr, clientErr, tc.refused)
			}
		})
	}
	if _, err := FromKey([]byte("short")); err == nil {
		t.Error("a short secret passes")
	}
}

func client(t *testing.T, s Source) *tls.Config {
	t.Helper()
	c, err := Client(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func peer(t *testing.T, s Source) *tls.Config {
	t.Helper()
	c, err := Peer(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func files(t *testing.T, cert, key, ca, name string) *Files {
	t.Helper()
	f, err := FromFiles(cert, key, ca, name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDerivedCertificatesAreRenewed(t *testing.T) {
	d := derived(t, "the secret of the mesh under test")
	now := time.Now()
	d.now = func() time.Time { return now }
	first, err := d.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := d.Certificate(); again != first {
		t.Error("each handshake makes a certificate")
	}
	now = now.Add(validity/2 + time.Second)
	second, err := d.Certificate()
	if err != nil || second == first {
		t.Fatalf("it is not renewed at half of its time: %v", err)
	}
	if leaf, err := x509.ParseCertificate(second.Certificate[0]); err != nil || leaf.NotAfter.Before(now.Add(validity-time.Minute)) {
		t.Errorf("the new one ends at %v, %v", leaf.NotAfter, err)
	}
}

// write stores a certificate of the authority of d for 127.0.0.1 as files.
func write(t *testing.T, dir string, d *Derived) (cert, key, ca string) {
	t.Helper()
	d.mu.Lock()
	d.cert = nil
	d.mu.Unlock()
	pair, err := d.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, ca = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private},
		ca: {Type: "CERTIFICATE", Bytes: d.authority.cert.Raw},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, ca
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	old, next := derived(t, "the secret of the mesh under test"), derived(t, "the secret of another mesh, as long")
	cert, key, ca := write(t, dir, old)
	f := files(t, cert, key, ca, DerivedName)
	if serverErr, clientErr := handshake(t, Server(f), client(t, f)); serverErr != nil || clientErr != nil {
		t.Fatalf("server %v, client %v", serverErr, clientErr)
	}
	server := Server(f) // made before the change
	write(t, dir, next)
	later := time.Now().Add(time.Minute)
	for _, file := range []string{cert, key, ca} {
		if err := os.Chtimes(file, later, later); err != nil {
			t.Fatal(err)
		}
	}
	f.mu.Lock()
	f.checked = time.Time{}
	f.mu.Unlock()
	if serverErr, clientErr := handshake(t, server, client(t, next)); serverErr != nil || clientErr != nil {
		t.Errorf("after the change: server %v, client %v", serverErr, clientErr)
	}
	if _, clientErr := handshake(t, server, client(t, old)); clientErr == nil {
		t.Error("the authority of before is still accepted")
	}

	if err := os.WriteFile(key, []byte("half of a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.checked = time.Time{}
	f.mu.Unlock()
	before, _ := f.Certificate()
	if before == nil {
		t.Error("a file that is half written ends the service")
	}
}

func TestFilesThatCannotBeReadAreAnError(t *testing.T) {
	dir := t.TempDir()
	cert, key, ca := write(t, dir, derived(t, "the secret of the mesh under test"))
	for name, files := range map[string][3]string{
		"no ca": {cert, key, ""}, "no such file": {cert, filepath.Join(dir, "nope"), ca}, "a key for a certificate": {key, key, ca},
		"a key for a ca": {cert, key, key},
	} {
		if _, err := FromFiles(files[0], files[1], files[2], ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAClientWithoutFilesOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	ours := derived(t, "the secret of the mesh under test")
	cert, key, ca := write(t, dir, ours)
	open := func(cert, key, ca string) *Files {
		f, err := ClientFiles(cert, key, ca, DerivedName)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	public := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: Server(ours).GetCertificate}
	for _, row := range []struct {
		name   string
		server *tls.Config
		client *Files
		want   bool
	}{
		{"all files", Server(ours), open(cert, key, ca), true},
		{"no certificate, and none is wanted", public, open("", "", ca), true},
		{"no certificate", Server(ours), open("", "", ca), false},
		{"the authorities of the system", public, open("", "", ""), false},
	} {
		if _, err := handshake(t, row.server, client(t, row.client)); (err == nil) != row.want {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	for _, files := range [][3]string{{cert, "", ca}, {"", key, ca}, {cert, key, dir + "/none"}, {dir + "/none", key, ""}} {
		if _, err := ClientFiles(files[0], files[1], files[2], ""); err == nil {
			t.Errorf("%v: no error", files)
		}
	}
}

func TestAuthoritiesOfOnePurposeOnly(t *testing.T) {
	secret, now := []byte("the secret of the mesh under test"), time.Now()
	one, err := NewAuthority(secret, "one", "One")
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewAuthority(secret, "other", "One")
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewAuthority(secret, "one", "One")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := one.Issue(x509.Certificate{DNSNames: []string{"a.example"}}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[*Authority]bool{one: true, again: true, other: false} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: a.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); (err == nil) != want {
			t.Errorf("verified: %v", err)
		}
	}
	text, err := PEM(pair)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(text, text); err != nil {
		t.Error(err)
	}
	if _, err := NewAuthority([]byte("short"), "one", "One"); err == nil {
		t.Error("a secret that is too short is accepted")
	}
}
