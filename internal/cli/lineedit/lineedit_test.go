package lineedit

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "windlass", "history")
	h := ReadHistory(path)
	for _, line := range []string{"one", "two", "two", "", "three"} {
		h.Add(line)
	}
	again := ReadHistory(path)
	if again.Len() != 3 || again.At(0) != "three" || again.At(2) != "one" {
		t.Errorf("read %v", again.entries)
	}
	for range 2 * maxEntries {
		again.Add(strings.Repeat("x", again.Len()%7+1))
	}
	if n := ReadHistory(path).Len(); n != maxEntries {
		t.Errorf("%d lines are kept", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	none := ReadHistory("")
	if none.Add("x"); none.Len() != 1 {
		t.Error("without a file nothing is kept")
	}
}

func TestWhatIsTypedAheadIsRead(t *testing.T) {
	k := newKeys()
	k.add([]byte("one "))
	k.add([]byte("two"))
	k.close()
	if got, err := io.ReadAll(k); err != nil || string(got) != "one two" {
		t.Errorf("%q, %v", got, err)
	}
	k = newKeys()
	k.add(make([]byte, maxAhead-1))
	if k.add([]byte("abc")); len(k.typed) != maxAhead {
		t.Errorf("%d bytes are kept", len(k.typed))
	}
}
