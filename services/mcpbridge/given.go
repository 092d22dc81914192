package mcpbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
)

// given is what a call gets of its request's provider data.
type given struct {
	meta    map[string]json.RawMessage
	headers http.Header
	values  []string // that must not be in what the server says
}

// receive opens the provider data of a call. From then on sp hides its values.
func (s *Service) receive(sp *spec, sealed []byte) (given, error) {
	d, err := s.sealer.Open(sealed, providerdata.OfServer(sp.id))
	if err != nil {
		return given{}, err
	}
	g := given{meta: map[string]json.RawMessage{}, headers: http.Header{}, values: d.Values()}
	for _, place := range d.Keys() {
		if key, ok := strings.CutPrefix(place, "meta."); ok {
			g.meta[key] = d.Raw(place)
		}
		if name, ok := strings.CutPrefix(place, "header."); ok {
			value, isText := d.Text(place)
			if message := wrongHeader(name, value.Reveal()); !isText || message != "" || sp.kind == overStdio {
				return given{}, fault.Invalid("provider_data", "the value for the header %s cannot be sent", name)
			}
			g.headers.Set(name, value.Reveal())
		}
	}
	sp.conceal(g.values)
	return g, nil
}

type givenKey struct{}

// headersOf returns the headers that a call gets of its provider data; nil for none.
func headersOf(ctx context.Context) http.Header {
	g, _ := ctx.Value(givenKey{}).(given)
	return g.headers
}
