package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// moderations speaks OpenAI's POST /v1/moderations. What it answers about texts with the word "broken" is up to broken.
func moderations(t *testing.T, broken http.HandlerFunc) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		var q struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/moderations" ||
			r.Header.Get("Authorization") != "Bearer of-the-moderator" || q.Model != "omni-moderation-latest" {
			t.Errorf("%s %s, model %q, Authorization %q: %v", r.Method, r.URL, q.Model, r.Header.Get("Authorization"), err)
		}
		if slices.ContainsFunc(q.Input, func(text string) bool { return strings.Contains(text, "broken") }) {
			broken(w, r)
			return
		}
		results := []harness.JSON{}
		for _, text := range q.Input {
			violent, rude := strings.Contains(text, "weapon"), strings.Contains(text, "fool")
			results = append(results, harness.JSON{
				"flagged": violent || rude, "category_scores": harness.JSON{"violence": 0.9, "harassment": 0.1},
				"categories": harness.JSON{"violence": violent, "illicit/violent": violent, "harassment": rude, "hate": false},
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(harness.JSON{"id": "modr-1", "model": q.Model, "results": results})
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// moderated is a mesh with moderation at a server.
func moderated(t *testing.T, url, settings, more string) *harness.Client {
	t.Helper()
	shield := "{name: moderation, detector: moderation, model: openai/omni-moderation-latest, stage: [input], " + settings + "}"
	return shielded(t, "  - "+shield+"\n"+more+
		"inference:\n  providers: [{name: openai, kind: openai, base_url: '"+url+"/v1', api_key: of-the-moderator, models: [m]}]\n", "moderation")
}

// TestModerationShields: a moderation endpoint judges what users say; its categories are on record, and those that do not matter let pass.
func TestModerationShields(t *testing.T) {
	t.Parallel()
	url, requests := moderations(t, nil)
	c := moderated(t, url, "categories: [violence, illicit/violent]", "")
	if end, told := shieldEvents(t, c, "say:fine"); end.Str("output") != "fine" || told != "" {
		t.Errorf("nothing flagged: %v, %s", end, told)
	}
	if end, told := shieldEvents(t, c, "say:fool"); end.Str("output") != "fool" || told != "" {
		t.Errorf("a category that does not matter: %v, %s", end, told)
	}
	end, told := shieldEvents(t, c, "say:weapon")
	if end.Str("stop_reason") != "content_filter" || end.Str("output") != "" ||
		told != "input moderation block [illicit/violent violence]  false" {
		t.Errorf("flagged: %v, %s", end, told)
	}
	before := requests.Load()
	if _, again := shieldEvents(t, c, "say:weapon"); again != told || requests.Load() != before {
		t.Errorf("the same text again: %s, after %d requests", again, requests.Load()-before)
	}
}

// TestModerationThatFails: what cannot be moderated passes with a note, or not at all.
func TestModerationThatFails(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, reason string
		answer       http.HandlerFunc
	}{
		{name: "an error", reason: "cannot be asked", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{name: "no JSON", reason: "cannot be asked", answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>flagged: false</html>"))
		}},
		{name: "nothing about the text", reason: "moderated 0 texts of 1", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"results": []}`))
		}},
		{name: "no answer", reason: "no answer within 1s", answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url, _ := moderations(t, row.answer)
			c := moderated(t, url, "timeout: 1s, on_error: open", "  - {name: strict, detector: moderation, "+
				"model: openai/omni-moderation-latest, stage: [output], timeout: 1s}\n")
			end, told := shieldEvents(t, c, "say:broken")
			if end.Str("output") != "broken" || !strings.HasPrefix(told, "input moderation flag [unchecked] ") ||
				!strings.Contains(told, row.reason) || !strings.HasSuffix(told, " true") {
				t.Errorf("open: %v, %s", end, told)
			}
			c.Must("PATCH", "/v1/agents/clerk", harness.JSON{"shields": []string{"strict"}})
			end, told = shieldEvents(t, c, "say:broken")
			if text := fmt.Sprint(end["error"]); end.Str("status") != "failed" || end.Str("output") != "" || told != "" ||
				!strings.Contains(text, "shield_failed") || !strings.Contains(text, row.reason) {
				t.Errorf("closed: %v, %s", end, told)
			}
		})
	}
}
