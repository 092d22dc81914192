package sessions_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func (k *kit) artifacts(p *policyv1.Principal) sessionsv1.ArtifactServiceClient {
	return sessionsv1.NewArtifactServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// runWith does a turn whose one tool result has an artifact.
func (w *worker) runWith(id string, data []byte) {
	w.t.Helper()
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{
		CallId: "c1", Tool: "files__read",
		ArgumentsJson: "{}",
	}}}, 0)
	l := w.lease("tool-1.0")
	w.commit("tool-1.0", l, func(req *executionv1.CommitStepRequest) {
		req.Messages = []*turnv1.Message{{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			CallId: "c1", Tool: "files__read", Content: executiontest.Text("the ends"), Truncated: true, ArtifactIds: []string{id},
		}}}
		req.Artifacts = []*executionv1.NewArtifact{{
			Id: id, Name: "files__read.txt", MediaType: "text/plain; charset=utf-8", Data: data,
			CallId: "c1",
		}}
	})
	w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("read")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
}

func TestArtifactsBelongToTheirSession(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		data := bytes.Repeat([]byte("0123456789"), 200_000)
		sum := sha256.Sum256(data)
		from := k.session()
		turn := k.turn(from.GetId(), "read")
		k.worker(turn).runWith("art_1", data)
		local := k.artifacts(authn.Local())

		got, err := local.ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1"})
		must(t, err)
		a := got.GetArtifact()
		testwant.Equal(t, "bytes.Equal(got.Data, data)", bytes.Equal(got.GetData(), data), true)
		testwant.Equal(t, "a.Sha256", a.GetSha256(), hex.EncodeToString(sum[:]))
		testwant.Equal(t, "a.Size", a.GetSize(), 2_000_000)
		testwant.Equal(t, "a.Name", a.GetName(), "files__read.txt")
		testwant.Equal(t, "a.CallId", a.GetCallId(), "c1")
		testwant.Equal(t, "a.TurnId", a.GetTurnId(), turn.GetId())
		testwant.Equal(t, "a.SessionId", a.GetSessionId(), from.GetId())
		part, err := local.ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1", Offset: 1_999_995, Length: 100})
		must(t, err)
		if string(part.GetData()) != "56789" {
			t.Errorf("the end is %q", part.GetData())
		}
		var created *turnv1.ArtifactCreated
		for _, e := range k.watchTurn(turn, "") {
			if c := e.GetEvent().GetArtifactCreated(); c != nil {
				created = c
			}
		}
		if created.GetArtifactId() != "art_1" || created.GetSha256() != a.GetSha256() || created.GetCallId() != "c1" {
			t.Errorf("event %v", created)
		}

		for _, who := range []*policyv1.Principal{authn.User("mallory"), {Tenant: "other", Subject: "local"}} {
			if _, err := k.artifacts(who).ReadArtifact(t.Context(),
				&sessionsv1.ReadArtifactRequest{ArtifactId: "art_1"}); status.Code(err) != codes.NotFound {
				t.Errorf("%s of %s reads it: %v", who.GetSubject(), who.GetTenant(), err)
			}
		}
		_, err = local.ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1", SessionId: k.session().GetId()})
		if status.Code(err) != codes.NotFound {
			t.Errorf("another session has it: %v", err)
		}

		fork := k.fork(&sessionsv1.ForkSessionRequest{SessionId: from.GetId()})
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: from.GetId()})
		must(t, err)
		list, err := local.ListArtifacts(t.Context(), &sessionsv1.ListArtifactsRequest{SessionId: fork.GetId()})
		must(t, err)
		if len(list.GetArtifacts()) != 1 || list.GetArtifacts()[0].GetId() != "art_1" {
			t.Fatalf("the fork has %v", list)
		}
		kept, err := local.ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1", SessionId: fork.GetId()})
		must(t, err)
		if !bytes.Equal(kept.GetData(), data) {
			t.Errorf("the fork reads %d bytes", len(kept.GetData()))
		}
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: fork.GetId()})
		must(t, err)
		if _, err := local.ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1"}); status.Code(err) != codes.NotFound {
			t.Errorf("it outlived all sessions: %v", err)
		}
	})
}

func TestArtifactsComeInPages(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session()
	for _, id := range []string{"art_1", "art_2", "art_3"} {
		k.worker(k.turn(ses.GetId(), "read")).runWith(id, []byte("the same bytes"))
	}
	local, names := k.artifacts(authn.Local()), ""
	for token := ""; ; {
		page, err := local.ListArtifacts(t.Context(), &sessionsv1.ListArtifactsRequest{SessionId: ses.GetId(), PageSize: 2, PageToken: token})
		must(t, err)
		for _, a := range page.GetArtifacts() {
			names += a.GetId() + " "
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
		names += "| "
	}
	if names != "art_1 art_2 | art_3 " {
		t.Errorf("pages %s", names)
	}
}
