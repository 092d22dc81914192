package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

func TestHalvesOfCharactersAreJoined(t *testing.T) {
	for _, row := range []struct {
		name   string
		pieces []string // JSON
		want   string
	}{
		{"together", []string{`"a\ud83d\ude80b"`}, "a🚀b"},
		{"in two pieces", []string{`"ship it \ud83d"`, `"\ude80!"`}, "ship it 🚀!"},
		{"with empty pieces between", []string{`"\uD83D"`, `""`, `null`, `"\uDE80"`}, "🚀"},
		{"several", []string{`"\ud83d\ude80\ud83d"`, `"\ude80\ud83d"`, `"\ude80"`}, "🚀🚀🚀"},
		{"a first half alone", []string{`"a\ud83d"`, `"b"`}, "a\uFFFDb"},
		{"a second half alone", []string{`"a\ude80b"`}, "a\uFFFDb"},
		{"a first half at the end", []string{`"a\ud83d"`}, "a\uFFFD"},
		{"two first halves", []string{`"\ud83d\ud83d"`, `"\ude80"`}, "\uFFFD🚀"},
		{"in the wrong order", []string{`"\ude80\ud83d"`, `"x"`}, "\uFFFD\uFFFDx"},
		{"other escapes", []string{`"\u00e9\n\"\\\/\t\ufffd\u0041"`}, "é\n\"\\/\t\uFFFDA"},
		{"a backslash before a u", []string{`"\\ud83d"`, `"\\ude80"`}, `\ud83d\ude80`},
	} {
		var h provider.Halves
		got := ""
		for _, piece := range row.pieces {
			var text provider.Fragment
			if err := json.Unmarshal([]byte(piece), &text); err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			got += h.Join(string(text))
		}
		if got += h.End(); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
	for _, piece := range []string{`7`, `{}`, `["x"]`, `"\ud83`, `"\u12g4"`} {
		var text provider.Fragment
		if err := json.Unmarshal([]byte(piece), &text); err == nil {
			t.Errorf("%s is %q", piece, text)
		}
	}
}
