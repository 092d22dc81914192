package property

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// world is one sequence of commands: what was done, and what the model says of it.
type world struct {
	*mesh
	*rapid.T
	sessions []*session
	workers  [2]*worker
	opened   int // by clients
	names    int // given to calls, answers and workers
	// client are the calls that the client has answered, and whether it did what they ask for.
	client map[string]bool
}

// name returns a name that nothing else in any sequence has.
func (w *world) name() string {
	w.names++
	return fmt.Sprintf("%d-%d", w.mesh.sequence, w.names)
}

// Fatalf fails the sequence. What makes it the same failure when it is tried again is the format alone: ids differ each time.
func (w *world) Fatalf(format string, args ...any) {
	w.Helper()
	w.Logf(format, args...)
	w.Fatal(format)
}

// need fails the sequence with an error.
func (w *world) need(err error, what string) {
	w.Helper()
	if err != nil {
		w.Logf("%s: %v", what, err)
		w.Fatal("cannot " + what + ": " + fault.CodeOf(err))
	}
}

// settled waits until nothing moves, and takes over what has ended meanwhile.
func (w *world) settled() {
	synctest.Wait()
	for again := true; again; again = w.discover() {
		for _, s := range w.sessions {
			w.lookAt(s)
		}
	}
}

// lookAt takes over what has ended in a session.
func (w *world) lookAt(s *session) {
	for again := true; again; {
		again = false
		s.promote()
		for _, t := range s.turns {
			if t.end == nil && w.look(t) {
				again = true
			}
		}
	}
}

// look reads a turn that was not over, and reports whether it is now.
func (w *world) look(t *turn) bool {
	now, err := w.user.turns.GetTurn(w.ctx(), &sessionsv1.GetTurnRequest{TurnId: t.id})
	w.need(err, "read a turn")
	st := now.GetStatus()
	running := t.session.active() == t || st != turnv1.TurnStatus_TURN_STATUS_QUEUED && st != turnv1.TurnStatus_TURN_STATUS_CANCELLED &&
		w.reached(t)
	switch {
	case st == turnv1.TurnStatus_TURN_STATUS_COMPLETED || st == turnv1.TurnStatus_TURN_STATUS_FAILED:
		if !running {
			w.Fatalf("turn %s is %s though it was not its session's active one", t.id, st)
		}
		if t.cancelled {
			w.Fatalf("turn %s is %s though its cancel was accepted", t.id, st)
		}
		if st == turnv1.TurnStatus_TURN_STATUS_FAILED {
			w.Fatalf("turn %s failed: %v", t.id, now.GetError())
		}
	case st == turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		// The turn of a sub-agent ends with the one that began it.
		if p := t.session.parent; !t.cancelled && (p == nil || !p.cancelled && p.end == nil) {
			w.Fatalf("turn %s is cancelled, and nobody asked for it", t.id)
		}
	case st != turnv1.TurnStatus_TURN_STATUS_QUEUED && !running:
		w.Fatalf("turn %s is %s, but not its session's active one", t.id, st)
	default:
		t.waiting = now.GetWaitingFor()
		return false
	}
	t.end = now
	return true
}

// reached makes a turn its session's active one if those before it have ended since they were looked at, and reports whether it is.
func (w *world) reached(t *turn) bool {
	for t.session.active() != t {
		before := t.session.active()
		if before != nil && !w.look(before) {
			return false
		}
		if t.session.promote(); t.session.active() == nil {
			return false
		}
	}
	return true
}

// check holds the sessions against the model.
func (w *world) check() {
	w.settled()
	for _, s := range w.sessions {
		got, err := w.user.sessions.GetSession(w.ctx(), &sessionsv1.GetSessionRequest{SessionId: s.id})
		w.need(err, "read a session")
		want := ""
		if t := s.active(); t != nil {
			want = t.id
		}
		if got.GetActiveTurnId() != want {
			w.Fatalf("session %s: active turn %q, want %q", s.id, got.GetActiveTurnId(), want)
		}
	}
}

// refused wants an error of a code.
func (w *world) refused(err error, code, what string) {
	w.Helper()
	if fault.CodeOf(err) != code {
		w.Logf("%s: %v, want %s", what, err, code)
		w.Fatal("not refused: " + what)
	}
}

// session returns a session of a user's.
func (w *world) session() *session {
	var users []*session
	for _, s := range w.sessions {
		if s.parent == nil {
			users = append(users, s)
		}
	}
	return rapid.SampledFrom(users).Draw(w.T, "session")
}

// any returns a turn of any session, nil when there is none.
func (w *world) any(fits func(*turn) bool) *turn {
	var all []*turn
	for _, s := range w.sessions {
		for _, t := range s.turns {
			if fits(t) {
				all = append(all, t)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return rapid.SampledFrom(all).Draw(w.T, "turn")
}

// likely returns a turn as any does, but mostly one that somebody works on.
func (w *world) likely() *turn {
	if rapid.IntRange(0, 3).Draw(w.T, "any") < 3 {
		if t := w.any(w.under); t != nil {
			return t
		}
	}
	return w.any(func(*turn) bool { return true })
}

// under reports whether a turn is under way in a worker.
func (w *world) under(t *turn) bool {
	return t.end == nil && slices.ContainsFunc(w.workers[:], func(k *worker) bool { return k != nil && k.turn == t && !k.over() })
}

func unfinished(t *turn) bool { return t.end == nil }

// create opens a session.
func (w *world) create() {
	if w.opened >= 3 {
		return
	}
	w.opened++
	agent := rapid.SampledFrom([]string{"parks", "reports", "serial", "boss"}).Draw(w.T, "agent")
	got, err := w.user.sessions.CreateSession(w.ctx(), &sessionsv1.CreateSessionRequest{AgentId: agent})
	w.need(err, "open a session")
	s := &session{id: got.GetId(), agent: agent}
	if rapid.IntRange(0, 3).Draw(w.T, "budget") == 0 {
		w.limit(s)
	}
	w.add(s)
}

// limit returns a session a budget.
func (w *world) limit(s *session) {
	s.maxCalls = rapid.IntRange(1, 4).Draw(w.T, "calls of a budget")
	b, err := w.user.budgets.CreateBudget(w.ctx(), &sessionsv1.CreateBudgetRequest{Budget: &sessionsv1.Budget{
		Scope: "session", Target: s.id, MaxToolCalls: int64(s.maxCalls),
	}})
	w.need(err, "make a budget")
	s.budget = b.GetId()
}

func (w *world) add(s *session) {
	s.watcher = w.mesh.watch(s.id)
	w.sessions = append(w.sessions, s)
}

// program draws some input, which may ask for more tools than all turns have.
func (w *world) program(stages int, more ...string) program {
	tool := rapid.SampledFrom(append([]string{"send", "risky", "read", "put", "ask", "doubt"}, more...))
	return build(rapid.SliceOfN(rapid.SliceOfN(tool, 1, 3), 0, stages).Draw(w.T, "calls"), w.name)
}

// send sends input in one of the modes.
func (w *world) send() {
	s := w.session()
	more := []string{mine}
	if s.agent == "boss" {
		more = append(more, delegate, delegate, delegate, delegate)
	}
	p := w.program(2, more...)
	mode := rapid.SampledFrom([]string{"", "enqueue", "enqueue", "reject", "steer", "steer", "interrupt", "fork"}).Draw(w.T, "mode")
	req := &sessionsv1.CreateTurnRequest{
		SessionId: s.id, Input: p.text, Mode: mode, IdempotencyKey: w.name(),
		Tools: []*sessionsv1.ClientTool{{Name: mine}},
	}
	got, err := w.user.turns.CreateTurn(w.ctx(), req)
	active := s.active()
	applies := active != nil && !active.cancelled
	switch {
	case mode == "fork":
		w.need(err, "send to a fork")
		s = w.forked(s, got.GetSessionId(), 0, got.GetId())
	case mode == "reject" && active != nil:
		w.refused(err, "turn_active", "send while a turn is active")
		return
	case mode == "steer" && applies:
		w.need(err, "send as more input")
		if got.GetId() != active.id {
			w.Fatalf("input for turn %s went to %s", active.id, got.GetId())
		}
		w.steered(active, p)
		return
	case active != nil && s.open() >= maxQueued:
		w.refused(err, "rate_limited", "send to a session with many turns")
		return
	default:
		w.need(err, "send")
	}
	t := &turn{id: got.GetId(), session: s, input: p.text, calls: p.calls, urgent: mode == "interrupt"}
	s.turns = append(s.turns, t)
	if mode == "interrupt" && active != nil {
		active.cancelled = true
	}
	again, err := w.user.turns.CreateTurn(w.ctx(), req)
	w.need(err, "send again")
	if again.GetId() != t.id {
		w.Fatalf("the same request made turns %s and %s", t.id, again.GetId())
	}
}

// steer sends more input to a turn.
func (w *world) steer() {
	t := w.likely()
	if t == nil {
		return
	}
	p := w.program(1)
	_, err := w.user.turns.SteerTurn(w.ctx(), &sessionsv1.SteerTurnRequest{TurnId: t.id, Input: p.text})
	switch {
	case t.end != nil || t.cancelled:
		w.refused(err, "turn_ended", "steer a turn that ends")
	case t.session.active() != t:
		w.refused(err, "failed_precondition", "steer a turn that waits")
	case !w.endedMeanwhile(t, err):
		w.need(err, "steer")
		w.steered(t, p)
	}
}

// endedMeanwhile reports whether a request was refused because its turn has ended since the model last looked: a worker may go on while the
// request is under way.
func (w *world) endedMeanwhile(t *turn, err error) bool {
	if fault.CodeOf(err) != "turn_ended" {
		return false
	}
	w.settled()
	return t.end != nil
}

func (w *world) steered(t *turn, p program) {
	t.steers = append(t.steers, p.text)
	t.calls = append(t.calls, p.calls...)
	w.tell(t)
}

// tell has some of the turn's workers hear of news.
func (w *world) tell(t *turn) {
	for _, k := range w.workers {
		if k != nil && k.turn == t && rapid.Bool().Draw(w.T, "hears") {
			k.tell()
		}
	}
}

// cancel asks for a turn's end.
func (w *world) cancel() {
	t := w.likely()
	if t == nil {
		return
	}
	_, err := w.user.turns.CancelTurn(w.ctx(), &sessionsv1.CancelTurnRequest{TurnId: t.id})
	if t.end != nil {
		w.refused(err, "turn_ended", "cancel a turn that is over")
		return
	}
	if w.endedMeanwhile(t, err) {
		return
	}
	w.need(err, "cancel")
	t.cancelled = true
	w.tell(t)
}

// decide answers something that a turn waits for.
func (w *world) decide() {
	t := w.any(func(t *turn) bool { return len(t.waiting) > 0 })
	if t == nil {
		return
	}
	id := rapid.SampledFrom(t.waiting).Draw(w.T, "approval")
	a, err := w.user.approvals.GetApproval(w.ctx(), &sessionsv1.GetApprovalRequest{ApprovalId: id})
	w.need(err, "read an approval")
	yes := rapid.Bool().Draw(w.T, "yes")
	if at := a.GetExpireTime(); at != nil && !time.Now().Before(at.AsTime()) {
		w.refused(w.answer(a, yes), "failed_precondition", "answer too late")
		return
	}
	err = w.answer(a, yes)
	if w.closedMeanwhile(id, err) {
		return
	}
	w.need(err, "answer")
	w.tell(t)
	if rapid.Bool().Draw(w.T, "changes the decision") && w.answer(a, !yes) == nil {
		w.Fatalf("%s took an answer and its contrary", id)
	}
}

func (w *world) answer(a *sessionsv1.Approval, yes bool) (err error) {
	word := func(first, second string) string {
		if yes {
			return first
		}
		return second
	}
	switch enum.Name(a.GetKind()) {
	case "approval":
		_, err = w.user.approvals.DecideApproval(w.ctx(), &sessionsv1.DecideApprovalRequest{
			ApprovalId: a.GetId(), Decision: word("approve", "deny"), ArgumentsHash: a.GetArgumentsHash(),
		})
	case "input":
		req := &sessionsv1.AnswerApprovalRequest{ApprovalId: a.GetId(), Action: word("accept", "decline")}
		if yes {
			req.Content = &structpb.Struct{}
		}
		_, err = w.user.approvals.AnswerApproval(w.ctx(), req)
	case "client_tool":
		n := a.GetArguments().GetFields()["n"].GetStringValue()
		_, err = w.user.approvals.AnswerApproval(w.ctx(), &sessionsv1.AnswerApprovalRequest{
			ApprovalId: a.GetId(), Result: word("did ", "cannot do ") + n, IsError: !yes,
		})
		if err == nil {
			w.client[n] = yes
		}
	case "resolution":
		_, err = w.user.turns.ResolveToolCall(w.ctx(), &sessionsv1.ResolveToolCallRequest{
			TurnId: a.GetTurnId(), CallId: a.GetCallId(),
			Outcome: word("not_done", rapid.SampledFrom([]string{"done", "give_up"}).Draw(w.T, "outcome")),
		})
	default:
		w.Fatalf("what is %v", a)
	}
	return err
}

// work lets a worker go on, or a new one begin with some turn.
func (w *world) work() {
	i := rapid.IntRange(0, len(w.workers)-1).Draw(w.T, "worker")
	steps := rapid.IntRange(0, 9).Draw(w.T, "steps")
	if w.workers[i] == nil || w.workers[i].over() {
		t := w.any(unfinished)
		if t == nil {
			return
		}
		w.workers[i] = w.mesh.work(w.name(), t)
	}
	w.workers[i].allow(steps)
}

// crash kills a worker.
func (w *world) crash() {
	i := rapid.IntRange(0, len(w.workers)-1).Draw(w.T, "worker")
	if w.workers[i] != nil {
		w.workers[i].crash()
		<-w.workers[i].done
		w.workers[i] = nil
	}
}

// pass lets time go by: less than a workflow's start takes, more than a lease lasts, more than leave may be given.
func (w *world) pass() {
	time.Sleep(rapid.SampledFrom([]time.Duration{10 * time.Millisecond, leaseTTL + time.Second, expiry + 6*time.Second}).Draw(w.T, "time"))
}

// restart restarts a replica of the sessions service.
func (w *world) restart() {
	w.mesh.restart(rapid.IntRange(0, len(w.mesh.homes)-1).Draw(w.T, "replica"))
}

// seldom does it once in three times.
func (w *world) seldom(f func()) func() {
	return func() {
		if rapid.IntRange(0, 2).Draw(w.T, "seldom") == 2 {
			f()
		}
	}
}

// fork makes a session of the beginning of another one.
func (w *world) fork() {
	s := w.session()
	if w.opened >= 5 {
		return
	}
	w.opened++
	now, err := w.user.sessions.GetSession(w.ctx(), &sessionsv1.GetSessionRequest{SessionId: s.id})
	w.need(err, "read a session")
	seq := rapid.Uint32Range(0, now.GetLastSeq()).Draw(w.T, "seq")
	got, err := w.user.sessions.ForkSession(w.ctx(), &sessionsv1.ForkSessionRequest{SessionId: s.id, Seq: seq})
	w.need(err, "fork")
	w.forked(s, got.GetId(), seq, "")
}

// forked takes a fork over, and holds it against what it was forked from. The turn that it was forked for has not run.
func (w *world) forked(from *session, id string, seq uint32, turn string) *session {
	s := &session{id: id, agent: from.agent}
	got := slices.DeleteFunc(w.messages(id), func(m *turnv1.Message) bool { return m.GetTurnId() == turn })
	w.checkFork(from, got, seq)
	s.before = users(got)
	w.add(s)
	return s
}

// finish lets everything come to its end.
func (w *world) finish() {
	for i, k := range w.workers {
		if k == nil {
			continue
		}
		if rapid.Bool().Draw(w.T, fmt.Sprintf("worker %d dies", i)) {
			k.crash()
		} else {
			k.allow(0)
		}
	}
	for round := 0; ; round++ {
		w.check()
		var open []*turn
		for _, s := range w.sessions {
			if t := s.active(); t != nil {
				open = append(open, t)
			}
		}
		if len(open) == 0 {
			break
		}
		if round > 100 {
			w.Fatalf("turn %s does not come to its end", open[0].id)
		}
		for _, t := range open {
			w.push(t, round)
		}
	}
	for _, k := range w.workers {
		if k != nil {
			k.crash()
			<-k.done
		}
	}
}

// push does what a turn needs to go on.
func (w *world) push(t *turn, round int) {
	for _, id := range t.waiting {
		a, err := w.user.approvals.GetApproval(w.ctx(), &sessionsv1.GetApprovalRequest{ApprovalId: id})
		w.need(err, "read an approval")
		if enum.Name(a.GetStatus()) != "pending" {
			continue // its time was up while others were pushed
		}
		if enum.Name(a.GetKind()) == "approval" && rapid.IntRange(0, 3).Draw(w.T, "expires") == 0 {
			time.Sleep(expiry + 6*time.Second)
			return // others may have expired too
		}
		err = w.answer(a, round < 20 && rapid.Bool().Draw(w.T, "yes"))
		if w.closedMeanwhile(id, err) {
			continue
		}
		w.need(err, "answer at last")
	}
	k := w.mesh.work(w.name(), t)
	k.allow(0)
	time.Sleep(leaseTTL + 500*time.Millisecond)
	k.crash()
	<-k.done
}

// closedMeanwhile reports whether an answer was refused because its time was up, or its turn was cancelled, since the model last looked:
// time passes while a client connects again, and workers go on.
func (w *world) closedMeanwhile(approval string, err error) bool {
	if fault.CodeOf(err) != "approval_resolved" {
		return false
	}
	a, err := w.user.approvals.GetApproval(w.ctx(), &sessionsv1.GetApprovalRequest{ApprovalId: approval})
	w.need(err, "read an approval")
	status := enum.Name(a.GetStatus())
	if status != "expired" && status != "cancelled" {
		w.Logf("the approval is %s", status)
		return false
	}
	return true
}

func (w *world) actions() map[string]func(*rapid.T) {
	bind := func(f func()) func(*rapid.T) { return func(t *rapid.T) { w.T = t; f() } }
	return map[string]func(*rapid.T){
		"create": bind(w.create), "send": bind(w.send), "send more": bind(w.send), "steer": bind(w.steer), "cancel": bind(w.seldom(w.cancel)),
		"decide": bind(w.decide), "decide more": bind(w.decide), "work": bind(w.work), "work on": bind(w.work), "work more": bind(w.work),
		"work all": bind(w.work), "crash": bind(w.crash), "pass": bind(w.pass), "restart": bind(w.seldom(w.restart)),
		"fork": bind(w.seldom(w.fork)),
		"":     bind(w.check),
	}
}

// end leaves nothing behind, whatever became of the sequence.
func (w *world) end() {
	for _, k := range w.workers {
		if k != nil {
			k.crash()
			<-k.done
		}
	}
	for _, s := range w.sessions {
		s.watcher.stop()
	}
	w.abandon()
}
