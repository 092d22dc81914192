package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
)

// Given is what a call gets of its request's provider data.
type Given struct {
	// Meta are entries of the call's `_meta`.
	Meta map[string]json.RawMessage
	// Headers are added to its HTTP request.
	Headers http.Header
}

// Receive opens the provider data of a call. From then on sp hides its values.
func (r *Resolver) Receive(sp *Spec, sealed []byte) (Given, error) {
	d, err := r.Sealer.Open(sealed, providerdata.OfServer(sp.ID))
	if err != nil {
		return Given{}, err
	}
	g := Given{Meta: map[string]json.RawMessage{}, Headers: http.Header{}}
	for _, place := range d.Keys() {
		if key, ok := strings.CutPrefix(place, "meta."); ok {
			g.Meta[key] = d.Raw(place)
		}
		if name, ok := strings.CutPrefix(place, "header."); ok {
			value, isText := d.Text(place)
			if message := wrongHeader(name, value.Reveal()); !isText || message != "" || sp.Kind == Stdio {
				return Given{}, fault.Invalid("provider_data", "the value for the header %s cannot be sent", name)
			}
			g.Headers.Set(name, value.Reveal())
		}
	}
	sp.conceal(d.Values())
	return g, nil
}
