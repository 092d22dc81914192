package model

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// ask makes one model call with the given number of tool results after the question, and returns the response's stream.
func ask(t *testing.T, c *http.Client, m *Server, question string, results int) string {
	messages := []message{{Role: "user", Content: question}}
	for range results {
		messages = append(messages, message{Role: "assistant"}, message{Role: "tool", Content: "7"})
	}
	body, err := json.Marshal(request{Model: Paced, Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+"/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return string(raw)
}

func TestModelAsksForTheToolThenAnswers(t *testing.T) {
	m, err := New(3, Pace{})
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	defer func() { _ = m.Close() }()
	first, second := ask(t, c, m, "What is 3 + 4?", 0), ask(t, c, m, "What is 3 + 4?", 1)
	if strings.Count(first, `"content"`) != 2 || !strings.Contains(first, `{\"expression\":\"3 + 4\"}`) ||
		!strings.Contains(first, "tool_calls\"}") {
		t.Errorf("first answer:\n%s", first)
	}
	if strings.Count(second, `"content"`) != 3 || strings.Contains(second, "expression") || !strings.Contains(second, `"stop"`) {
		t.Errorf("second answer:\n%s", second)
	}
	if again := ask(t, c, m, "What is 3 + 4? Calculate in 2 rounds.", 1); !strings.Contains(again, `{\"expression\":\"3 + 4 + 1\"}`) {
		t.Errorf("second round:\n%s", again)
	}
	for line := range strings.Lines(first) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("no JSON: %s", data)
		}
	}
}
