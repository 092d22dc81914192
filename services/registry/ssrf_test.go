package registry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress/egresstest"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// reachable is an OpenAPI document of one operation on a server.
func reachable(server string) string {
	url, err := json.Marshal(server)
	if err != nil {
		panic(err)
	}
	return `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":` + string(url) + `}],"paths":{"/x":{"get":{"operationId":"x"}}}}`
}

// inwardSources are the places of a source where a URL can lead into the network; good is a public server.
var inwardSources = map[string]func(url, good string) *registryv1.Source{
	"document": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{Kind: "openapi", Url: url + "openapi.json"}
	},
	"redirect of the document": func(url, good string) *registryv1.Source {
		return &registryv1.Source{Kind: "openapi", Url: good + "/redirect?to=" + url}
	},
	"server in the document": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{Kind: "openapi", Document: reachable(url)}
	},
	"reference in the document": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{Kind: "openapi", Document: strings.Replace(reachable("https://good.example"), `{"operationId":"x"}`,
			`{"operationId":"x","parameters":[{"$ref":"`+url+`p.json"}],"responses":{"200":{"$ref":"`+url+`r.json#/x"}}}`, 1)}
	},
	"base URL": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{Kind: "http", BaseUrl: url, Endpoints: []*registryv1.Endpoint{{Name: "x", Method: "GET", Path: "/x"}}}
	},
	"redirect of a call": func(url, good string) *registryv1.Source {
		return &registryv1.Source{Kind: "http", BaseUrl: good, Endpoints: []*registryv1.Endpoint{{
			Name: "x", Method: "GET", Path: "/redirect", Query: map[string]string{"to": url},
		}}}
	},
	"GraphQL": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{Kind: "graphql", Url: url}
	},
	"gRPC server": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{Kind: "grpc", Url: "grpc" + strings.TrimSuffix(strings.TrimPrefix(url, "http"), "/")}
	},
	"gRPC server with descriptors": func(url, _ string) *registryv1.Source {
		return &registryv1.Source{
			Kind: "grpc", Url: "grpc" + strings.TrimSuffix(strings.TrimPrefix(url, "http"), "/"), DescriptorSet: []byte(oneMethod),
		}
	},
	"token endpoint": func(url, good string) *registryv1.Source {
		return &registryv1.Source{
			Kind: "http", BaseUrl: good, Endpoints: []*registryv1.Endpoint{{Name: "x", Method: "GET", Path: "/secret"}},
			Auth: &registryv1.SourceAuth{
				Kind: "oauth2_client_credentials", TokenUrl: url, ClientId: "me", Secret: "${env:WINDLASS_TOOL_SECRET}",
			},
		}
	},
	"redirect of the token endpoint": func(url, good string) *registryv1.Source {
		return &registryv1.Source{
			Kind: "http", BaseUrl: good, Endpoints: []*registryv1.Endpoint{{Name: "x", Method: "GET", Path: "/secret"}},
			Auth: &registryv1.SourceAuth{
				Kind: "oauth2_client_credentials", TokenUrl: good + "/redirect?to=" + url, ClientId: "me", Secret: "${env:WINDLASS_TOOL_SECRET}",
			},
		}
	},
}

// oneMethod is a descriptor set: file "x" with the message "m" and the service "s", which has the method "x".
const oneMethod = "\x0a\x22\x0a\x01x\x22\x03\x0a\x01m2\x10\x0a\x01s\x12\x0b\x0a\x01x\x12\x02.m\x1a\x02.mb\x06proto3"

// TestS7NoSourceLeadsIntoTheNetwork has each kind of source name each spelling of an address inside the network, with the profile public.
// The source is refused, or unreachable, or its calls fail; nothing is connected to.
func TestS7NoSourceLeadsIntoTheNetwork(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	for name, source := range inwardSources {
		t.Run(name, func(t *testing.T) {
			trap := egresstest.NewTrap(t)
			good := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/redirect":
					w.Header().Set("Location", r.URL.Query().Get("to"))
					w.WriteHeader(http.StatusTemporaryRedirect)
				case "/secret":
					t.Error("a call without a token")
				}
			}))
			w := newWorld(t)
			w.egress = egresstest.Public(t, nil)
			r := w.start(config())
			fates := map[string]int{}
			for i, host := range egresstest.Hosts() {
				src := source(trap.URL(host), good)
				src.Name = fmt.Sprintf("inside%d", i)
				fate := r.fateOf(src)
				if n := trap.Accepted(); n > 0 || fate == "result" {
					t.Errorf("%s: %s after %d connections", host, fate, n)
				}
				fates[fate]++
			}
			t.Log(fates)
		})
	}
	t.Run("the public server can be reached", func(t *testing.T) {
		good := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
		w := newWorld(t)
		w.egress = egresstest.Public(t, nil)
		if got := w.start(config()).fateOf(&registryv1.Source{Name: "good", Kind: "openapi", Document: reachable(good)}); got != "result" {
			t.Error(got)
		}
	})
}

// fateOf creates a source and calls its tool, if it has one.
func (r *replica) fateOf(s *registryv1.Source) string {
	r.w.t.Helper()
	src, err := r.sources.CreateSource(r.w.t.Context(), &registryv1.CreateSourceRequest{Source: s})
	switch {
	case err != nil:
		return "rejected"
	case enum.Name(src.GetState()) != "ready":
		return enum.Name(src.GetState())
	case src.GetToolCount() == 0:
		return "no tools"
	}
	tools, err := r.tools.ListTools(r.w.t.Context(), &registryv1.ListToolsRequest{Source: s.GetName()})
	if err != nil {
		r.w.t.Fatal(err)
	}
	got := r.callAPI(tools.GetTools()[0].GetName(), `{}`)
	switch {
	case got.completed.GetCode() != "":
		return "call failed: " + got.completed.GetCode()
	case got.completed.GetResult().GetIsError():
		return "error of the API"
	}
	return "result"
}
