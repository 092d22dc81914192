package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// modelFault is a model that misbehaves, and what the turn comes to all the same.
type modelFault struct {
	name string
	// answers are given one after the other, the last again and again.
	answers []harness.Answer
	// output is the turn's answer; code its error's where it fails.
	output, code, stop string
	// asked is how often the model was asked, counted how many of these calls the usage has.
	asked, counted int
	// resets is how often what was said was taken back.
	resets int
	// wait bounds the pause before the second request.
	wait [2]time.Duration
	// results is how many results of tools the model was told of in its last request, told a part of each.
	results int
	told    string
	// limit is the limit that stops the turn, and value what it allows.
	limit string
	value int
}

// openai writes the lines of a stream.
func openai(lines ...string) harness.Answer {
	return harness.Answer{Raw: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, l := range lines {
			fmt.Fprintf(w, "data: %s\n\n", l)
			w.(http.Flusher).Flush()
		}
	}}
}

func refuses(status int, header ...string) harness.Answer {
	return harness.Answer{Raw: func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "no", status)
	}}
}

// hangs says some words, and then nothing until its client has gone.
func hangs(words ...string) harness.Answer {
	return harness.Answer{Words: append(words, ""), Stop: func(sent int, gone <-chan struct{}) {
		if sent == len(words) {
			<-gone
		}
	}}
}

func says(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }

const (
	whole  = "all is well"
	finish = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	asks   = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	uuid   = `{"index":%d,"id":"%s","type":"function","function":{"name":"mesh__uuid","arguments":"%s"}}`
)

// calls asks for a tool once for each id, with arguments that differ where the ids do.
func calls(ids ...string) string {
	var list []string
	for i, id := range ids {
		list = append(list, fmt.Sprintf(uuid, i, id, `{\"for\":\"`+id+`\"}`))
	}
	return says(`{"tool_calls":[` + strings.Join(list, ",") + `]}`)
}

// patience is how long the mesh waits for a model that says nothing: longer than a busy machine keeps one that does from saying it.
const patience = 6 * time.Second

func modelFaults() []modelFault {
	fine := harness.Answer{Words: strings.SplitAfter(whole, " ")}
	many := make([]string, 64)
	for i := range many {
		many[i] = fmt.Sprintf("call-%d", i)
	}
	steps := make([]harness.Answer, 200)
	for i := range steps {
		steps[i] = openai(calls(fmt.Sprintf("step-%d", i)), asks)
	}
	long := strings.Repeat("x", 1<<20)
	return []modelFault{
		{
			name: "429 with a wait", answers: []harness.Answer{refuses(429, "Retry-After", "2"), fine}, output: whole, asked: 2, counted: 1,
			resets: 1, wait: [2]time.Duration{2 * time.Second, time.Minute},
		},
		{name: "429 for ever", answers: []harness.Answer{refuses(429, "Retry-After-Ms", "20")}, code: "rate_limited", asked: 5},
		{name: "500 and 502", answers: []harness.Answer{refuses(500), refuses(502), fine}, output: whole, asked: 3, counted: 1, resets: 2},
		{name: "503 for ever", answers: []harness.Answer{refuses(503, "Retry-After-Ms", "20")}, code: "model_unavailable", asked: 5},
		{
			name: "no first token", answers: []harness.Answer{hangs(), fine}, output: whole, asked: 2, counted: 1, resets: 1,
			wait: [2]time.Duration{patience, time.Minute},
		},
		{
			name: "silence in the middle", answers: []harness.Answer{hangs("half ", "of "), fine}, output: whole, asked: 2, counted: 2, resets: 1,
			wait: [2]time.Duration{patience, time.Minute},
		},
		{
			name: "a cut stream", answers: []harness.Answer{openai(says(`{"content":"half of "}`)), fine}, output: whole, asked: 2, counted: 2,
			resets: 1,
		},
		{
			name: "no JSON", answers: []harness.Answer{openai(says(`{"content":"half of "}`), "<html>"), fine}, output: whole, asked: 2, counted: 2,
			resets: 1,
		},
		{
			name: "invalid UTF-8", answers: []harness.Answer{openai(says("{\"content\":\"\xff\xfe\"}")), fine}, output: whole, asked: 2, counted: 1,
			resets: 1,
		},
		{
			name: "NUL and half a surrogate", answers: []harness.Answer{openai(says(`{"content":"a\u0000b\ud83dc"}`), finish)},
			output: "a\uFFFDb\uFFFDc", asked: 1, counted: 1,
		},
		{
			name: "a line of a megabyte", answers: []harness.Answer{openai(says(`{"content":"`+long+`"}`), finish)}, output: long, asked: 1,
			counted: 1,
		},
		{name: "arguments that are no JSON", answers: []harness.Answer{openai(says(`{"tool_calls":[`+fmt.Sprintf(uuid, 0, "a", "{oops")+`]}`),
			asks), fine}, output: whole, asked: 2, counted: 2, results: 1, told: "not valid JSON"},
		{
			name: "the same call id twice", answers: []harness.Answer{openai(calls("a", "a"), asks), fine}, output: whole, asked: 2, counted: 2,
			results: 2,
		},
		{
			name: "64 tools at once", answers: []harness.Answer{openai(calls(many...), asks), fine}, output: whole, asked: 2, counted: 2,
			results: 64,
		},
		{
			name: "the same call for ever", answers: []harness.Answer{openai(calls("a"), asks)}, stop: "repetition", limit: "max_identical_calls",
			value: 3, asked: 4, counted: 4, results: 3,
		},
		{name: "200 steps", answers: steps, stop: "max_steps", limit: "max_steps", value: 25, asked: 25, counted: 25, results: 24},
	}
}

// TestModelFaults has models misbehave, through the whole mesh.
func TestModelFaults(t *testing.T) {
	t.Parallel()
	rows := modelFaults()
	fake := &faultyModel{rows: map[string]modelFault{}, seen: map[string][]asking{}}
	for _, row := range rows {
		fake.rows[row.name] = row
	}
	model := harness.NewModel(t, fake.answer)
	up := harness.Up(t, t.TempDir(), append(model.Env(),
		"WINDLASS_INFERENCE_FIRST_TOKEN_TIMEOUT="+patience.String(), "WINDLASS_INFERENCE_IDLE_TIMEOUT="+patience.String()))
	up.Client.Must("POST", "/v1/agents", harness.JSON{"id": "faults", "tools": []string{"mesh__uuid"}})
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := harness.NewClient(t, up.Client.Base)
			turn := c.Turn(c.Session("faults"), row.name)
			w := c.Watch("/v1/turns/" + turn + "/events")
			row.check(t, c.Wait(turn), w.End(), fake.of(row.name))
		})
	}
}

func (row modelFault) check(t *testing.T, end harness.JSON, events []harness.Event, asked []asking) {
	t.Helper()
	harness.CheckStream(t, events)
	usage, _ := end["usage"].(map[string]any)
	failure, _ := end["error"].(map[string]any)
	switch {
	case row.code != "" && (end.Str("status") != "failed" || failure["code"] != row.code):
		t.Errorf("turn = %v, want it failed with %s", end, row.code)
	case row.stop != "" && end.Str("stop_reason") != row.stop:
		t.Errorf("turn = %v, want it stopped by %s", end, row.stop)
	case row.limit != "":
		checkLimit(t, end, events, row.limit, row.value)
	case row.output != "" && (end.Str("status") != "completed" || end.Str("output") != row.output):
		t.Errorf("turn %s with %.200q, want %.200q", end.Str("status"), end.Str("output"), row.output)
	}
	if row.asked > 0 && len(asked) != row.asked || row.counted > 0 && usage["model_calls"] != float64(row.counted) {
		t.Errorf("the model was asked %d times, want %d; usage is %v, want %d calls", len(asked), row.asked, usage, row.counted)
	}
	resets := 0
	for _, e := range events {
		if e.Type == "message.reset" {
			resets++
		}
	}
	if row.code == "" && resets != row.resets {
		t.Errorf("what was said was taken back %d times, want %d", resets, row.resets)
	}
	if row.wait[1] > 0 && len(asked) > 1 {
		if pause := asked[1].at.Sub(asked[0].at); pause < row.wait[0] || pause > row.wait[1] {
			t.Errorf("the second request came after %v, want %v", pause, row.wait)
		}
	}
	if most := busiest(events); most > 16 {
		t.Errorf("%d tools ran at once, 16 may", most)
	}
	if told := asked[len(asked)-1].told; row.results > 0 && len(told) != row.results {
		t.Errorf("the model was told of %d results, want %d", len(told), row.results)
	}
	for _, told := range asked[len(asked)-1].told {
		if !strings.Contains(told, row.told) {
			t.Errorf("the model was told %q, want %q in it", told, row.told)
		}
	}
}

// faultyModel knows by the input which row it plays.
type faultyModel struct {
	rows map[string]modelFault

	mu   sync.Mutex
	seen map[string][]asking
}

// asking is one request: when it came, and what results of tools were in it.
type asking struct {
	at   time.Time
	told []string
}

func (f *faultyModel) answer(_ int, messages []any) harness.Answer {
	var row modelFault
	a := asking{at: time.Now()}
	for _, m := range messages {
		message, _ := m.(map[string]any)
		content, _ := message["content"].(string)
		if known, ok := f.rows[content]; ok {
			row = known
		}
		if message["role"] == "tool" {
			a.told = append(a.told, content)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[row.name] = append(f.seen[row.name], a)
	return row.answers[min(len(f.seen[row.name]), len(row.answers))-1]
}

func (f *faultyModel) of(name string) []asking {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[name]
}
