package mediatext_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/mediatext"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestOf(t *testing.T) {
	for _, row := range []struct {
		mediaType, data string
		text            bool
	}{
		{"text/plain", "a", true},
		{"text/markdown; charset=utf-8", "a", true},
		{"application/json", "{}", true},
		{"text/plain", "", true},
		{"text/plain", "\xff", false},
		{"application/json", "\xff", false},
		{"image/png", "a", false},
		{"application/octet-stream", "a", false},
		{"", "a", false},
	} {
		got, ok := mediatext.Of(row.mediaType, []byte(row.data))
		if ok != row.text || ok && got != row.data || !ok && got != "" {
			t.Errorf("%s %q is %q, %t; want text %t", row.mediaType, row.data, got, ok, row.text)
		}
	}
}
