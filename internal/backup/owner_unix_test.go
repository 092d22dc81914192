//go:build unix

package backup

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRootKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	dir, below := t.TempDir(), t.TempDir()
	file := filepath.Join(below, "sessions.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Skip(err) // this user namespace has no other users
	}
	if err := ownAs(dir, below); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != 65534 || s.Gid != 65534 {
		t.Errorf("owner %+v", s)
	}
}
