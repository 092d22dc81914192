package main

import (
	"net/http"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
)

// TestWebPagesOfOthersAreKeptOutOfTheUI sends what pages of other origins can have a browser send.
func TestWebPagesOfOthersAreKeptOutOfTheUI(t *testing.T) {
	t.Parallel()
	c := start(t)
	const schedules, begin = "/api/v1/namespaces/default/schedules", "/api/v1/namespaces/default/workflows/forged"
	body := `{"workflowType":{"name":"Nothing"},"taskQueue":{"name":"nobody"}}`
	for _, row := range []struct {
		name, method, path, host string
		header                   []string
		want                     int
	}{
		{name: "the user's own browser", method: "GET", path: "/", header: []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Site", "none"}, want: 200},
		{name: "a page of the UI", method: "GET", path: schedules, header: []string{"Sec-Fetch-Site", "same-origin"}, want: 200},
		{name: "a program", method: "GET", path: schedules, want: 200},
		{name: "another name of loopback", method: "GET", path: schedules, host: "localhost:8233", want: 200},
		{name: "a name that was made to point here", method: "GET", path: schedules, host: "rebind.example", want: 421},
		{name: "a name that begins like ours", method: "GET", path: schedules, host: "localhost.evil.example", want: 421},
		{name: "another address of the network", method: "GET", path: schedules, host: "192.0.2.1", want: 421},
		{name: "a script", method: "GET", path: schedules, header: []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, want: 403},
		{name: "a script of another port", method: "GET", path: schedules, header: []string{"Origin", "http://127.0.0.1:1"}, want: 403},
		{name: "a form", method: "POST", path: begin, header: []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, want: 403},
		{name: "a form without origin", method: "POST", path: begin, header: []string{"Origin", "null", "Content-Type", "text/plain"}, want: 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), row.method, c.ready.UI+row.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(row.header); i += 2 {
			req.Header.Set(row.header[i], row.header[i+1])
		}
		if row.host != "" {
			req.Host = row.host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != row.want || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d, want %d; %v", row.name, resp.StatusCode, row.want, resp.Header)
		}
	}
	listed, err := c.frontend(t).ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
	if err != nil || len(listed.GetExecutions()) != 0 {
		t.Errorf("workflows of pages: %v, %v", listed.GetExecutions(), err)
	}
}
