package accesstoken_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/accesstoken"
)

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// Processes that start together get the same token, whichever of them makes the file.
func TestProcessesShareAToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", accesstoken.File)
	tokens := make([]*accesstoken.Token, 16)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() {
			var err error
			if tokens[i], err = accesstoken.Open(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	value := read(t, path)
	for _, token := range tokens {
		if p, err := token.Verify(t.Context(), value, ""); err != nil || !authn.IsLocal(p) || !token.Recognizes(value) {
			t.Errorf("%v, %v", p, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

func TestWrongTokensAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), accesstoken.File)
	token, err := accesstoken.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	value := read(t, path)
	for _, wrong := range []string{
		"", "wlt_", value[:len(value)-1], value + "0", value + "\n", strings.ToUpper(value), "wlt_" + strings.Repeat("0", 64),
	} {
		if p, err := token.Verify(t.Context(), wrong, ""); !errors.Is(err, authn.ErrToken) || p != nil {
			t.Errorf("%q: %v, %v", wrong, p, err)
		}
	}
	for _, other := range []string{"a.b.c", "opaque"} {
		if token.Recognizes(other) {
			t.Errorf("it recognizes %q", other)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable by others": {"wlt_" + strings.Repeat("0", 64), 0o644, "chmod 600"},
		"empty":              {"", 0o600, "remove it"},
		"short":              {"wlt_00", 0o600, "remove it"},
		"something else":     {strings.Repeat("0", 68), 0o600, "remove it"},
	} {
		path := filepath.Join(t.TempDir(), accesstoken.File)
		if err := os.WriteFile(path, []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := accesstoken.Open(path); err == nil || !strings.Contains(err.Error(), file.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token goes to the port that its gateway has announced, and nowhere else.
func TestFind(t *testing.T) {
	project := t.TempDir()
	path := filepath.Join(project, ".windlass", accesstoken.File)
	if _, err := accesstoken.Open(path); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(project, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	found := func(dir, server string) bool {
		t.Helper()
		v, err := accesstoken.Find(dir, server)
		if err != nil {
			t.Error(err)
		}
		if !v.IsZero() && v.Reveal() != read(t, path) {
			t.Error("another token")
		}
		return !v.IsZero()
	}
	if found(project, "http://127.0.0.1:8080") {
		t.Error("found without a server")
	}
	for _, listener := range []string{"127.0.0.1", "::1", "::", "0.0.0.0"} {
		withdraw, err := accesstoken.Announce(path, &net.TCPAddr{IP: net.ParseIP(listener), Port: 8080})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			dir, server string
			want        bool
		}{
			{project, "http://127.0.0.1:8080", true},
			{below, "http://localhost:8080", true},
			{project, "http://[::1]:8080", true},
			{t.TempDir(), "http://127.0.0.1:8080", false},
			{"", "http://127.0.0.1:8080", false},
			{project, "http://127.0.0.1:8081", false},
			{project, "http://127.0.0.1", false},
			{project, "https://127.0.0.1:8080", false},
			{project, "http://192.0.2.1:8080", false},
			{project, "http://example.com:8080", false},
			{project, "http://localhost.example.com:8080", false},
			{project, "http://127.0.0.1:8080@example.com", false},
		} {
			if got := found(row.dir, row.server); got != row.want {
				t.Errorf("at %s, %s in %s: %v", listener, row.server, row.dir, got)
			}
		}
		if err := withdraw(); err != nil || found(project, "http://127.0.0.1:8080") {
			t.Errorf("found after %s was closed, %v", listener, err)
		}
	}
	withdraw, err := accesstoken.Announce(path, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080})
	if err != nil || found(project, "http://127.0.0.1:8080") {
		t.Errorf("found for a port of another address, %v", err)
	}
	if _, err := accesstoken.Announce(path, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081}); err != nil {
		t.Fatal(err)
	}
	if err := withdraw(); err != nil || !found(project, "http://127.0.0.1:8081") {
		t.Errorf("a process that ends withdraws the address of another: %v", err)
	}
	if text := fmt.Sprint(accesstoken.Find(project, "http://127.0.0.1:8081")); strings.Contains(text, "wlt_") {
		t.Error("printing shows the token")
	}
}
