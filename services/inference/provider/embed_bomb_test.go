//go:build !race

package provider_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/inference"
)

// TestABombOfVectors unpacks to more than is read.
func TestABombOfVectors(t *testing.T) {
	t.Parallel()
	for _, k := range embedKinds {
		t.Run(k.kind+" "+k.model, func(t *testing.T) {
			t.Parallel()
			for _, part := range []string{"0,", " ", "[],"} {
				whole := k.answer("[\x00")
				begin, _, _ := strings.Cut(whole, "\x00")
				f := newFake(t, bomb(typedJSON(again(begin, part, 8<<20, ""))))
				client := provide(t, k.kind, f.URL, regional, func(cfg *inference.Config) { cfg.MaxResponse = config.Size(4 << 20) })
				_, err := client.Embed(t.Context(), embedRequest(k))
				if got := fault.CodeOf(err); got != "model_stream_broken" {
					t.Errorf("%q: %v", part, err)
				}
			}
		})
	}
}

// typedJSON answers with the media type of JSON.
func typedJSON(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { h(typed{w, "application/json"}, r) }
}
