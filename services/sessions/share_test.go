package sessions_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/share"
)

func (k *kit) shares(p *policyv1.Principal) sessionsv1.ShareServiceClient {
	if p == nil {
		return sessionsv1.NewShareServiceClient(k.conn)
	}
	return sessionsv1.NewShareServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// shareOf makes a share of a session.
func (k *kit) shareOf(req *sessionsv1.CreateShareRequest) *sessionsv1.CreateShareResponse {
	k.t.Helper()
	made, err := k.shares(nil).CreateShare(k.t.Context(), req)
	must(k.t, err)
	return made
}

// shared returns what a reader sees of a share, as JSON.
func (k *kit) shared(p *policyv1.Principal, token string) (string, error) {
	got, err := k.shares(p).GetShared(k.t.Context(), &sessionsv1.GetSharedRequest{Token: token})
	return protojson.Format(got), err
}

// secretive makes a session with a tool call, and shares of it before its second turn and a new title.
func secretive(t *testing.T, k *kit) (session string, of func(*sessionsv1.CreateShareRequest) *sessionsv1.CreateShareResponse) {
	k.agent("assistant")
	session = k.session().GetId()
	k.worker(k.turn(session, "first question")).run("first answer")
	return session, func(req *sessionsv1.CreateShareRequest) *sessionsv1.CreateShareResponse {
		req.SessionId = session
		return k.shareOf(req)
	}
}

func (k *kit) later(session string) {
	k.worker(k.turn(session, "second question")).run("second answer")
	_, err := k.sessions.UpdateSession(k.t.Context(), &sessionsv1.UpdateSessionRequest{
		Session: &sessionsv1.Session{Id: session, Title: "later title"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title"}},
	})
	must(k.t, err)
}

func TestAFixedShareShowsNothingElse(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		session, of := secretive(t, k)
		fixed := of(&sessionsv1.CreateShareRequest{Audience: "anyone"})
		redacted := of(&sessionsv1.CreateShareRequest{Audience: "anyone", RedactToolResults: true})
		live := of(&sessionsv1.CreateShareRequest{Audience: "anyone", Live: true})
		k.later(session)
		if len(fixed.GetToken()) != 43 || fixed.GetUrl() != "/shared/"+fixed.GetToken() || !strings.HasPrefix(fixed.GetId(), "shr_") {
			t.Errorf("made %v", fixed)
		}
		for name, row := range map[string]struct {
			token       string
			has, hasNot []string
		}{
			"fixed":    {fixed.GetToken(), []string{"first question", "first answer", "calc__add", `"3"`}, []string{"second", "later title"}},
			"redacted": {redacted.GetToken(), []string{"first question", "calc__add", "redacted"}, []string{`"3"`, "{}", "second", "later title"}},
			"live":     {live.GetToken(), []string{"first answer", "second question", "second answer", "later title"}, nil},
		} {
			got, err := k.shared(authn.Anonymous(), row.token)
			must(t, err)
			for _, text := range row.has {
				if !strings.Contains(got, text) {
					t.Errorf("%s lacks %q: %s", name, text, got)
				}
			}
			for _, text := range append(row.hasNot, "ses_", "trn_", "msg_", "call_", "model", "cost", "usage", "local", "assistant\"") {
				if strings.Contains(strings.ReplaceAll(got, "ROLE_ASSISTANT", ""), text) {
					t.Errorf("%s shows %q: %s", name, text, got)
				}
			}
		}
		stored, err := sqldb.One(t.Context(), k.db.Reader(), sqldb.Column[int64],
			"SELECT count(*) FROM session_shares WHERE hash = $1", []byte(fixed.GetToken()))
		if err != nil || stored != 0 {
			t.Errorf("the token is stored: %d, %v", stored, err)
		}
	})
}

// reader returns a user, or the anonymous principal for "".
func reader(subject, tenant string) *policyv1.Principal {
	if subject == "" {
		return authn.Anonymous()
	}
	p := authn.User(subject)
	p.Tenant = tenant
	return p
}

func TestAShareOpensForItsAudienceOnly(t *testing.T) {
	k := newKit(t, options{})
	session, of := secretive(t, k)
	tokens := map[string]string{
		"anyone":  of(&sessionsv1.CreateShareRequest{Audience: "anyone"}).GetToken(),
		"tenant":  of(&sessionsv1.CreateShareRequest{Audience: "tenant", Access: "continue"}).GetToken(),
		"named":   of(&sessionsv1.CreateShareRequest{Audience: "named", Subjects: []string{"dev:bob"}, Access: "continue"}).GetToken(),
		"revoked": of(&sessionsv1.CreateShareRequest{Audience: "anyone"}).GetToken(),
		"expired": of(&sessionsv1.CreateShareRequest{Audience: "anyone", TtlSeconds: 3600}).GetToken(),
	}
	list, err := k.shares(nil).ListShares(t.Context(), &sessionsv1.ListSharesRequest{SessionId: session})
	must(t, err)
	if len(list.GetShares()) != 5 {
		t.Fatalf("listed %v", list)
	}
	revoke := &sessionsv1.RevokeShareRequest{SessionId: session, ShareId: list.GetShares()[1].GetId()}
	for _, p := range []*policyv1.Principal{reader("dev:eve", authn.DefaultTenant), reader("dev:eve", "other")} {
		_, err := k.shares(p).RevokeShare(t.Context(), revoke)
		wantFault(t, err, "not_found")
		_, err = k.shares(p).ListShares(t.Context(), &sessionsv1.ListSharesRequest{SessionId: session})
		wantFault(t, err, "not_found")
		_, err = k.shares(p).CreateShare(t.Context(), &sessionsv1.CreateShareRequest{SessionId: session, Audience: "anyone"})
		wantFault(t, err, "not_found")
	}
	_, err = k.shares(nil).RevokeShare(t.Context(), revoke)
	must(t, err)
	_, err = k.shares(nil).RevokeShare(t.Context(), revoke)
	wantFault(t, err, "not_found")
	must(t, k.db.Write(t.Context(), func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(t.Context(), tx, "UPDATE session_shares SET expire_us = 1 WHERE id = $1", list.GetShares()[0].GetId())
		return err
	}))
	tokens["short"], tokens["none"], tokens["NUL"] = tokens["anyone"][:42], strings.Repeat("A", 43), "\x00"
	for _, row := range []struct{ subject, tenant, opens string }{
		{"", "", "anyone"},
		{"dev:bob", authn.DefaultTenant, "anyone tenant named"},
		{"dev:eve", authn.DefaultTenant, "anyone tenant"},
		{"dev:bob", "other", "anyone"},
		{"local", authn.DefaultTenant, "anyone tenant named"},
	} {
		for name, token := range tokens {
			_, err := k.shared(reader(row.subject, row.tenant), token)
			if opens := strings.Contains(" "+row.opens+" ", " "+name+" "); opens != (err == nil) {
				t.Errorf("%q of %q opens %s: %v", row.subject, row.tenant, name, err)
			} else if err != nil {
				wantFault(t, err, "not_found")
			}
		}
	}
}

func TestWhoContinuesASharedConversationWritesInTheirOwnSession(t *testing.T) {
	k := newKit(t, options{})
	session, of := secretive(t, k)
	read := of(&sessionsv1.CreateShareRequest{Audience: "anyone"}).GetToken()
	write := of(&sessionsv1.CreateShareRequest{Audience: "anyone", Access: "continue", RedactToolResults: true}).GetToken()
	named := of(&sessionsv1.CreateShareRequest{Audience: "named", Subjects: []string{"dev:bob"}, Access: "continue"}).GetToken()
	k.later(session)
	send := func(p *policyv1.Principal, token, key string) (*sessionsv1.Turn, error) {
		return k.shares(p).ContinueShared(t.Context(), &sessionsv1.ContinueSharedRequest{Token: token, Message: "and then?", IdempotencyKey: key})
	}
	eve := reader("dev:eve", authn.DefaultTenant)
	for name, row := range map[string]struct {
		by          *policyv1.Principal
		token, want string
	}{
		"a reader": {eve, read, "permission_denied"}, "the anonymous": {authn.Anonymous(), write, "unauthenticated"},
		"another tenant": {reader("dev:eve", "other"), write, "not_found"}, "one who is not named": {eve, named, "not_found"},
	} {
		_, err := send(row.by, row.token, "")
		t.Log(name)
		wantFault(t, err, row.want)
	}
	turn, err := send(eve, write, "k")
	must(t, err)
	again, err := send(eve, write, "k")
	must(t, err)
	if again.GetId() != turn.GetId() || turn.GetSubject() != "dev:eve" || turn.GetSessionId() == session {
		t.Errorf("continued as %v, again as %v", turn, again)
	}
	own := sessionsv1.NewSessionServiceClient(rpctest.ServeAs(t, "sessions", k.svc.Register, rpctest.WithPrincipal(eve)))
	got, err := own.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: turn.GetSessionId()})
	must(t, err)
	text := protojson.Format(got)
	for _, leak := range []string{session, "second", "later title", `"3"`} {
		if strings.Contains(text, leak) {
			t.Errorf("the continued session has %q: %s", leak, text)
		}
	}
	if !strings.Contains(text, "first answer") || !strings.Contains(text, "[not shared]") || len(got.GetMessages()) != 5 {
		t.Errorf("the continued session is %s", text)
	}
}

func TestAStreamOfAShareEndsWithIt(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{Shares: share.Config{Poll: time.Hour}}})
	session, of := secretive(t, k)
	for name, end := range map[string]func(*sessionsv1.CreateShareResponse) error{
		"revoked": func(s *sessionsv1.CreateShareResponse) error {
			_, err := k.shares(nil).RevokeShare(t.Context(), &sessionsv1.RevokeShareRequest{SessionId: session, ShareId: s.GetId()})
			return err
		},
		"expired": func(*sessionsv1.CreateShareResponse) error { return nil },
	} {
		ttl := map[string]int64{"expired": 1}[name]
		live := of(&sessionsv1.CreateShareRequest{Audience: "anyone", Live: true, TtlSeconds: ttl})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stream, err := k.shares(authn.Anonymous()).WatchShared(ctx, &sessionsv1.WatchSharedRequest{Token: live.GetToken()})
		must(t, err)
		last := ""
		for last != "first answer" {
			m, err := stream.Recv()
			must(t, err)
			last = ""
			if len(m.GetContent()) > 0 {
				last = m.GetContent()[0].GetText()
			}
		}
		if ttl == 0 {
			k.worker(k.turn(session, "more?")).run("more")
			for last != "more" {
				m, err := stream.Recv()
				must(t, err)
				if len(m.GetContent()) > 0 {
					last = m.GetContent()[0].GetText()
				}
			}
		}
		must(t, end(live))
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := k.shares(nil).WatchShared(t.Context(), &sessionsv1.WatchSharedRequest{Token: "none"})
	must(t, err)
}

func TestSharesAreChecked(t *testing.T) {
	k := newKit(t, options{})
	session, _ := secretive(t, k)
	empty := k.session().GetId()
	for name, req := range map[string]*sessionsv1.CreateShareRequest{
		"subjects":    {SessionId: session, Audience: "named"},
		"subjects ":   {SessionId: session, Audience: "anyone", Subjects: []string{"dev:bob"}},
		"seq":         {SessionId: session, Audience: "anyone", Seq: 10_000},
		"seq ":        {SessionId: session, Audience: "anyone", Seq: 1, Live: true},
		"ttl_seconds": {SessionId: session, Audience: "anyone", TtlSeconds: 1 << 40},
		"audience":    {SessionId: session},
		"access":      {SessionId: session, Audience: "anyone", Access: "write"},
	} {
		_, err := k.shares(nil).CreateShare(t.Context(), req)
		wantFault(t, err, "invalid_argument", strings.TrimSpace(name))
	}
	_, err := k.shares(nil).CreateShare(t.Context(), &sessionsv1.CreateShareRequest{SessionId: empty, Audience: "anyone"})
	wantFault(t, err, "failed_precondition")
	share := k.shareOf(&sessionsv1.CreateShareRequest{SessionId: session, Audience: "anyone"})
	_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: session})
	must(t, err)
	_, err = k.shared(nil, share.GetToken())
	wantFault(t, err, "not_found")
}
