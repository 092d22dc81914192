package sessions_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

const completed, failed = turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED

func TestTheEndOfATurnIsToldUntilItIsHeard(t *testing.T) {
	for name, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			o := hooked()
			o.postgres = postgres
			k := newKit(t, o)
			r := receive(t, http.StatusInternalServerError, http.StatusTemporaryRedirect)
			w := k.webhook(&sessionsv1.Webhook{Url: r.URL + "/hook?a=1"})
			turn := k.newTurn("hello")
			k.end(turn, completed, strings.Repeat("é", 40_000))
			first, second, third := r.next(t), r.next(t), r.next(t)
			if !first.genuine(w.GetSecret()) || !third.genuine(w.GetSecret()) || third.genuine(secretOf('x')) {
				t.Errorf("signatures: %v, %v", first.header, third.header)
			}
			if first.id() == "" || second.id() != first.id() || third.id() != first.id() || !bytes.Equal(third.body, first.body) {
				t.Errorf("ids %q, %q, %q", first.id(), second.id(), third.id())
			}
			if first.Type != "turn.completed" || first.Data["turn_id"] != turn.GetId() || first.Data["session_id"] != turn.GetSessionId() ||
				first.Data["status"] != "completed" || first.Data["output_truncated"] != true || len(first.Data["output"].(string)) != 64<<10 ||
				fmt.Sprint(first.Data["usage"].(map[string]any)["input_tokens"]) != "10" {
				t.Errorf("body %.300s", first.body)
			}
			d := k.deliveries(w.GetId(), settled(1))[0]
			testwant.Equal(t, "delivery: Id", d.GetId(), first.id())
			testwant.Equal(t, "delivery: Name(d.Status)", enum.Name(d.GetStatus()), "delivered")
			testwant.Equal(t, "delivery: Attempts", d.GetAttempts(), 3)
			testwant.Equal(t, "delivery: ResponseCode", d.GetResponseCode(), 204)
			testwant.Equal(t, "delivery: Error", d.GetError(), "")
			got, err := k.webhooks().GetWebhook(t.Context(), &sessionsv1.GetWebhookRequest{WebhookId: w.GetId()})
			must(t, err)
			if got.GetLastError() != "" || got.GetDisabled() {
				t.Errorf("webhook %v", got)
			}
		})
	}
}

func secretOf(b byte) string { return "whsec_" + strings.Repeat(string(b), 44) }

func TestWhoIsTold(t *testing.T) {
	k := newKit(t, hooked())
	k.agent("assistant")
	r := receive(t)
	hook := func(path string, w *sessionsv1.Webhook) {
		w.Url = r.URL + path
		k.webhook(w)
	}
	hook("/other-agent", &sessionsv1.Webhook{AgentId: "another"})
	hook("/completed", &sessionsv1.Webhook{Events: []string{"turn.completed", "turn.cancelled"}})
	hook("/disabled", &sessionsv1.Webhook{Disabled: true})
	hook("/failed", &sessionsv1.Webhook{AgentId: "assistant", Events: []string{"turn.failed"}})
	ses := k.session().GetId()
	var got []string
	for _, status := range []turnv1.TurnStatus{completed, failed} {
		k.end(k.turn(ses, "hello"), status, "an answer")
		got = append(got, r.next(t).Type)
	}
	if fmt.Sprint(got) != "[turn.completed turn.failed]" || len(r.got) > 0 {
		t.Errorf("told %v and %d more", got, len(r.got))
	}
}

func TestATurnNamesItsOwnAddress(t *testing.T) {
	k := newKit(t, hooked())
	k.agent("assistant")
	r := receive(t, http.StatusGone)
	ses := k.session().GetId()
	create := func(url string) (*sessionsv1.Turn, error) {
		return k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses, Input: "hello", WebhookUrl: url})
	}
	_, err := create(r.URL)
	wantFault(t, err, "failed_precondition")
	w := k.webhook(&sessionsv1.Webhook{PerTurn: true})
	_, err = create("nowhere")
	wantFault(t, err, "invalid_argument", "webhook_url")
	for range 2 {
		turn, err := create(r.URL)
		must(t, err)
		k.end(turn, completed, "an answer")
		if a := r.next(t); a.Data["turn_id"] != turn.GetId() || !a.genuine(w.GetSecret()) {
			t.Errorf("arrived %s", a.body)
		}
	}
	k.end(k.turn(ses, "without one"), completed, "an answer")
	all := k.deliveries(w.GetId(), settled(2))
	if enum.Name(all[0].GetStatus()) != "delivered" || enum.Name(all[1].GetStatus()) != "failed" || all[1].GetUrl() != r.URL ||
		all[1].GetAttempts() != 1 {
		t.Errorf("deliveries %v", all)
	}
	got, err := k.webhooks().GetWebhook(t.Context(), &sessionsv1.GetWebhookRequest{WebhookId: w.GetId()})
	must(t, err)
	if got.GetDisabled() {
		t.Error("one turn's address that is gone disables the others")
	}
}

func TestAReceiverThatIsGoneIsLeftAlone(t *testing.T) {
	k := newKit(t, hooked())
	r := receive(t, http.StatusGone)
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	turn := k.newTurn("hello")
	k.end(turn, completed, "an answer")
	first := r.next(t)
	d := k.deliveries(w.GetId(), settled(1))[0]
	got, err := k.webhooks().GetWebhook(t.Context(), &sessionsv1.GetWebhookRequest{WebhookId: w.GetId()})
	must(t, err)
	if enum.Name(d.GetStatus()) != "failed" || d.GetResponseCode() != 410 || !got.GetDisabled() ||
		!strings.Contains(got.GetLastError(), "410") {
		t.Errorf("delivery %v of %v", d, got)
	}
	if strings.Contains(d.GetError()+got.GetLastError(), "private") {
		t.Errorf("keeps what was answered: %v", d)
	}
	k.end(k.turn(turn.GetSessionId(), "again"), completed, "an answer")
	again := &sessionsv1.RedeliverWebhookRequest{WebhookId: w.GetId(), DeliveryId: d.GetId()}
	_, err = k.webhooks().RedeliverWebhook(t.Context(), again)
	wantFault(t, err, "failed_precondition")
	_, err = k.webhooks().UpdateWebhook(t.Context(), &sessionsv1.UpdateWebhookRequest{
		Webhook: &sessionsv1.Webhook{Id: w.GetId()}, UpdateMask: mask("disabled"),
	})
	must(t, err)
	_, err = k.webhooks().RedeliverWebhook(t.Context(), again)
	must(t, err)
	if second := r.next(t); second.id() != first.id() || !bytes.Equal(second.body, first.body) {
		t.Errorf("sent again under %q, first %q", second.id(), first.id())
	}
	if d := k.deliveries(w.GetId(), settled(1))[0]; enum.Name(d.GetStatus()) != "delivered" || d.GetAttempts() != 2 {
		t.Errorf("delivery %v", d)
	}
}

func TestANewSecretSignsBesideTheOld(t *testing.T) {
	k := newKit(t, hooked())
	k.agent("assistant")
	r := receive(t)
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	ses := k.session().GetId()
	told := func() arrived {
		k.end(k.turn(ses, "hello"), completed, "an answer")
		return r.next(t)
	}
	rotate := func(revoke bool) string {
		got, err := k.webhooks().RotateWebhook(t.Context(), &sessionsv1.RotateWebhookRequest{WebhookId: w.GetId(), RevokeOld: revoke})
		must(t, err)
		return got.GetSecret()
	}
	second := rotate(false)
	if a := told(); second == w.GetSecret() || !a.genuine(w.GetSecret()) || !a.genuine(second) {
		t.Errorf("after the rotation: %v", a.header)
	}
	third := rotate(true)
	if a := told(); a.genuine(second) || a.genuine(w.GetSecret()) || !a.genuine(third) {
		t.Errorf("after the old one was revoked: %v", a.header)
	}
}

// TestWhatIsDueIsSentByOne has two processes on one database: a webhook that one made is told of turns that end at the other.
func TestWhatIsDueIsSentByOne(t *testing.T) {
	o := hooked()
	o.postgres = true
	k := newKit(t, o)
	o.db, o.bus = k.db, k.bus
	other := newKit(t, o)
	r := receive(t)
	w := other.webhook(&sessionsv1.Webhook{Url: r.URL})
	k.agent("assistant")
	const turns = 20
	for range turns {
		k.end(k.turn(k.session().GetId(), "hello"), completed, "an answer")
	}
	for _, d := range k.deliveries(w.GetId(), settled(turns)) {
		if d.GetAttempts() != 1 || enum.Name(d.GetStatus()) != "delivered" {
			t.Errorf("delivery %v", d)
		}
	}
	if len(r.got) != turns {
		t.Errorf("%d arrived", len(r.got))
	}
}

// buffer is written by many.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestASecretRestsSealed(t *testing.T) {
	dir := t.TempDir()
	db := openURL(t, tables.SQLiteIn(t, dir), 0)
	log := &buffer{}
	o := hooked()
	o.db, o.log = db, log
	k := newKit(t, o)
	r := receive(t, 500)
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	turn := k.newTurn("hello")
	k.end(turn, completed, "an answer that is stored")
	k.deliveries(w.GetId(), settled(1))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	var stored []byte
	for _, f := range files {
		raw, err := os.ReadFile(f)
		must(t, err)
		stored = append(stored, raw...)
	}
	if !bytes.Contains(stored, []byte("an answer that is stored")) {
		t.Fatal("looked for the secret in the wrong files")
	}
	key := strings.TrimPrefix(w.GetSecret(), "whsec_")
	for name, data := range map[string][]byte{"database": stored, "log": log.b.Bytes()} {
		if bytes.Contains(data, []byte(key)) || bytes.Contains(data, []byte(strings.Repeat("k", 32))) {
			t.Errorf("the secret is in the %s", name)
		}
	}
}

func TestASecretSealedWithAnotherKeySaysSo(t *testing.T) {
	o := hooked()
	o.idle = true
	k := newKit(t, o)
	r := receive(t)
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	o.cfg.SealKey, o.cfg.Webhooks.GiveUp, o.db, o.bus, o.idle = secret.New(strings.Repeat("x", 32)), 1, k.db, k.bus, false
	other := newKit(t, o)
	other.end(other.newTurn("hello"), completed, "an answer")
	d := other.deliveries(w.GetId(), settled(1))[0]
	if enum.Name(d.GetStatus()) != "failed" || !strings.Contains(d.GetError(), "sessions.seal_key") || len(r.got) > 0 {
		t.Errorf("delivery %v", d)
	}
}

func TestADeliveryIsGivenUp(t *testing.T) {
	o := hooked()
	o.cfg.Webhooks.GiveUp, o.cfg.RestoreFor = 1, time.Millisecond // before the second attempt, and its session is erased at once
	k := newKit(t, o)
	r := receive(t, 503)
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	turn := k.newTurn("hello")
	k.end(turn, completed, "an answer")
	d := k.deliveries(w.GetId(), settled(1))[0]
	if enum.Name(d.GetStatus()) != "failed" || d.GetError() != "answered 503 Service Unavailable" || d.GetNextAttemptTime() != nil ||
		d.GetEndTime() == nil {
		t.Errorf("delivery %v", d)
	}
	_, err := k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: turn.GetSessionId()})
	must(t, err)
	k.deliveries(w.GetId(), settled(0))
}

func TestASubAgentsTurnIsNotTold(t *testing.T) {
	k := newKit(t, hooked())
	r := receive(t)
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	k.agent("helper")
	parent := k.worker(k.newTurn("hello"))
	parent.begin()
	l := parent.lease("tool-1.0")
	made, err := k.exec.CreateChild(t.Context(), &executionv1.CreateChildRequest{
		TurnId: parent.turn.GetId(), Step: "tool-1.0", Fence: l.GetFence(), CallId: "c", AgentId: "helper", Input: "help",
	})
	must(t, err)
	k.end(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()}, completed, "helped")
	parent.finish(failed, "error")
	if got := k.deliveries(w.GetId(), settled(1)); got[0].GetTurnId() != parent.turn.GetId() || got[0].GetType() != "turn.failed" {
		t.Errorf("told of %v", got)
	}
}

func TestWhatATurnWaitsForIsTold(t *testing.T) {
	k := newKit(t, hooked())
	r := receive(t)
	hook := k.webhook(&sessionsv1.Webhook{Url: r.URL, Events: []string{"approval.requested", "input.requested", "resolution.requested"}})
	w := k.withCalls()
	ask := func(key string, kind turnv1.WaitKind) *turnv1.WaitRef {
		return w.waits(key, &executionv1.WaitRequest{
			Kind: kind, CallId: "c" + key[len(key)-1:], Tool: "bank__pay",
			Message: strings.Repeat("m", 5000),
		})
	}
	for key, row := range map[string]struct {
		kind      turnv1.WaitKind
		typ, name string
	}{
		"tool-1.0": {turnv1.WaitKind_WAIT_KIND_APPROVAL, "approval.requested", "approval"},
		"tool-1.1": {turnv1.WaitKind_WAIT_KIND_INPUT, "input.requested", "input"},
		"tool-1.2": {turnv1.WaitKind_WAIT_KIND_RESOLUTION, "resolution.requested", "resolution"},
	} {
		ref := ask(key, row.kind)
		a := r.next(t)
		wait, _ := a.Data["wait"].(map[string]any)
		if a.Type != row.typ || a.Data["status"] != "waiting" || a.Data["end_time"] != nil || wait["kind"] != row.name ||
			wait["approval_id"] != ref.GetId() || len(wait["message"].(string)) != 4096 || !a.genuine(hook.GetSecret()) {
			t.Errorf("told %.300s", a.body)
		}
	}
}

// TestWhatASubAgentWaitsForIsToldOfTheAgentsAbove: the person who started the turn does not know the sub-agent, and must learn
// that it waits for them.
func TestWhatASubAgentWaitsForIsToldOfTheAgentsAbove(t *testing.T) {
	k := newKit(t, hooked())
	r := receive(t)
	named := k.webhook(&sessionsv1.Webhook{PerTurn: true})
	k.agent("helper")
	k.agent("boss")
	ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "boss"})
	must(t, err)
	turn, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "pay", WebhookUrl: r.URL})
	must(t, err)
	parent := k.worker(turn)
	above := k.webhook(&sessionsv1.Webhook{Url: r.URL, AgentId: "boss"})
	all := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	other := k.webhook(&sessionsv1.Webhook{Url: r.URL, AgentId: "assistant"})
	parent.begin()
	made, err := k.exec.CreateChild(t.Context(), &executionv1.CreateChildRequest{
		TurnId: parent.turn.GetId(), Step: "tool-1.0", Fence: parent.lease("tool-1.0").GetFence(), CallId: "c", AgentId: "helper", Input: "help",
	})
	must(t, err)
	child := k.worker(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()})
	child.begin()
	child.answer("infer-1", child.lease("infer-1"),
		&turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "c1", Tool: "bank__pay", ArgumentsJson: "{}"}}}, 0)
	child.waits("tool-1.0", approvalOf(nil))
	for _, hook := range []*sessionsv1.Webhook{above, all, named} {
		if got := k.deliveries(hook.GetId(), settled(1)); got[0].GetTurnId() != child.turn.GetId() || got[0].GetType() != "approval.requested" {
			t.Errorf("told of %v", got)
		}
		if a := r.next(t); a.Data["root_turn_id"] != parent.turn.GetId() || a.Data["agent_id"] != "helper" {
			t.Errorf("told %.300s", a.body)
		}
	}
	k.deliveries(other.GetId(), settled(0))
}
