package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const streamShield = `
policy:
  shields:
  - {name: cards, detector: card, action: redact, stage: [output]}
`

// TestAShieldedAnswerStreams: what precedes a possible finding reaches readers while the model is still writing, and half a finding does
// not, not even when the process is killed there.
func TestAShieldedAnswerStreams(t *testing.T) {
	t.Parallel()
	seen, half := make(chan struct{}), make(chan struct{})
	model := harness.NewModel(t, func(call int, _ []any) harness.Answer {
		answer := harness.Answer{Words: []string{"The number that you asked for is, as I said: ", "4111 1111", " 1111 1111", ", bye"}}
		if call > 1 {
			return answer
		}
		answer.Stop = func(sent int, done <-chan struct{}) {
			switch sent {
			case 1: // go on once a reader has the beginning
				select {
				case <-seen:
				case <-done:
				}
			case 2:
				close(half)
				<-done // the process is killed
			}
		}
		return answer
	})
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(config, []byte(streamShield), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	up := harness.Up(t, dir, model.Env(), "--config", config)
	up.Client.Must("POST", "/v1/agents:apply", harness.JSON{"yaml": "kind: agent\nid: clerk\nshields: [cards]\nmodel: openai/model\n"})
	turn := up.Client.Turn(up.Client.Session("clerk"), "which number?")
	first := up.Client.Watch("/v1/turns/" + turn + "/events")
	first.Until("the beginning", func(e harness.Event) bool {
		return e.Type == "message.delta" && strings.Contains(e.Data.Str("text"), "The number")
	})
	close(seen)
	<-half
	up.Kill()

	c := harness.Up(t, dir, model.Env(), "--config", config).Client
	second := c.Watch("/v1/turns/" + turn + "/events")
	const want = "The number that you asked for is, as I said: [redacted:card], bye"
	if end := c.Wait(turn); end.Str("output") != want {
		t.Errorf("the answer is %v", end)
	}
	for _, e := range append(first.Events(), second.End()...) {
		if strings.Contains(fmt.Sprint(e.Data), "4111") {
			t.Errorf("a reader gets a part of the number: %v", e)
		}
	}
}
