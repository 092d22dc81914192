package crash

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// stage is a model and a tool server for many turns, each with its own play. Their counts are the truth to compare the mesh's records with.
type stage struct {
	prop
	dir string

	mu    sync.Mutex
	plays map[string]*play
}

// play is the script of one turn: the model thinks aloud and calls a ONCE tool, then an idempotent one, then it answers.
type play struct {
	id string
	// gate holds the model's first answer after holdAt words; -1 lets it pass.
	gate   *gate
	holdAt int
	// pause is how long the model thinks over each word.
	pause time.Duration
	// release lets the ONCE tool return.
	release string
	// asked counts the requests of the turn that reached the model; each answer says by its prompt tokens which one it is for.
	asked atomic.Int32

	mu sync.Mutex
	// askedAt counts those of each model step; whole has the output tokens of the answers that the model gave to their end, by request.
	askedAt [playModelCalls]int
	whole   map[int]int
}

// promptBase is what the prompt tokens of a play's first request are above.
const promptBase = 1000

// playModelCalls and playToolCalls are what a play comes to when nothing happens to it.
const (
	playModelCalls = 3
	playToolCalls  = 2
)

var thoughts = strings.SplitAfter("let me see what the tool has to say", " ")

func newStage(t testing.TB) *stage {
	s := &stage{dir: t.TempDir(), plays: map[string]*play{}}
	s.ledger = filepath.Join(s.dir, "ledger")
	s.model = harness.NewModel(t, s.answer)
	return s
}

// play writes a play; its id is the input of its turn. Its tool returns at once unless toolWaits.
func (s *stage) play(t testing.TB, id string, holdAt int, toolWaits bool) *play {
	t.Helper()
	p := &play{id: id, gate: newGate(), holdAt: holdAt, release: filepath.Join(s.dir, id+".release"), whole: map[int]int{}}
	if !toolWaits {
		p.letToolReturn(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plays[id] = p
	return p
}

func (p *play) letToolReturn(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(p.release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// answer is the model: it knows the play by the turn's input, and the scene by the number of results.
func (s *stage) answer(_ int, messages []any) harness.Answer {
	var p *play
	results := 0
	for _, m := range messages {
		message, _ := m.(map[string]any)
		content, _ := message["content"].(string)
		s.mu.Lock()
		if known := s.plays[content]; known != nil {
			p, results = known, 0
		}
		s.mu.Unlock()
		if message["role"] == "tool" {
			results++
		}
	}
	if p == nil {
		return harness.Answer{Words: []string{"I do not know this play."}}
	}
	n := int(p.asked.Add(1))
	p.mu.Lock()
	p.askedAt[min(results, playModelCalls-1)]++
	p.mu.Unlock()
	a := harness.Answer{PromptTokens: promptBase + n}
	a.Sent = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.whole[n] = len(a.Words) + 1
	}
	switch results {
	case 0:
		a.Words = thoughts
		a.Calls = []harness.Call{{ID: "c1", Tool: "faulty__slow_once", Args: harness.JSON{
			"call_id": p.id + "-once", "argument": "pay", "release_file": p.release,
		}}}
		if p.holdAt >= 0 {
			a.Stop = p.gate.stopAfter(p.holdAt)
		}
	case 1:
		a.Calls = []harness.Call{{ID: "c2", Tool: "faulty__idempotent", Args: harness.JSON{"call_id": p.id + "-put", "argument": "note"}}}
	default:
		a.Words = words
	}
	if p.pause > 0 {
		a.Stop = slowly(p.pause)
	}
	return a
}

// slowly makes a model think between its words.
func slowly(pause time.Duration) func(int, <-chan struct{}) {
	return func(_ int, gone <-chan struct{}) {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-gone:
		}
	}
}

// calls lists what reached the tool server for one call of a play.
func (s *stage) calls(callID string) []harness.JSON {
	var of []harness.JSON
	for _, c := range s.acts() {
		if c.Str("call_id") == callID {
			of = append(of, c)
		}
	}
	return of
}
