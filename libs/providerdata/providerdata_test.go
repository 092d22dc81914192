package providerdata_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
)

const canary = "canary-2f9d61"

func sealer(t *testing.T, key string) *providerdata.Sealer {
	t.Helper()
	s, err := providerdata.NewSealer(secret.New(strings.Repeat(key, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, text string) providerdata.Data {
	t.Helper()
	d, err := providerdata.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHeadersThatAreNotRight(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "JSON object",
		canary:                           "JSON object",
		"null":                           "JSON object",
		`["` + canary + `"]`:             "JSON object",
		`{"a":"` + canary:                "JSON object",
		`{"a":"b"} {}`:                   "JSON object",
		`{"a":7}`:                        `"a" must be a string or an object`,
		`{"a":null}`:                     `"a" must be a string or an object`,
		`{"a":["` + canary + `"]}`:       `"a" must be a string or an object`,
		`{"` + canary + ` x":"b"}`:       "its keys consist of",
		`{"a":"b","a":"` + canary + `"}`: "a key twice",
		`{"a":` + strings.Repeat(`{"a":`, 9) + `"` + canary + `"` + strings.Repeat("}", 10): "nested",
		`{"a":"` + strings.Repeat("x", providerdata.MaxBytes) + `"}`:                        "more than",
		many(65): "more than 64 keys",
	} {
		_, err := providerdata.Parse(text)
		if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Path != providerdata.Header ||
			!strings.Contains(f.Fields[0].Message, want) || strings.Contains(fmt.Sprintf("%+v", f), canary) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

func many(n int) string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprint("k", i)] = "v"
	}
	text, _ := json.Marshal(all)
	return string(text)
}

func TestDataIsNotPrinted(t *testing.T) {
	d := parse(t, `{"a":"`+canary+`","b":{"c":"`+canary+`"}}`)
	encoded, err := json.Marshal(map[string]any{"d": d})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := struct{ inner providerdata.Data }{d}
	for _, text := range []string{
		fmt.Sprint(d), fmt.Sprintf("%+v %#v %s %q", d, d, d, d), string(encoded), d.LogValue().String(), fmt.Sprintf("%+v %#v", wrapped, wrapped),
	} {
		if strings.Contains(text, canary) {
			t.Errorf("printed: %s", text)
		}
	}
	if got := d.Values(); len(got) != 2 || got[0] != canary {
		t.Errorf("values to hide: %v", got)
	}
}

func TestSealedDataIsForOneScope(t *testing.T) {
	a, b := sealer(t, "a"), sealer(t, "b")
	d := parse(t, `{"key":"`+canary+`"}`)
	scope := providerdata.OfTurn("default", "trn_1")
	sealed, err := a.Seal(d, scope)
	if err != nil || strings.Contains(string(sealed), canary) {
		t.Fatalf("sealed: %q, %v", sealed, err)
	}
	opened, err := a.Open(sealed, scope)
	if text, ok := opened.Text("key"); err != nil || !ok || text.Reveal() != canary {
		t.Errorf("opened: %v, %v", err, ok)
	}
	other := providerdata.OfTurn("default", "trn_2")
	moved, err := a.Transfer(sealed, scope, other)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		by     *providerdata.Sealer
		sealed []byte
		scope  providerdata.Scope
	}{
		"another turn":           {a, sealed, other},
		"another tenant":         {a, sealed, providerdata.OfTurn("other", "trn_1")},
		"a caller":               {a, sealed, providerdata.OfCaller(authn.User("trn_1"))},
		"another key":            {b, sealed, scope},
		"no key":                 {nil, sealed, scope},
		"half of it":             {a, sealed[:len(sealed)/2], scope},
		"moved, and opened here": {a, moved, scope},
	} {
		if _, err := row.by.Open(row.sealed, row.scope); fault.CodeOf(err) != "failed_precondition" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if d, err := a.Open(nil, scope); err != nil || len(d.Keys()) != 0 {
		t.Errorf("no data: %v", err)
	}
}

func TestTheHeaderIsTakenOutOfARequest(t *testing.T) {
	s, ctx := sealer(t, "a"), authn.With(t.Context(), authn.User("ann"))
	for _, name := range []string{providerdata.Header, providerdata.Alias} {
		h := http.Header{}
		h.Set(name, `{"key":"`+canary+`"}`)
		got, err := s.Receive(ctx, h)
		if err != nil || len(h) != 0 {
			t.Fatalf("%s: %v; left %v", name, err, h)
		}
		d, err := s.Open(providerdata.Outgoing(got), providerdata.OfCaller(authn.User("ann")))
		if err != nil || !d.Has("key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := http.Header{}
	h.Add(providerdata.Header, `{}`)
	h.Add(providerdata.Alias, `{}`)
	if _, err := s.Receive(ctx, h); err == nil || len(h) != 0 {
		t.Errorf("two headers: %v; left %v", err, h)
	}
	if got, err := s.Receive(ctx, http.Header{}); err != nil || providerdata.Outgoing(got) != nil {
		t.Errorf("no header: %v", err)
	}
	if providerdata.Incoming(context.Background()) != nil {
		t.Error("data without a call")
	}
}

func TestTheMetadataOfACallFromOutsideIsSealed(t *testing.T) {
	s, owner := sealer(t, "a"), authn.User("ann")
	receive := func(pairs ...string) (context.Context, error) {
		return s.ReceiveCall(metadata.NewIncomingContext(authn.With(t.Context(), owner), metadata.Pairs(pairs...)))
	}
	forged, err := s.Seal(parse(t, `{"key":"forged"}`), providerdata.OfCaller(owner))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{providerdata.Header, providerdata.Alias} {
		ctx, err := receive(name, `{"key":"`+canary+`"}`, providerdata.Metadata, string(forged), "other", "stays")
		if err != nil {
			t.Fatal(err)
		}
		md, _ := metadata.FromIncomingContext(ctx)
		if len(md) != 2 || len(md.Get("other")) != 1 || strings.Contains(fmt.Sprint(md), canary) {
			t.Errorf("%s: handlers see %v", name, md)
		}
		d, err := s.Open(providerdata.Incoming(ctx), providerdata.OfCaller(owner))
		if v, ok := d.Text("key"); err != nil || !ok || v.Reveal() != canary {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ctx, err := receive(providerdata.Metadata, string(forged)); err != nil || providerdata.Incoming(ctx) != nil {
		t.Errorf("sealed data from outside: %v", err)
	}
	for name, pairs := range map[string][]string{
		"twice": {providerdata.Header, "{}", providerdata.Alias, "{}"}, "no JSON": {providerdata.Header, canary},
	} {
		ctx, err := receive(pairs...)
		if fault.CodeOf(err) != "invalid_argument" || strings.Contains(err.Error(), canary) || providerdata.Incoming(ctx) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none *providerdata.Sealer
	if _, err := none.ReceiveCall(metadata.NewIncomingContext(t.Context(), metadata.Pairs(providerdata.Header, "{}"))); err == nil {
		t.Error("a process without a key takes provider data")
	}
}
