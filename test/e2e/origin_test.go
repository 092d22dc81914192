package e2e

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A web page of another origin can make a browser send requests; none may change anything, and no answer may be read.
func TestForeignWebPagesAreKeptOut(t *testing.T) {
	t.Parallel()
	c := client(t)
	foreign := []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		status                   []int
	}{
		{
			"a form of text", "POST", "/v1/chat", `{"message":"say:hi"}`, append([]string{"Content-Type", "text/plain"}, foreign...),
			[]int{403, 415},
		},
		{"a form as an old browser sends it", "POST", "/v1/chat", `{"message":"say:hi"}`, []string{"Content-Type", "text/plain"}, []int{415}},
		{"a form of fields", "POST", "/v1/chat", `message=hi`, []string{"Content-Type", "application/x-www-form-urlencoded"}, []int{415}},
		{"a form of files", "POST", "/v1/chat", `x`, []string{"Content-Type", "multipart/form-data; boundary=x"}, []int{415}},
		{"JSON", "POST", "/v1/chat", `{"message":"say:hi"}`, append([]string{"Content-Type", "application/json"}, foreign...), []int{403}},
		{"JSON with nothing but an origin", "POST", "/v1/chat", `{"message":"say:hi"}`, []string{"Origin", "https://evil.example"}, []int{403}},
		{"no body", "POST", "/v1/tools:refresh", ``, foreign, []int{403}},
		{"a patch", "PATCH", "/v1/agents/assistant", `{"description":"mine"}`, foreign, []int{403}},
		{"a removal", "DELETE", "/v1/agents/assistant", ``, foreign, []int{403}},
		{"a question first", "OPTIONS", "/v1/chat", ``, append([]string{"Access-Control-Request-Method", "POST"}, foreign...), []int{403, 405}},
		{
			"a name made to point here", "POST", "/v1/chat", `{"message":"say:hi"}`,
			[]string{"Host", "evil.example", "Origin", "http://evil.example"},
			[]int{421},
		},
		{"reading by such a name", "GET", "/v1/sessions", ``, []string{"Host", "evil.example"}, []int{421}},
		{"health by such a name", "GET", "/readyz", ``, []string{"Host", "evil.example"}, []int{421}},
		{"reading", "GET", "/v1/sessions", ``, foreign, []int{403}},
		{"reading as a page of no origin", "GET", "/v1/sessions", ``, []string{"Origin", "null"}, []int{403}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, c.Base+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+1 < len(tc.header); i += 2 {
				req.Header.Set(tc.header[i], tc.header[i+1])
			}
			req.Host = req.Header.Get("Host")
			resp, err := c.HTTP.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || !slices.Contains(tc.status, resp.StatusCode) {
				t.Errorf("got %d %s %v, want one of %v", resp.StatusCode, body, err, tc.status)
			}
			for name := range resp.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("it answers %s: %s", name, resp.Header.Get(name))
				}
			}
		})
	}
	if d := c.Must("GET", "/v1/agents/assistant", nil).Str("description"); d == "mine" {
		t.Error("the page changed the agent")
	}
}
