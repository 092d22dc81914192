package registry_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// grantsFake redeems grants.
type grantsFake struct {
	mu    sync.Mutex
	asked []*policyv1.RedeemGrantRequest
	fail  error
}

func (g *grantsFake) RedeemGrant(
	_ context.Context, req *policyv1.RedeemGrantRequest, _ ...grpc.CallOption,
) (*policyv1.RedeemGrantResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, req)
	if g.fail != nil {
		return nil, g.fail
	}
	return &policyv1.RedeemGrantResponse{AccessToken: fmt.Sprintf("%s-%d", canary, len(g.asked))}, nil
}

// TestS4OnlyATokenOfTheUserIsSent: a source with exchange gets the user's token for its audience, or no request at all.
func TestS4OnlyATokenOfTheUserIsSent(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	w.grants = &grantsFake{}
	r := w.start(config())
	var sent []string
	refuse := false
	api.set(func() {
		api.answer = func(rw http.ResponseWriter, r *http.Request) {
			sent = append(sent, r.Header.Get("Authorization"))
			if refuse {
				rw.WriteHeader(http.StatusUnauthorized)
			}
			fmt.Fprint(rw, r.Header.Get("Authorization"))
		}
	})
	src := r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json", Auth: &registryv1.SourceAuth{
		Kind: "exchange", Audience: "pets", Scopes: []string{"read"}, Issuer: "corp",
	}})
	if src.GetLastError() != "" {
		t.Fatal(src.GetLastError())
	}
	req := r.request("pets__getPet", "x")
	req.ArgumentsJson, req.TurnId, req.Key = `{"id":7}`, "trn_1", "trn_1/tool-1"
	req.Principal = &policyv1.Principal{Tenant: "default", Subject: "corp:alice", Issuer: "corp"}
	if s := r.call(t.Context(), req); s.text() != "Bearer ***" || len(sent) != 1 || sent[0] != "Bearer "+canary+"-1" {
		t.Errorf("got %q after %q", s.text(), sent)
	}
	got := w.grants.asked[0]
	testwant.Equal(t, "asked for: TurnId", got.GetTurnId(), "trn_1")
	testwant.Equal(t, "asked for: Principal.Subject", got.GetPrincipal().GetSubject(), "corp:alice")
	testwant.Equal(t, "asked for: Audience", got.GetAudience(), "pets")
	testwant.Equal(t, "asked for: Issuer", got.GetIssuer(), "corp")
	testwant.Equal(t, "asked for: Source", got.GetSource(), "pets")
	testwant.Equal(t, `asked for: Join(got.Scopes, " ")`, strings.Join(got.GetScopes(), " "), "read")
	testwant.Equal(t, "asked for: Fresh", got.GetFresh(), false)

	// A token that the API refuses is replaced once.
	refuse, sent = true, nil
	req.Key = "trn_1/tool-2"
	if s := r.call(t.Context(), req); !s.completed.GetResult().GetIsError() || len(sent) != 2 || sent[0] == sent[1] ||
		!w.grants.asked[2].GetFresh() {
		t.Errorf("a refused token: %q after %q", s.text(), sent)
	}

	// Without a token nothing is sent.
	for i, row := range []struct {
		fail error
		code string
	}{
		{fault.AuthorizationRequired("pets", fault.Login, "", "log in"), ""},
		{fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION, "the issuer refuses"), "failed_precondition"},
		{fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the issuer is away"), "tool_unavailable"},
	} {
		w.grants.fail, sent = row.fail, nil
		req.Key = fmt.Sprintf("trn_1/tool-%d", 10+i)
		s := r.call(t.Context(), req)
		if s.completed.GetCode() != row.code || (s.authorize != nil) != (row.code == "") || len(sent) != 0 {
			t.Errorf("%v: %q, %v after %q", row.fail, s.completed.GetCode(), s.authorize, sent)
		}
	}

	// A direct call has no grant; its caller's token comes sealed with the call (see libs/rpc).
	w.grants.fail, refuse, sent = nil, false, nil
	args, err := structpb.NewStruct(map[string]any{"id": 7})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{Name: "pets__getPet", Arguments: args})
	if err != nil || len(sent) != 1 {
		t.Errorf("a direct call: %v", err)
	}
	if last := w.grants.asked[len(w.grants.asked)-1]; last.GetTurnId() != "" || last.GetPrincipal().GetSubject() != "local" {
		t.Errorf("asked for %v", last)
	}
}

func TestWrongExchanges(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	for name, auth := range map[string]*registryv1.SourceAuth{
		"audience":  {Kind: "exchange"},
		"secret":    {Kind: "exchange", Audience: "a", Secret: "${secret:x}"},
		"client_id": {Kind: "exchange", Audience: "a", ClientId: "x"},
	} {
		_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
			Name: "x", Kind: "openapi", Url: api.URL + "/openapi.json", Auth: auth,
		}})
		if err == nil || !strings.Contains(err.Error(), "source.auth."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongCredentialsForSyncs(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	each := &registryv1.SourceAuth{Kind: "exchange", Audience: "a"}
	bearer := &registryv1.SourceAuth{Kind: "bearer", Secret: "${secret:x}"}
	for name, row := range map[string]struct {
		src  *registryv1.Source
		want string
	}{
		"a source of the mesh's own credential": {
			&registryv1.Source{Kind: "graphql", Url: api.URL, Auth: bearer, SyncAuth: bearer}, "source.sync_auth: ",
		},
		"a user's": {
			&registryv1.Source{Kind: "graphql", Url: api.URL, Auth: each, SyncAuth: each}, "source.sync_auth.kind",
		},
		"a secret in clear": {&registryv1.Source{
			Kind: "graphql", Url: api.URL, Auth: each, SyncAuth: &registryv1.SourceAuth{Kind: "bearer", Secret: "x"},
		}, "source.sync_auth.secret"},
		"nothing to read": {&registryv1.Source{
			Kind: "http", BaseUrl: api.URL, Auth: each, SyncAuth: bearer, Endpoints: []*registryv1.Endpoint{{Name: "x", Path: "/x"}},
		}, "source.sync_auth: "},
		"a document elsewhere": {&registryv1.Source{
			Kind: "openapi", Url: "https://docs.example/o.json", BaseUrl: api.URL, Auth: each, SyncAuth: bearer,
		}, "source.sync_auth: "},
		"a query of a gRPC call": {&registryv1.Source{
			Kind: "grpc", Url: "grpc://127.0.0.1:1", Auth: each, SyncAuth: &registryv1.SourceAuth{
				Kind: "api_key", In: "query", Name: "key", Secret: "${secret:x}",
			},
		}, "source.sync_auth.name"},
	} {
		row.src.Name = "x"
		_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: row.src, ValidateOnly: true})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
