package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// nonce stands in everything that a user, a model or a tool says in TestTemporalHoldsNoText.
const nonce = "canary-spoken-4Tz8QwYb"

// inClear has Temporal's database hold payloads in clear, so that it can be searched.
const inClear = "WINDLASS_TEMPORAL_ENCRYPT=false"

// TestTemporalHoldsNoText has users, models and tools say a word in every way there is, and looks for it in Temporal's database, where
// nothing is redacted and nothing deleted with its session.
func TestTemporalHoldsNoText(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // a provider that quotes the prompt
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"cannot answer %s","type":"invalid_request_error"}}`, nonce)
	}))
	t.Cleanup(echo.Close)
	up := harness.Up(t, t.TempDir(), []string{
		"OPENAI_API_KEY=unused", "OPENAI_BASE_URL=" + echo.URL, "WINDLASS_MODEL=builtin/scripted", inClear,
	})
	c := up.Client
	for _, a := range []harness.JSON{
		{"id": "plain", "tools": []string{"calculator__*", "notes__*"}},
		{"id": "asker", "tools": []string{"mesh__*"}},
		{"id": "guarded", "tools": []string{"calculator__*"}, "approvals": []harness.JSON{
			{"name": "all", "tools": []string{"*"}, "allow_requester": true, "reason": nonce + " is checked"},
		}},
		{"id": "planner", "strategy": "plan", "tools": []string{"calculator__*"}},
		{"id": "boss", "agents": []string{"plain"}},
		{"id": "refused", "model": "openai/any"},
	} {
		a["instructions"], a["description"], a["display_name"] = "Say "+nonce+".", nonce, nonce
		if a["model"] == nil {
			a["model"] = "builtin/scripted"
		}
		c.Must("POST", "/v1/agents", a)
	}
	end := func(turn string) harness.JSON {
		c.Watch("/v1/turns/" + turn + "/events").End()
		return c.Wait(turn)
	}
	for agent, input := range map[string]string{
		"plain": `call:notes__create {"title":"%[1]s","text":"%[1]s"} then call:calculator__evaluate {"expression":"%[1]s"} then slow:60 ` +
			`think:%[1]s say:"%[1]s a b c d e f g h i j"`,
		"boss":    `call:agent__plain {"message":"slow:60 say:\"%[1]s a b c d e f g h\""} then say:%[1]s`,
		"planner": "slow:150 1. say:%[1]s\n2. call:calculator__evaluate {\"expression\":\"%[1]s\"}\n3. say:%[1]s",
		"refused": "%[1]s",
	} {
		turn := end(c.Turn(c.Session(agent), fmt.Sprintf(input, nonce)))
		if want := map[string]string{"refused": "failed"}[agent]; want != "" && turn.Str("status") != want {
			t.Errorf("%s: %v", agent, turn)
		}
	}

	turn := c.Turn(c.Session("guarded"), `call:calculator__evaluate {"expression":"1+1"} then say:`+nonce)
	wait := asked(c, turn, "approval.requested", 1)[0]
	c.Must("POST", "/v1/turns/"+turn+":steer", harness.JSON{"input": "say:" + nonce})
	c.Must("POST", "/v1/approvals/"+wait.Str("id")+":decide", harness.JSON{"decision": "deny", "comment": nonce})
	end(turn)
	end(c.Must("POST", "/v1/turns/"+turn+":rerun", harness.JSON{}).Str("id"))
	turn = c.Turn(c.Session("asker"), fmt.Sprintf(`call:mesh__ask_user {"question":"%s?"}`, nonce))
	wait = asked(c, turn, "input.requested", 1)[0]
	c.Must("POST", "/v1/approvals/"+wait.Str("id")+":answer", harness.JSON{"content": harness.JSON{"answer": nonce}})
	end(turn)
	turn = c.Turn(c.Session("plain"), "slow:200 tokens:500")
	w := c.Watch("/v1/turns/" + turn + "/events")
	w.Until("a word", func(e harness.Event) bool { return e.Type == "message.delta" })
	w.Cut()
	c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{"reason": nonce})
	end(turn)
	c.Must("POST", "/v1/schedules", harness.JSON{"id": "often", "agent_id": "plain", "input": "say:" + nonce, "interval": "1h"})
	c.Must("POST", "/v1/schedules/often:run", harness.JSON{})

	if code := up.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
	files, err := filepath.Glob(filepath.Join(up.DataDir, "temporal.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("Temporal's database: %v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range forms(nonce) {
			if at := bytes.Index(raw, form); at >= 0 {
				t.Errorf("%s holds the word: …%q…", filepath.Base(file), raw[max(0, at-300):min(len(raw), at+60)])
			}
		}
	}
}
