package source

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Prefixes of the names that the parts of provider data have on their way to the bridge.
const (
	metaPrefix   = "meta."
	headerPrefix = "header."
)

// Provide returns the provider data that a call's source takes, by place. The error is a fault that names a missing key.
func Provide(sealer *providerdata.Sealer, r *Request) (providerdata.Data, error) {
	want := r.Source.Spec.ProviderData
	if want == nil {
		return providerdata.Data{}, nil
	}
	all, err := sealer.Open(r.ProviderData.Bytes, r.ProviderData.Scope)
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

// Access is what a call adds to a request and removes from texts: the credentials of its source, and the provider data that it takes.
type Access struct {
	*credential.Set
	request *Request
	hide    func(string) string
}

// Access returns what a call adds to its request.
func (e *Env) Access(r *Request) (Access, error) {
	set, err := e.Credentials.For(Owner(r.Source, r.As))
	if err != nil {
		return Access{}, Unsent(err)
	}
	return Access{set, r, envref.Redactor(r.Given.Values())}, nil
}

// Authorize adds headers to a request.
func (a Access) Authorize(out *http.Request) error {
	if err := a.Set.Authorize(out); err != nil || a.request.Source.Spec.ProviderData == nil {
		return err
	}
	for header := range a.request.Source.Spec.ProviderData.Headers {
		if value, ok := a.request.Given.Text(headerPrefix + header); ok {
			out.Header.Set(header, value.Reveal())
		}
	}
	return nil
}

// Hide removes the values of credentials from a text.
func (a Access) Hide(text string) string { return a.hide(a.Set.Hide(text)) }

// Refused reports whether a request that the source refused would have another token if it were made again.
func (a Access) Refused(sent *http.Request) bool {
	return a.Set.Refused(sent) || a.request.As.Subject != ""
}
