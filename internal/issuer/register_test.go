package issuer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
)

// register registers a program.
func (w *world) register(body string, header ...string) response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/register", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.send(req)
}

// registered is the request of a program that has registered itself with redirect http://127.0.0.1:4000/cb.
func registered(id string, change ...string) url.Values {
	return with(with(request(), "client_id", id, "redirect_uri", "http://127.0.0.1:4000/cb", "scope", "", "nonce", "",
		"resource", mesh+"/mcp"), change...)
}

// redeemPublic redeems a code of a program without a secret.
func (w *world) redeemPublic(id, code string, more ...string) response {
	w.t.Helper()
	return w.token(with(form("grant_type", account.Code, "client_id", id, "code", code, "redirect_uri", "http://127.0.0.1:4000/cb",
		"code_verifier", verifier, "resource", mesh+"/mcp"), more...))
}

const program = `{"client_name":"An <b>editor</b>","redirect_uris":["http://127.0.0.1:4000/cb"],` +
	`"grant_types":["authorization_code","refresh_token"],"token_endpoint_auth_method":"client_secret_post","scope":"admin"}`

func audienceIn(t *testing.T, res response) []string {
	t.Helper()
	_, claims := parts(t, res.text(t, "access_token"))
	list, _ := claims["aud"].([]any)
	var all []string
	for _, a := range list {
		all = append(all, fmt.Sprint(a))
	}
	return all
}

func TestAProgramRegistersItselfAndLogsIn(t *testing.T) {
	w := newWorld(t, testConfig())
	res := w.register(program)
	id := res.text(t, "client_id")
	got := res.json(t)
	if res.status != http.StatusCreated || !strings.HasPrefix(id, "dyn.") || got["token_endpoint_auth_method"] != "none" ||
		got["client_secret"] != nil || fmt.Sprint(got["grant_types"]) != "[authorization_code refresh_token]" ||
		fmt.Sprint(got["redirect_uris"]) != "[http://127.0.0.1:4000/cb]" || got["client_id_issued_at"] == nil {
		t.Fatalf("%d %s", res.status, res.body)
	}
	login := w.do(http.MethodGet, "/authorize?"+registered(id).Encode(), nil).header.Get("Location")
	page := w.do(http.MethodGet, login, nil)
	for _, want := range []string{
		"An &lt;b&gt;editor&lt;/b&gt;", "127.0.0.1:4000", mesh + "/mcp", "profile, offline_access", "chose this name itself", "just started",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("%q is not in %s", want, page.body)
		}
	}
	if strings.Contains(page.body, "<b>") || strings.Contains(page.body, "Published") {
		t.Errorf("page %s", page.body)
	}
	to := w.authorize(registered(id))
	if q := to.Query(); to.Host != "127.0.0.1:4000" || q.Get("iss") != w.url || q.Get("state") != "s1" {
		t.Errorf("sent to %s", to)
	}
	tokens := w.redeemPublic(id, to.Query().Get("code"))
	if aud := audienceIn(t, tokens); !slices.Equal(aud, []string{mesh + "/mcp"}) || tokens.text(t, "id_token") != "" {
		t.Errorf("audience %v: %s", aud, tokens.body)
	}
	w.restart(testConfig())
	again := w.token(form("grant_type", account.Refresh, "client_id", id, "refresh_token", tokens.text(t, "refresh_token"),
		"resource", mesh+"/mcp"))
	if aud := audienceIn(t, again); !slices.Equal(aud, []string{mesh + "/mcp"}) || again.text(t, "refresh_token") == "" {
		t.Errorf("refreshed after a restart: %v: %s", aud, again.body)
	}
}

func TestProgramsMayNot(t *testing.T) {
	w := newWorld(t, testConfig())
	id := w.register(program).text(t, "client_id")
	simple := w.register(`{"redirect_uris":["http://localhost/cb"]}`).text(t, "client_id")
	for _, row := range []struct {
		name   string
		id     string
		change []string
		want   string // the error in a redirect; "" for a page instead of a redirect
	}{
		{"return elsewhere", id, []string{"redirect_uri", "https://evil.example.com/cb"}, ""},
		{"return to another path", id, []string{"redirect_uri", "http://127.0.0.1:4000/other"}, ""},
		{"return to another name of this machine", id, []string{"redirect_uri", "http://localhost:4000/cb"}, ""},
		{"return with a query", id, []string{"redirect_uri", "http://127.0.0.1:4000/cb?x=1"}, ""},
		{"return with a user", id, []string{"redirect_uri", "http://a@127.0.0.1:4000/cb"}, ""},
		{"leave PKCE out", id, []string{"code_challenge", ""}, "invalid_request"},
		{"use plain PKCE", id, []string{"code_challenge_method", "plain"}, "invalid_request"},
		{"request another resource", id, []string{"resource", "https://evil.example.com/mcp"}, "invalid_target"},
		{"request the mesh as a whole", id, []string{"resource", account.Audience}, "invalid_target"},
		{"request another port", id, []string{"resource", "http://127.0.0.1:8081/mcp"}, "invalid_target"},
		{"request a resource with a query", id, []string{"resource", mesh + "/mcp?x=1"}, "invalid_target"},
		{"request a path that is none", id, []string{"resource", mesh + "/metrics"}, "invalid_target"},
		{"request a name that begins like it", id, []string{"resource", "http://127.0.0.1:8080.evil.example.com/mcp"}, "invalid_target"},
		{"log in without a person", id, []string{"prompt", "none"}, "login_required"},
		{"be nobody", "dyn.nobody", nil, ""},
		{"be a document that is none", "https://127.0.0.1:1/client.json", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := w.do(http.MethodGet, "/authorize?"+registered(row.id, row.change...).Encode(), nil)
			to, err := url.Parse(res.header.Get("Location"))
			if err != nil || row.want == "" && (res.status < 400 || to.String() != "") ||
				row.want != "" && (to.Query().Get("error") != row.want || to.Query().Get("iss") != w.url) {
				t.Errorf("%d %s, sent to %s", res.status, res.body, to)
			}
		})
	}
	for name, v := range map[string]url.Values{
		"use the device flow":          form("grant_type", account.Device, "client_id", id, "device_code", "x"),
		"act for themselves":           form("grant_type", account.ClientCredentials, "client_id", id),
		"exchange tokens":              form("grant_type", account.Exchange, "client_id", id, "subject_token", "x", "subject_token_type", "x"),
		"refresh without registration": form("grant_type", account.Refresh, "client_id", simple, "refresh_token", "wlr_a.1.b"),
		"send a secret":                form("grant_type", account.Code, "client_id", id, "client_secret", "x", "code", "x"),
	} {
		if res := w.token(v); res.status != 400 && res.status != 401 || strings.Contains(res.body, "access_token") {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
	}
	code := w.authorize(registered(simple, "redirect_uri", "http://localhost:5000/cb")).Query().Get("code")
	if res := w.redeemPublic(simple, code, "redirect_uri", "http://localhost:5000/cb"); res.text(t, "refresh_token") != "" {
		t.Errorf("a refresh token that nobody asked for: %s", res.body)
	}
}

func TestRegistrationsThatAreRefused(t *testing.T) {
	w := newWorld(t, testConfig())
	redirect := func(uri string) string { return `{"redirect_uris":["` + uri + `"]}` }
	for _, row := range []struct {
		name, body string
		header     []string
		status     int
		code       string
	}{
		{"no JSON", "x", nil, 400, "invalid_client_metadata"},
		{"a list", "[]", nil, 400, "invalid_client_metadata"},
		{"too large", `{"client_name":"` + strings.Repeat("x", 20<<10) + `"}`, nil, 400, "invalid_client_metadata"},
		{"no redirects", `{}`, nil, 400, "invalid_redirect_uri"},
		{"another host", redirect("http://evil.example.com/cb"), nil, 400, "invalid_redirect_uri"},
		{"https", redirect("https://127.0.0.1/cb"), nil, 400, "invalid_redirect_uri"},
		{"another scheme", redirect("cursor://cb/x"), nil, 400, "invalid_redirect_uri"},
		{"a script", redirect("javascript:alert(1)"), nil, 400, "invalid_redirect_uri"},
		{"a name that begins like ours", redirect("http://localhost.evil.example.com/cb"), nil, 400, "invalid_redirect_uri"},
		{"a name below localhost", redirect("http://a.localhost/cb"), nil, 400, "invalid_redirect_uri"},
		{"every address", redirect("http://0.0.0.0/cb"), nil, 400, "invalid_redirect_uri"},
		{"a number as address", redirect("http://2130706433/cb"), nil, 400, "invalid_redirect_uri"},
		{"a mapped address", redirect("http://[::ffff:127.0.0.1]/cb"), nil, 400, "invalid_redirect_uri"},
		{"a fragment", redirect("http://127.0.0.1/cb#x"), nil, 400, "invalid_redirect_uri"},
		{"a user", redirect("http://a:b@127.0.0.1/cb"), nil, 400, "invalid_redirect_uri"},
		{"a control character", redirect(`http://127.0.0.1/\u0000`), nil, 400, "invalid_redirect_uri"},
		{"a name that hides", `{"client_name":"a\u202eb","redirect_uris":["http://127.0.0.1/cb"]}`, nil, 400, "invalid_client_metadata"},
		{
			"a long name", `{"client_name":"` + strings.Repeat("x", 81) + `","redirect_uris":["http://127.0.0.1/cb"]}`, nil, 400,
			"invalid_client_metadata",
		},
		{
			"client credentials", `{"grant_types":["client_credentials"],"redirect_uris":["http://127.0.0.1/cb"]}`, nil, 400,
			"invalid_client_metadata",
		},
		{"the implicit flow", `{"response_types":["token"],"redirect_uris":["http://127.0.0.1/cb"]}`, nil, 400, "invalid_client_metadata"},
		{"a form of a page", program, []string{"Content-Type", "text/plain"}, 403, "invalid_request"},
		{"another page", program, []string{"Origin", "https://evil.example.com"}, 403, "invalid_request"},
		{"no page", program, []string{"Origin", "null"}, 403, "invalid_request"},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := w.register(row.body, row.header...)
			if res.status != row.status || res.text(t, "error") != row.code || res.text(t, "client_id") != "" {
				t.Errorf("%d %s", res.status, res.body)
			}
			w.pass(2 * time.Second)
		})
	}
	mixed := w.register(`{"redirect_uris":["https://vscode.dev/redirect","http://[::1]:7/cb","http://127.0.0.1:1/cb","http://127.0.0.1:2/cb"]}`,
		"Origin", "http://localhost:6274")
	if got := fmt.Sprint(mixed.json(t)["redirect_uris"]); got != "[http://[::1]:7/cb http://127.0.0.1:1/cb http://127.0.0.1:2/cb]" {
		t.Errorf("what is left: %s", got)
	}
	if mixed.header.Get("Access-Control-Allow-Origin") != "http://localhost:6274" {
		t.Errorf("a page of this machine: %v", mixed.header)
	}
	cfg := testConfig()
	cfg.RegisterClients = false
	off := newWorld(t, cfg)
	if res := off.register(program); res.status != 404 {
		t.Errorf("where it is off: %d %s", res.status, res.body)
	}
	doc := off.do(http.MethodGet, oauthMetadata, nil).json(t)
	if doc["registration_endpoint"] != nil || doc["client_id_metadata_document_supported"] != nil {
		t.Errorf("where it is off: %v", doc)
	}
}

// Programs that register all the time neither fill the disk nor end the logins of others.
func TestRegistrationsAreBounded(t *testing.T) {
	w := newWorld(t, testConfig())
	first := w.register(program).text(t, "client_id")
	tokens := w.redeemPublic(first, w.authorize(registered(first)).Query().Get("code"))
	second := w.register(program).text(t, "client_id")
	for range 205 {
		w.pass(2 * time.Second)
		if res := w.register(program); res.status != http.StatusCreated {
			t.Fatalf("%d %s", res.status, res.body)
		}
	}
	if res := w.do(http.MethodGet, "/authorize?"+registered(second).Encode(), nil); res.status != 400 {
		t.Errorf("the oldest without a login is known: %d", res.status)
	}
	again := w.token(form("grant_type", account.Refresh, "client_id", first, "refresh_token", tokens.text(t, "refresh_token")))
	if again.status != 200 {
		t.Errorf("a client with a login: %d %s", again.status, again.body)
	}
	last := response{}
	for range 50 {
		last = w.register(program)
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("a flood: %d %s", last.status, last.body)
	}
}

func TestS3ResourcesRestrictTokens(t *testing.T) {
	w := newWorld(t, testConfig())
	id := w.register(program).text(t, "client_id")
	code := func(resources ...string) string {
		v := registered(id)
		v["resource"] = resources
		return w.authorize(v).Query().Get("code")
	}
	one, two := mesh+"/mcp", mesh+"/mcp/orchestrator"
	for _, row := range []struct {
		name             string
		requested, asked []string
		want             []string
	}{
		{"the same", []string{one}, []string{one}, []string{one}},
		{"none at the token endpoint", []string{one}, nil, []string{one}},
		{"none at all", nil, nil, []string{one}},
		{"one of two", []string{one, two}, []string{two}, []string{two}},
		{"both", []string{one, two}, nil, []string{one, two}},
		{"twice the same", []string{one, one}, nil, []string{one}},
		{"another name of this machine", []string{"http://LOCALHOST:8080/mcp/"}, nil, []string{"http://localhost:8080/mcp"}},
		{"the API", []string{mesh + "/"}, nil, []string{mesh}},
		{"a source", []string{mesh + "/mcp/orders"}, nil, []string{mesh + "/mcp/orders"}},
		{"another one", []string{one}, []string{two}, nil},
		{"one more", []string{one}, []string{one, two}, nil},
		{"the mesh", []string{one}, []string{account.Audience}, nil},
		{"nobody's", []string{one}, []string{"https://evil.example.com"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := form("grant_type", account.Code, "client_id", id, "code", code(row.requested...), "redirect_uri", "http://127.0.0.1:4000/cb",
				"code_verifier", verifier)
			v["resource"] = row.asked
			res := w.token(v)
			if row.want == nil {
				if res.status != 400 || res.text(t, "error") != "invalid_target" {
					t.Errorf("%d %s", res.status, res.body)
				}
				return
			}
			if got := audienceIn(t, res); !slices.Equal(got, row.want) {
				t.Errorf("audience %v, want %v", got, row.want)
			}
		})
	}
	// A login for two resources gives tokens for either, again and again; it never widens.
	refresh := w.redeemPublic(id, code(one, two), "resource", two).text(t, "refresh_token")
	for _, row := range []struct {
		resource string
		status   int
	}{{one, 200}, {two, 200}, {mesh, 400}, {"https://evil.example.com", 400}, {one, 200}} {
		res := w.token(form("grant_type", account.Refresh, "client_id", id, "refresh_token", refresh, "resource", row.resource))
		if res.status != row.status || res.status == 400 && res.text(t, "error") != "invalid_target" {
			t.Errorf("refresh for %s: %d %s", row.resource, res.status, res.body)
		}
		if res.status == 200 {
			refresh = res.text(t, "refresh_token")
			if got := audienceIn(t, res); !slices.Equal(got, []string{row.resource}) {
				t.Errorf("refresh for %s: %v", row.resource, got)
			}
		}
	}
	// Configured clients may restrict their tokens to an endpoint too.
	v := form("grant_type", account.ClientCredentials, "client_id", "robot", "client_secret", password, "resource", one)
	if got := audienceIn(t, w.token(v)); !slices.Equal(got, []string{one}) {
		t.Errorf("client credentials: %v", got)
	}
	// The mesh exchanges tokens for its endpoints as it does those for itself; a service cannot exchange them.
	alice := w.redeemPublic(id, code(one)).text(t, "access_token")
	exchange := form("grant_type", account.Exchange, "client_id", "mesh", "client_secret", password, "audience", "orders",
		"subject_token", alice, "subject_token_type", tokenType+"access_token")
	if got := audienceIn(t, w.token(exchange)); !slices.Equal(got, []string{"orders"}) {
		t.Errorf("exchange: %v", got)
	}
	if res := w.token(with(exchange, "client_id", "billing", "audience", "ledger")); res.status != 400 {
		t.Errorf("exchange by a service: %d %s", res.status, res.body)
	}
}

// documents serves documents about clients over TLS.
type documents struct {
	url     string
	hits    atomic.Int64
	replace func(w http.ResponseWriter, doc map[string]any) bool
}

func newDocuments(t *testing.T, w *world) *documents {
	t.Helper()
	d := &documents{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		d.hits.Add(1)
		doc := map[string]any{
			"client_id": "https://" + r.Host + r.URL.String(), "client_name": "Editor", "redirect_uris": []string{"http://127.0.0.1:4000/cb"},
			"grant_types": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_method": "none",
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Cache-Control", "max-age=300")
		if d.replace == nil || !d.replace(rw, doc) {
			_ = json.NewEncoder(rw).Encode(doc)
		}
	}))
	t.Cleanup(s.Close)
	d.url = s.URL + "/client.json"
	w.documents.Transport = s.Client().Transport
	w.documents.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return d
}

func TestAProgramIsKnownByADocument(t *testing.T) {
	w := newWorld(t, testConfig())
	d := newDocuments(t, w)
	login := w.do(http.MethodGet, "/authorize?"+registered(d.url).Encode(), nil).header.Get("Location")
	page := w.do(http.MethodGet, login, nil)
	host := strings.TrimPrefix(strings.TrimSuffix(d.url, "/client.json"), "https://")
	if !strings.Contains(page.body, "<dd>Editor</dd>") || !strings.Contains(page.body, "<dd>"+host+"</dd>") ||
		strings.Contains(page.body, "chose this name") {
		t.Errorf("page %s", page.body)
	}
	tokens := w.redeemPublic(d.url, w.authorize(registered(d.url)).Query().Get("code"))
	if _, claims := parts(t, tokens.text(t, "access_token")); claims["client_id"] != d.url || tokens.text(t, "refresh_token") == "" {
		t.Errorf("claims %v", claims)
	}
	if n := d.hits.Load(); n != 1 {
		t.Errorf("the document was fetched %d times", n)
	}
	d.replace = func(_ http.ResponseWriter, doc map[string]any) bool {
		doc["redirect_uris"] = []string{"http://127.0.0.1:4000/new"}
		return false
	}
	w.pass(6 * time.Minute)
	if res := w.do(http.MethodGet, "/authorize?"+registered(d.url).Encode(), nil); res.status != 400 || d.hits.Load() != 2 {
		t.Errorf("with a redirect URI that was withdrawn: %d, %d fetches", res.status, d.hits.Load())
	}
	w.restart(testConfig())
	again := w.token(form("grant_type", account.Refresh, "client_id", d.url, "refresh_token", tokens.text(t, "refresh_token")))
	if again.status != 200 || d.hits.Load() != 2 {
		t.Errorf("refreshed after a restart: %d %s, %d fetches", again.status, again.body, d.hits.Load())
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	w := newWorld(t, testConfig())
	d := newDocuments(t, w)
	set := func(key string, value any) func(http.ResponseWriter, map[string]any) bool {
		return func(_ http.ResponseWriter, doc map[string]any) bool { doc[key] = value; return false }
	}
	raw := func(status int, header, value, body string) func(http.ResponseWriter, map[string]any) bool {
		return func(w http.ResponseWriter, _ map[string]any) bool {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	for name, replace := range map[string]func(http.ResponseWriter, map[string]any) bool{
		"another client_id":       set("client_id", "https://evil.example.com/client.json"),
		"no client_id":            set("client_id", ""),
		"no name":                 set("client_name", ""),
		"no redirects":            set("redirect_uris", nil),
		"redirects elsewhere":     set("redirect_uris", []string{"https://evil.example.com/cb"}),
		"a secret":                set("client_secret", "x"),
		"a key":                   set("token_endpoint_auth_method", "private_key_jwt"),
		"a redirect":              raw(302, "Location", "https://evil.example.com/", ""),
		"an error":                raw(500, "X", "x", "{}"),
		"a page":                  raw(200, "Content-Type", "text/html", "<html>"),
		"no JSON":                 raw(200, "X", "x", "{"),
		"more than can be read":   raw(200, "X", "x", `{"x":"`+strings.Repeat("x", 20<<10)+`"}`),
		"a name with line breaks": set("client_name", "a\nb"),
	} {
		t.Run(name, func(t *testing.T) {
			d.replace = replace
			w.pass(2 * time.Second)
			if res := w.do(http.MethodGet, "/authorize?"+registered(d.url).Encode(), nil); res.status != 400 || res.header.Get("Location") != "" {
				t.Errorf("%d %s", res.status, res.body)
			}
		})
	}
	fetched := d.hits.Load()
	for _, id := range []string{
		strings.Replace(d.url, "https", "http", 1), strings.TrimSuffix(d.url, "client.json"), strings.TrimSuffix(d.url, "/client.json"),
		d.url + "#x", strings.Replace(d.url, "https://", "https://a@", 1), strings.Replace(d.url, "/client", "/a/../client", 1),
		d.url + strings.Repeat("x", 512),
	} {
		if res := w.do(http.MethodGet, "/authorize?"+registered(id).Encode(), nil); res.status != 400 {
			t.Errorf("%s: %d %s", id, res.status, res.body)
		}
	}
	if n := d.hits.Load(); n != fetched {
		t.Errorf("ids that are no documents were fetched %d times", n-fetched)
	}
}
