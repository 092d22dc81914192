package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
)

func box(t *testing.T, key string) *seal.Box {
	t.Helper()
	b, err := seal.New(secret.New(key))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatIsSealedOpensForItsOwnerOnly(t *testing.T) {
	key := strings.Repeat("k", seal.MinKey)
	b := box(t, key)
	hidden := secret.New("whsec_abc")
	sealed := b.Seal(hidden, "tenant/whk_1")
	if bytes.Contains(sealed, []byte("whsec")) || bytes.Contains(sealed, []byte(key[:8])) {
		t.Errorf("sealed shows what it hides: %q", sealed)
	}
	if again := b.Seal(hidden, "tenant/whk_1"); bytes.Equal(again, sealed) {
		t.Error("sealed twice in the same way")
	}
	got, err := box(t, key).Open(sealed, "tenant/whk_1") // like another process with the same key
	if err != nil || !got.Equal(hidden) {
		t.Errorf("opened %q, %v", got.Reveal(), err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, row := range map[string]struct {
		box    *seal.Box
		sealed []byte
		owner  string
		other  bool
	}{
		"another owner": {box: b, sealed: sealed, owner: "tenant/whk_2"},
		"changed":       {box: b, sealed: changed, owner: "tenant/whk_1"},
		"cut off":       {box: b, sealed: sealed[:8], owner: "tenant/whk_1"},
		"empty":         {box: b, owner: "tenant/whk_1"},
		"no version":    {box: b, sealed: append([]byte{9}, sealed[1:]...), owner: "tenant/whk_1"},
		"another key":   {box: box(t, strings.Repeat("x", 40)), sealed: sealed, owner: "tenant/whk_1", other: true},
	} {
		if got, err := row.box.Open(row.sealed, row.owner); err == nil || !got.IsZero() || errors.Is(err, seal.ErrOtherKey) != row.other {
			t.Errorf("%s: %q, %v", name, got.Reveal(), err)
		}
	}
}

func TestOlderKeysOpenOnly(t *testing.T) {
	const owner = "tenant/whk_1"
	old, fresh := strings.Repeat("o", seal.MinKey), strings.Repeat("n", seal.MinKey)
	before := box(t, old)
	sealed := before.Seal(secret.New("whsec_abc"), owner)
	both, err := seal.New(secret.New(fresh), secret.New(old))
	if err != nil {
		t.Fatal(err)
	}
	got, err := both.Open(sealed, owner)
	if err != nil || got.Reveal() != "whsec_abc" || both.Newest(sealed) || !before.Newest(sealed) {
		t.Errorf("opened %q, %v", got.Reveal(), err)
	}
	again := both.Seal(got, owner)
	if _, err := before.Open(again, owner); !errors.Is(err, seal.ErrOtherKey) || !both.Newest(again) {
		t.Errorf("sealed again: %v", err)
	}
	if got, err := box(t, fresh).Open(again, owner); err != nil || got.Reveal() != "whsec_abc" {
		t.Errorf("opened with the new key alone: %q, %v", got.Reveal(), err)
	}
	if both.Newest(nil) {
		t.Error("nothing is sealed with the newest key")
	}
	if _, err := seal.New(secret.New(fresh), secret.New("short")); err == nil || !strings.Contains(err.Error(), "older key 1") {
		t.Errorf("a short older key: %v", err)
	}
}

func TestAShortKeyIsRefused(t *testing.T) {
	for _, key := range []string{"", strings.Repeat("k", seal.MinKey-1)} {
		if _, err := seal.New(secret.New(key)); err == nil || !strings.Contains(err.Error(), "32") ||
			key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("key of %d bytes: %v", len(key), err)
		}
	}
}
