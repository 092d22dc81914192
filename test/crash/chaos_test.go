package crash

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// seedEnv repeats a run.
	seedEnv = "WINDLASS_CHAOS_SEED"
	// seedFile holds runs that failed once: a seed and a duration on each line, and why they are kept.
	seedFile = "testdata/seeds"
	// inFlight is how many turns go on at any time, killEvery how often something happens to a process.
	inFlight  = 20
	killEvery = 5 * time.Second
	// thinking makes a turn take some seconds.
	thinking = 250 * time.Millisecond
	// freezeTime is longer than a lease.
	freezeTime = 4 * time.Second
	// lastTurns bounds the wait for what is in flight when the deaths are over.
	lastTurns = 2 * time.Minute
)

// TestChaos kills processes at random while turns are in flight: no turn may be lost, and all books must agree in the end.
func TestChaos(t *testing.T) {
	text := os.Getenv(chaosEnv)
	if text == "" {
		t.Skip("`make chaos` runs it")
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", chaosEnv, err)
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaos(t, seed, duration) })
}

// TestKeptSeeds repeats the runs that failed once.
func TestKeptSeeds(t *testing.T) {
	if os.Getenv(chaosEnv) == "" {
		t.Skip("`make chaos` runs them")
	}
	file, err := os.Open(seedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for sc := bufio.NewScanner(file); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var seed uint64
		var text string
		if _, err := fmt.Sscan(line, &seed, &text); err != nil {
			t.Fatalf("%s: %q: %v", seedFile, line, err)
		}
		duration, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %q: %v", seedFile, line, err)
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaos(t, seed, duration) })
	}
}

// riot is one run of chaos.
type riot struct {
	t testing.TB
	h *theatre

	mu     sync.Mutex
	trials []*trial
}

func chaos(t *testing.T, seed uint64, duration time.Duration) {
	slots <- struct{}{}
	defer func() { <-slots }()
	t.Logf("SEED=%d DURATION=%v", seed, duration)
	c := &riot{t: t, h: newTheatre(t)}
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	late, cancel := context.WithTimeout(t.Context(), duration+lastTurns)
	defer cancel()
	var actors sync.WaitGroup
	for i := range inFlight {
		actors.Go(func() { c.act(ctx, late, i) })
	}
	deaths := c.kill(ctx, rand.New(rand.NewPCG(seed, 0)))
	actors.Wait()
	t.Logf("%d turns; %v", len(c.trials), deaths)
	c.judge()
}

// act has one turn after the other until ctx ends, and watches the last one to its end.
func (c *riot) act(ctx, late context.Context, actor int) {
	client := harness.NewClient(c.t, c.h.Client.Base)
	for n := 0; ctx.Err() == nil; n++ {
		p := c.h.play(c.t, fmt.Sprintf("actor-%d-%d", actor, n), -1, false)
		p.pause = thinking
		r := &trial{h: c.h, play: p, scene: &scene{t: c.t, Mesh: c.h.Mesh, prop: c.h.prop, client: client}}
		if r.session = c.session(late, client); r.session == "" {
			return
		}
		r.post()
		select {
		case r.turn = <-r.posting:
		case <-late.Done():
			c.t.Errorf("%s is not accepted", p.id)
			return
		}
		r.watcher = client.Watch("/v1/turns/" + r.turn + "/events")
		c.mu.Lock()
		c.trials = append(c.trials, r)
		c.mu.Unlock()
		select {
		case <-r.watcher.Done():
		case <-late.Done():
			c.t.Errorf("turn %s does not end; there were:\n%s", r.turn, r.story())
			return
		}
	}
}

// session opens a session, however often that takes.
func (c *riot) session(ctx context.Context, client *harness.Client) string {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		status, body, err := client.Do(ctx, "POST", "/v1/sessions", harness.JSON{"agent_id": "a"})
		if err == nil && status < http.StatusMultipleChoices {
			return body.Str("id")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Errorf("no session can be opened: %d %v %v", status, body, err)
			return ""
		}
	}
}

// kill has something happen to a process now and then, and counts.
func (c *riot) kill(ctx context.Context, dice *rand.Rand) map[string]int {
	deaths := map[string]int{}
	names := c.h.Names()
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return deaths
		case <-tick.C:
		}
		name := names[dice.IntN(len(names))]
		if strings.HasPrefix(name, "worker-") && dice.IntN(3) == 0 {
			deaths["frozen "+name]++
			c.freeze(ctx, name)
			continue
		}
		deaths[name]++
		c.h.Restart(name)
	}
}

func (c *riot) freeze(ctx context.Context, name string) {
	c.h.Process(name).Signal(syscall.SIGSTOP)
	defer c.h.Process(name).Signal(syscall.SIGCONT)
	timer := time.NewTimer(freezeTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge compares the books of all turns.
func (c *riot) judge() {
	c.t.Helper()
	turns := make([]string, 0, len(c.trials))
	c.h.final = c.h.acts() // read once, for all of them
	for _, r := range c.trials {
		turns = append(turns, r.turn)
		failed := c.t.Failed()
		r.verify(leeway{inDoubt: true, unreached: true, lossy: true})
		if !failed && c.t.Failed() {
			c.t.Errorf("that was turn %s; its watcher saw:\n%s", r.turn, r.story())
		}
	}
	c.h.Replay(c.t, turns...)
}
