package devserver

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/meshtls/meshtlstest"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

const (
	oneKey     = "the key of the mesh under test, long enough"
	anotherKey = "the key of another mesh, which is long enough"
)

func source(t *testing.T, cert, ca string) meshtls.Source {
	t.Helper()
	s, err := meshtls.FromFiles(cert, cert, ca, ServerName)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustIssue(t *testing.T, dir, key string) Certificates {
	t.Helper()
	files, err := Issue(dir, secret.New(key))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCertificatesFollowFromTheKey: files that were written at different starts belong together, those of another mesh do not.
func TestCertificatesFollowFromTheKey(t *testing.T) {
	first, again, other := mustIssue(t, t.TempDir(), oneKey), mustIssue(t, t.TempDir(), oneKey), mustIssue(t, t.TempDir(), anotherKey)
	server := source(t, first.Server, first.CA)
	of := func(c Certificates) meshtls.Source { return source(t, c.Client, c.CA) }
	member, err := meshtls.FromKey([]byte(oneKey), "worker")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name           string
		server, client meshtls.Source
		want           bool
	}{
		{"a client", server, of(first), true},
		{"a client of before a restart", server, of(again), true},
		{"a part of the server", server, source(t, first.Server, first.CA), true},
		{"a client of another mesh", server, source(t, other.Client, first.CA), false},
		{"a server of another mesh", source(t, other.Server, first.CA), of(first), false},
		{"a client that serves", source(t, first.Client, first.CA), of(first), false},
		{"a process of the mesh", server, member, false},
		{"a client in the mesh", member, of(first), false},
	} {
		client, err := meshtls.Client(row.client)
		if err != nil {
			t.Fatal(err)
		}
		if got := meshtlstest.Served(t, row.server, client); got != row.want {
			t.Errorf("%s: %t, want %t", row.name, got, row.want)
		}
	}
}

func TestOnlyTheOwnerReadsCertificates(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mustIssue(t, dir, oneKey)
	for path, want := range map[string]os.FileMode{dir: 0o700, files.CA: 0o600, files.Server: 0o600, files.Client: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	pair, err := tls.LoadX509KeyPair(files.Server, files.Server)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ServerName, "127.0.0.1", "localhost"} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}

func TestTheServerGetsPathsOnly(t *testing.T) {
	files := InDir("/data/temporal")
	args, err := arguments("127.0.0.1:7233", "", "/data/temporal.db", files)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"--ip", "127.0.0.1", "--port", "7233", "--db-filename", "/data/temporal.db", "--exit-with-parent", "--tls-cert", files.Server,
		"--tls-key", files.Server, "--tls-ca", files.CA, "--tls-server-name", ServerName, "--headless",
	}
	if len(args) != len(want) {
		t.Fatalf("arguments %q", args)
	}
	for i := range want {
		if args[i] != want[i] {
			t.Errorf("argument %d is %q, want %q", i, args[i], want[i])
		}
	}
}
