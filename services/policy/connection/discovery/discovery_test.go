package discovery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/policy/connection/discovery"
)

// site serves documents by path; {URL} in them stands for its own address.
func site(t *testing.T, documents map[string]string) *httptest.Server {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := documents[r.Method+" "+r.URL.Path]
		body, _ := io.ReadAll(r.Body)
		if listed := documents["tools/list"]; strings.Contains(string(body), `"tools/list"`) && listed != "" {
			text = listed
			if r.Header.Get("Mcp-Session-Id") != "s1" {
				t.Error("the list is asked for outside of the session")
			}
		} else if r.Method == http.MethodPost {
			w.Header().Set("Mcp-Session-Id", "s1")
		}
		switch {
		case strings.HasPrefix(text, "401 "):
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(text[4:], "{URL}", s.URL))
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(text, "302 "):
			http.Redirect(w, r, text[4:], http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, strings.ReplaceAll(text, "{URL}", s.URL))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// client follows no redirects, as the egress does.
func client(s *httptest.Server) discovery.Client {
	c := s.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return fmt.Errorf("a redirect") }
	return discovery.Client{HTTP: c}
}

const prm = `{"resource":"{URL}/mcp","authorization_servers":["{URL}/as"],"scopes_supported":["a","b"]}`

func TestProtectedResources(t *testing.T) {
	const at = "/.well-known/oauth-protected-resource"
	for name, row := range map[string]struct {
		documents map[string]string
		server    string
		scopes    []string
		wrong     string
	}{
		"the challenge says where": {
			map[string]string{"POST /mcp": `401 Bearer realm="x", resource_metadata="{URL}/meta"`, "GET /meta": prm}, "/as", []string{"a", "b"}, "",
		},
		"the challenge says which scopes": {
			map[string]string{"POST /mcp": `401 Bearer resource_metadata="{URL}/meta", scope="c"`, "GET /meta": prm}, "/as", []string{"c"}, "",
		},
		"only what comes after the beginning of a session is refused": {
			map[string]string{
				"POST /mcp": `{"result":{}}`, "tools/list": `401 Bearer resource_metadata="{URL}/meta", scope="c"`, "GET /meta": prm,
			}, "/as", []string{"c"}, "",
		},
		"at the well-known place with the path": {
			map[string]string{"POST /mcp": "401 Bearer", "GET " + at + "/mcp": prm}, "/as", []string{"a", "b"}, "",
		},
		"at the well-known place of the host": {map[string]string{"GET " + at: prm}, "/as", []string{"a", "b"}, ""},
		"nowhere: the host is the server":     {map[string]string{}, "", nil, ""},
		"of another host": {
			map[string]string{"GET " + at: `{"resource":"https://evil.example.com/mcp","authorization_servers":["{URL}/as"]}`},
			"", nil,
			"another resource",
		},
		"of a sibling": {
			map[string]string{"GET " + at: `{"resource":"{URL}/mcp2","authorization_servers":["{URL}/as"]}`}, "", nil, "another resource",
		},
		"without a server": {map[string]string{"GET " + at: `{"resource":"{URL}/mcp"}`}, "", nil, "no authorization server"},
		"not JSON":         {map[string]string{"GET " + at: `<html>`}, "", nil, "not JSON"},
		"a redirect":       {map[string]string{"GET " + at: "302 /elsewhere"}, "", nil, "redirect"},
		"the challenge is not safe": {
			map[string]string{"POST /mcp": `401 Bearer resource_metadata="http://10.0.0.1/meta"`}, "", nil, "not https",
		},
	} {
		s := site(t, row.documents)
		r, err := client(s).Protected(t.Context(), s.URL+"/mcp")
		if row.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			continue
		}
		if err != nil || len(r.Servers) != 1 || r.Servers[0] != s.URL+row.server || !reflect.DeepEqual(r.Scopes, row.scopes) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestAuthorizationServers(t *testing.T) {
	const endpoints = `"authorization_endpoint":"{URL}/authorize","token_endpoint":"{URL}/token"`
	const appended = "GET /as/.well-known/openid-configuration"
	const good = `{"issuer":"{URL}/as",` + endpoints + `,"code_challenge_methods_supported":["S256"]}`
	for name, row := range map[string]struct {
		documents map[string]string
		wrong     string
	}{
		"RFC 8414":                 {map[string]string{"GET /.well-known/oauth-authorization-server/as": good}, ""},
		"OpenID Connect, inserted": {map[string]string{"GET /.well-known/openid-configuration/as": good}, ""},
		"OpenID Connect, appended": {map[string]string{appended: good}, ""},
		"none":                     {map[string]string{}, "no metadata"},
		"of another issuer":        {map[string]string{appended: strings.Replace(good, "{URL}/as", "{URL}/other", 1)}, "another issuer"},
		"without S256":             {map[string]string{appended: strings.Replace(good, "S256", "plain", 1)}, "PKCE"},
		"without saying so":        {map[string]string{appended: `{"issuer":"{URL}/as",` + endpoints + `}`}, "PKCE"},
		"with a token endpoint apart": {
			map[string]string{appended: strings.Replace(good, "{URL}/token", "http://10.0.0.1/t", 1)}, "without https",
		},
	} {
		s := site(t, row.documents)
		got, err := client(s).Server(t.Context(), s.URL+"/as")
		if row.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		} else if err != nil || got.TokenEndpoint != s.URL+"/token" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestRegistration(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m discovery.Metadata
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ApplicationType != "native" || m.Redirects[0] != "http://127.0.0.1/cb" ||
			m.Method != "none" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"client_id":"abc"}`)
	}))
	t.Cleanup(s.Close)
	got, err := client(s).Register(t.Context(), s.URL, discovery.Describe("http://127.0.0.1/cb"))
	if err != nil || got.ID != "abc" {
		t.Errorf("registered %+v, %v", got, err)
	}
	if _, err := client(s).Register(t.Context(), s.URL, discovery.Describe("https://windlass.example.com/cb")); err == nil ||
		!strings.Contains(err.Error(), "set client_id") {
		t.Errorf("refused with %v", err)
	}
}

func TestMethodsOfTokenEndpoints(t *testing.T) {
	for name, row := range map[string]struct {
		methods []string
		want    string
		body    bool
	}{
		"not said":         {nil, "none", false},
		"public":           {[]string{"client_secret_basic", "none"}, "none", false},
		"in the header":    {[]string{"client_secret_post", "client_secret_basic"}, "client_secret_basic", false},
		"in the body only": {[]string{"private_key_jwt", "client_secret_post"}, "client_secret_post", true},
		"none that we do":  {[]string{"private_key_jwt"}, "none", false},
	} {
		s := discovery.Server{AuthMethods: row.methods}
		if s.Method() != row.want || s.OnlyInBody() != row.body {
			t.Errorf("%s: %s, %t", name, s.Method(), s.OnlyInBody())
		}
	}
}
