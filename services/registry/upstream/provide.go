package upstream

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Prefixes of the names that the parts of provider data have on their way to the bridge.
const (
	metaPrefix   = "meta."
	headerPrefix = "header."
)

// provide returns the provider data that a call's source takes, by place. The error is a fault that names a missing key.
func (u *Upstream) provide(r Request) (providerdata.Data, error) {
	want := r.Source.Spec.ProviderData
	if want == nil {
		return providerdata.Data{}, nil
	}
	all, err := u.sealer.Open(r.ProviderData.Bytes, r.ProviderData.Scope)
	if err != nil {
		return providerdata.Data{}, err
	}
	places := map[string]string{}
	for _, key := range want.Meta {
		places[metaPrefix+key] = key
	}
	for header, key := range want.Headers {
		places[headerPrefix+header] = key
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		if key := places[place]; !all.Has(key) && !slices.Contains(want.Optional, key) {
			return providerdata.Data{}, providerdata.Missing(fmt.Sprintf("source %q", r.Source.Name), key)
		}
	}
	given := all.Pick(places)
	for header, key := range want.Headers {
		if !given.Has(headerPrefix + header) {
			continue
		}
		if value, ok := given.Text(headerPrefix + header); !ok || !httpguts.ValidHeaderFieldValue(value.Reveal()) {
			return providerdata.Data{}, fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
				"source %q sends the key %q of the header %s in a header: its value must be a string that a header can hold", r.Source.Name, key,
				providerdata.Header)
		}
	}
	return given, nil
}

// sealFor seals what an MCP server gets for the way to the bridge; nil for nothing.
func (u *Upstream) sealFor(s store.Source, given providerdata.Data) ([]byte, error) {
	if len(given.Keys()) == 0 {
		return nil, nil
	}
	return u.sealer.Seal(given, providerdata.OfServer(s.ID))
}

// provided returns what adds the headers that an API gets to a request, and what removes their values from a text.
func provided(s store.Source, given providerdata.Data) (add func(*http.Request) error, hide func(string) string) {
	add = func(r *http.Request) error {
		if want := s.Spec.ProviderData; want != nil {
			for header := range want.Headers {
				if value, ok := given.Text(headerPrefix + header); ok {
					r.Header.Set(header, value.Reveal())
				}
			}
		}
		return nil
	}
	return add, envref.Redactor(given.Values())
}
