package property

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// cutsEnv is how many power cuts are tried, instead of usualCuts; seedEnv draws the same moments again.
	cutsEnv, seedEnv = "POWER_CUTS", "SEED"
	usualCuts        = 4
	usualVolumeCuts  = 2
	// askers is how many clients send requests at once: each has a turn with two calls, and a direct call.
	askers = 3
)

// power is a machine whose power is cut at one of its moments: an effect, an answer of the mesh, a flush of a database. What happens
// afterwards has not happened.
type power struct {
	disk disk

	mu   sync.Mutex
	left int // moments until the cut; negative = no cut
	seen int
	cut  bool
}

func newPower(d disk) *power { return &power{disk: d, left: -1} }

// moment passes a moment, and runs f in it if the power is still on.
func (p *power) moment(f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return nil
	}
	if p.left == 0 {
		p.cut = true
		return p.disk.cut()
	}
	p.left, p.seen = p.left-1, p.seen+1
	return f()
}

// arm has the power cut after so many moments.
func (p *power) arm(moments int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.seen = moments, 0
}

func (p *power) act(f func()) error { return p.moment(func() error { f(); return nil }) }

func (p *power) flush(service string) error {
	return p.moment(func() error { return p.disk.flush(service) })
}

// end cuts the power of a machine that came to its end.
func (p *power) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return nil
	}
	p.cut = true
	return p.disk.cut()
}

func (p *power) engine() engine {
	e := p.disk.engine()
	e.power = p
	return e
}

// answers makes each answer that a worker gets a moment.
type answers struct {
	grpc.ClientConnInterface
	power *power
}

// Invoke implements grpc.ClientConnInterface.
func (a answers) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := a.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	return errors.Join(err, a.power.act(func() {}))
}

// TestAPowerCutTakesNothingBack cuts the power at random moments of turns and direct calls that act once. On what is on the disk then, the
// clients send their requests again: everything that was accepted is there, nothing acts twice for one key, and of each effect the client
// gets the result or is told that the outcome is unknown.
func TestAPowerCutTakesNothingBack(t *testing.T) {
	keepClock(t)
	cutPowers(t, usualCuts, newFiles)
}

// TestAPowerCutOfPostgres does the same with a PostgreSQL server.
func TestAPowerCutOfPostgres(t *testing.T) {
	keepClock(t)
	image := filepath.Join(t.TempDir(), "empty")
	harness.Image(t, image, volumeSize)
	cutPowers(t, usualVolumeCuts, func(t *testing.T) disk { return newVolume(t, image) })
}

// cutPowers cuts the power of as many machines as it is told to, or a number that is usual.
func cutPowers(t *testing.T, cuts int, machine func(*testing.T) disk) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		_, err := fmt.Sscan(text, &seed)
		harness.Must(t, err)
	}
	if text := os.Getenv(cutsEnv); text != "" {
		_, err := fmt.Sscan(text, &cuts)
		harness.Must(t, err)
	}
	t.Logf("%s=%d", seedEnv, seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	moments := 0
	t.Run("no cut", func(t *testing.T) { moments = cutPower(t, machine, 1<<30) })
	for range cuts {
		if t.Failed() {
			return
		}
		at := dice.IntN(moments)
		t.Run(fmt.Sprintf("cut at %d of %d", at, moments), func(t *testing.T) { cutPower(t, machine, at) })
	}
}

// cutPower cuts the power at a moment, and returns how many moments it saw.
func cutPower(t *testing.T, machine func(*testing.T) disk, at int) int {
	p := newPower(machine(t))
	var before *blackout
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		before = newBlackout(t, p)
		before.makeAgents()
		for range askers {
			s, err := before.user.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: kid})
			harness.Must(t, err)
			before.sessions = append(before.sessions, s.GetId())
		}
		p.arm(at)
		before.ask()
		harness.Must(t, p.end())
		took = time.Since(began)
	})
	rest := newPower(p.disk.remains(t))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(took) // the clock goes on
		after := newBlackout(t, rest)
		after.sessions = before.sessions
		after.ask()
		for key, id := range before.accepted {
			if after.accepted[key] != id {
				t.Errorf("request %s was accepted as turn %s before the cut, and is turn %q after it", key, id, after.accepted[key])
			}
		}
		for asker := range askers {
			after.verify(before, asker)
		}
	})
	return p.seen
}

// blackout is a mesh before or after a power cut, and what its clients got before it.
type blackout struct {
	*mesh
	power    *power
	t        *testing.T
	sessions []string

	mu       sync.Mutex
	accepted map[string]string // turns by key
	answered map[string]bool   // keys of direct calls with a result
}

func newBlackout(t *testing.T, p *power) *blackout {
	return &blackout{mesh: newMesh(t, p.engine()), power: p, t: t, accepted: map[string]string{}, answered: map[string]bool{}}
}

// ask sends all requests at once, and returns when all that came of them is over.
func (b *blackout) ask() {
	var all sync.WaitGroup
	for i := range askers {
		all.Go(func() { b.turn(i) })
		all.Go(func() { b.invoke(i) })
	}
	all.Wait()
}

func calls(asker int) (first, second string) {
	return fmt.Sprintf("t%d.1", asker), fmt.Sprintf("t%d.2", asker)
}

// turn has a turn run to its end, on as many workers as it takes.
func (b *blackout) turn(asker int) {
	key := fmt.Sprintf("turn-%d", asker)
	first, second := calls(asker)
	got, err := b.user.turns.CreateTurn(b.t.Context(), &sessionsv1.CreateTurnRequest{
		SessionId: b.sessions[asker], IdempotencyKey: key,
		Input: fmt.Sprintf(`call:x__send {"n":%q} then call:x__send {"n":%q} then say:done`, first, second),
	})
	if err != nil {
		b.t.Errorf("%s: %v", key, err)
		return
	}
	_ = b.power.moment(func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.accepted[key] = got.GetId()
		return nil
	})
	t := &turn{id: got.GetId(), session: &session{id: b.sessions[asker], agent: kid}}
	for try := 0; ; try++ {
		k := b.work(fmt.Sprintf("worker-%d-%d", asker, try), t)
		k.allow(0)
		<-k.done
		k.cancel()
		now, err := b.user.turns.GetTurn(b.t.Context(), &sessionsv1.GetTurnRequest{TurnId: t.id})
		if err != nil || try > 5 {
			b.t.Errorf("turn %s does not end: %v, %v", t.id, now.GetStatus(), err)
			return
		}
		if now.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED {
			return
		}
		time.Sleep(leaseTTL) // of the workers before the cut
	}
}

// invoke calls a tool directly.
func (b *blackout) invoke(asker int) {
	key := fmt.Sprintf("call-%d", asker)
	args, err := structpb.NewStruct(map[string]any{"n": key})
	harness.Must(b.t, err)
	_, err = b.user.tools.InvokeTool(b.t.Context(), &registryv1.InvokeToolRequest{Name: "x__send", Arguments: args, IdempotencyKey: key})
	if err != nil && fault.CodeOf(err) != "outcome_unknown" {
		b.t.Errorf("%s: %v", key, err)
	}
	_ = b.power.moment(func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answered[key] = err == nil
		return nil
	})
}

// verify compares what the effects of a client's requests were with what it is told.
func (b *blackout) verify(before *blackout, asker int) {
	key := fmt.Sprintf("call-%d", asker)
	b.acted(before, key, b.answered[key])
	if before.answered[key] && !b.answered[key] {
		b.t.Errorf("%s had a result before the cut, and has none after it", key)
	}
	list, err := b.user.sessions.ListMessages(b.t.Context(), &sessionsv1.ListMessagesRequest{SessionId: b.sessions[asker], PageSize: 100})
	harness.Must(b.t, err)
	first, second := calls(asker)
	results, doubts := map[string]bool{}, 0
	for _, m := range list.GetMessages() {
		for _, part := range m.GetToolResult().GetContent() {
			results[part.GetText()] = true
			if strings.Contains(part.GetText(), "not known") {
				doubts++
			}
		}
	}
	for _, n := range []string{first, second} {
		b.acted(before, n, results["did "+n])
		if !results["did "+n] {
			doubts--
		}
	}
	if doubts != 0 {
		b.t.Errorf("the results of turn %d are %v: a call has neither a result nor a doubt", asker, results)
	}
}

// acted checks how often an effect took place: once if its client has the result, else at most once, and the client is told of the doubt.
func (b *blackout) acted(before *blackout, n string, told bool) {
	switch times := before.effects.of(n) + b.effects.of(n); {
	case times > 1:
		b.t.Errorf("%s acted %d times", n, times)
	case told && times != 1:
		b.t.Errorf("%s has a result, and acted %d times", n, times)
	}
}
