// Package state keeps what the command line remembers between two runs: the last ids for "@last", and the history of chats.
package state

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

// Store is a folder of one user. Files in it are readable by that user only, since a history holds what was said. Writing is best effort:
// a command that did its work does not fail because it cannot be remembered.
type Store struct{ dir, server string }

// Of returns the store of a user for a server: $XDG_STATE_HOME/windlass, else ~/.local/state/windlass. Without a home nothing is kept.
func Of(a *app.App, server string) Store {
	dir := a.Getenv("XDG_STATE_HOME")
	if home := a.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(dir) { // the XDG specification: relative paths are ignored
		return Store{}
	}
	return Store{dir: filepath.Join(dir, "windlass"), server: server}
}

// last is the file's content: by server, then by kind.
type last map[string]map[string]string

func (s Store) read() last {
	var l last
	raw, err := os.ReadFile(s.path("last.json"))
	if err != nil || json.Unmarshal(raw, &l) != nil || l == nil {
		return last{}
	}
	return l
}

func (s Store) path(name string) string { return filepath.Join(s.dir, name) }

// File returns the path of a file in the store, "" if nothing is kept.
func (s Store) File(name string) string {
	if s.dir == "" {
		return ""
	}
	return s.path(name)
}

// Last returns the id of a kind ("session", "turn", "approval") that was remembered last, "" for none.
func (s Store) Last(kind string) string {
	if s.dir == "" {
		return ""
	}
	return s.read()[s.server][kind]
}

// Remember keeps ids by kind; empty ones change nothing.
func (s Store) Remember(ids map[string]string) {
	if s.dir == "" {
		return
	}
	all := s.read()
	mine := all[s.server]
	if mine == nil {
		mine = map[string]string{}
		all[s.server] = mine
	}
	changed := false
	for kind, id := range ids {
		if id != "" && mine[kind] != id {
			mine[kind], changed = id, true
		}
	}
	if !changed {
		return
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil || os.MkdirAll(s.dir, 0o700) != nil {
		return
	}
	s.replace("last.json", raw)
}

// replace writes a file whole or not at all, since commands may run at the same time.
func (s Store) replace(name string, raw []byte) {
	f, err := os.CreateTemp(s.dir, name+".*")
	if err != nil {
		return
	}
	_, err = f.Write(raw)
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), s.path(name)) != nil {
		_ = os.Remove(f.Name()) // best effort
	}
}
