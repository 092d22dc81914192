package sessions_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func (k *kit) files(p *policyv1.Principal) sessionsv1.FileServiceClient {
	return sessionsv1.NewFileServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// upload sends a file in pieces.
func upload(ctx context.Context, files sessionsv1.FileServiceClient, name, mediaType string, pieces ...[]byte) (*sessionsv1.File, error) {
	stream, err := files.UploadFile(ctx)
	if err != nil {
		return nil, err
	}
	// An error of Send is that of CloseAndRecv.
	_ = stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Spec{
		Spec: &sessionsv1.FileSpec{Name: name, MediaType: mediaType},
	}})
	for _, piece := range pieces {
		_ = stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Data{Data: piece}})
	}
	return stream.CloseAndRecv()
}

func wantReason(t *testing.T, err error, want faultv1.Reason) {
	t.Helper()
	if got := fault.ReasonOf(err); got != want {
		t.Errorf("the error is %v with the reason %s, want %s", err, got, want)
	}
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))))
	return b.Bytes()
}

func fileParts(id string) []*turnv1.ContentPart {
	return []*turnv1.ContentPart{
		{Part: &turnv1.ContentPart_Text{Text: "what is it?"}},
		{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{FileId: id, Sha256: "forged"}}},
	}
}

// TestFiles covers a file from its upload, over a turn whose input names it, to its deletion.
func TestFiles(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		local, other := k.files(authn.Local()), k.files(authn.User("eve"))
		data := picture(t)
		sum := sha256.Sum256(data)
		f, err := upload(t.Context(), local, "dir/cat.png", "image/png", data[:10], data[10:])
		must(t, err)
		if f.GetName() != "cat.png" || f.GetMediaType() != "image/png" || f.GetSize() != int64(len(data)) || f.GetWidth() != 3 ||
			f.GetHeight() != 2 || f.GetSha256() != hex.EncodeToString(sum[:]) {
			t.Errorf("the file is %v", f)
		}
		again, err := upload(t.Context(), local, "same.png", "", data)
		must(t, err)
		read, err := local.ReadFile(t.Context(), &sessionsv1.ReadFileRequest{FileId: f.GetId(), Offset: 1, Length: 3})
		must(t, err)
		if string(read.GetData()) != "PNG" {
			t.Errorf("read %q", read.GetData())
		}
		list, err := local.ListFiles(t.Context(), &sessionsv1.ListFilesRequest{PageSize: 1})
		must(t, err)
		next, err := local.ListFiles(t.Context(), &sessionsv1.ListFilesRequest{PageSize: 1, PageToken: list.GetNextPageToken()})
		must(t, err)
		if len(list.GetFiles()) != 1 || list.GetFiles()[0].GetId() != again.GetId() || len(next.GetFiles()) != 1 ||
			next.GetFiles()[0].GetId() != f.GetId() || next.GetNextPageToken() != "" {
			t.Errorf("listed %v, then %v", list, next)
		}

		_, err = other.GetFile(t.Context(), &sessionsv1.GetFileRequest{FileId: f.GetId()})
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)
		_, err = other.DeleteFile(t.Context(), &sessionsv1.DeleteFileRequest{FileId: f.GetId()})
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)
		seen, err := other.ListFiles(t.Context(), &sessionsv1.ListFilesRequest{})
		if must(t, err); len(seen.GetFiles()) != 0 {
			t.Errorf("another user sees %v", seen)
		}

		ses := k.session()
		_, err = k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Content: fileParts("fil_none")})
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)
		turn, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Content: fileParts(f.GetId())})
		must(t, err)
		for _, id := range []string{f.GetId(), again.GetId()} {
			_, err = local.DeleteFile(t.Context(), &sessionsv1.DeleteFileRequest{FileId: id})
			must(t, err)
		}
		_, err = local.ReadFile(t.Context(), &sessionsv1.ReadFileRequest{FileId: f.GetId()})
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)

		messages, err := k.sessions.ListMessages(t.Context(), &sessionsv1.ListMessagesRequest{SessionId: ses.GetId()})
		must(t, err)
		want := &turnv1.FileRef{
			FileId: f.GetId(), Name: "cat.png", MediaType: "image/png", Size: f.GetSize(), Sha256: f.GetSha256(), Width: 3, Height: 2,
		}
		if got := messages.GetMessages()[0].GetContent()[1].GetFile(); !proto.Equal(got, want) {
			t.Errorf("the message has %v, want %v", got, want)
		}
		kept, err := k.exec.ReadTurnFile(t.Context(), &executionv1.ReadTurnFileRequest{TurnId: turn.GetId(), FileId: f.GetId(), Length: 1 << 20})
		must(t, err)
		if !bytes.Equal(kept.GetData(), data) {
			t.Errorf("the session has %d bytes of the deleted file, want %d", len(kept.GetData()), len(data))
		}
		artifacts, err := k.artifacts(authn.Local()).ListArtifacts(t.Context(), &sessionsv1.ListArtifactsRequest{SessionId: ses.GetId()})
		must(t, err)
		if list := artifacts.GetArtifacts(); len(list) != 1 || list[0].GetId() != f.GetId() || list[0].GetSha256() != f.GetSha256() {
			t.Errorf("the session's artifacts are %v", list)
		}
		w := k.worker(turn)
		w.begin()
		w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("a cat")}, 0)
		w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: ses.GetId(), Permanent: true})
		must(t, err)
		left, err := sqldb.One(t.Context(), k.db.Reader(), sqldb.Column[int64], "SELECT count(*) FROM artifact_blobs")
		if must(t, err); left != 0 {
			t.Errorf("the bytes of %d files are left", left)
		}
	})
}

// TestFilesAreLimited covers uploads that are refused, and that what a user has together holds for uploads at the same time.
// TestAnImportedFileIsWhatTheMeshKnows: a caller who sends messages cannot name the bytes of others by their hash.
func TestAnImportedFileIsWhatTheMeshKnows(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	f, err := upload(t.Context(), k.files(authn.Local()), "cat.png", "image/png", picture(t))
	must(t, err)
	_, err = k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: k.session().GetId(), Content: fileParts(f.GetId())})
	must(t, err)
	imported, err := k.sessions.ImportSession(t.Context(), &sessionsv1.ImportSessionRequest{AgentId: "assistant", Messages: []*turnv1.Message{{
		TurnId: "t", Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{
			FileId: f.GetId(), MediaType: "image/jpeg", Size: 1 << 40, Sha256: strings.Repeat("0", 64), Width: 9,
		}}}},
	}}})
	must(t, err)
	got, err := k.sessions.ListMessages(t.Context(), &sessionsv1.ListMessagesRequest{SessionId: imported.GetId()})
	must(t, err)
	want := &turnv1.FileRef{FileId: f.GetId(), Name: "cat.png", MediaType: "image/png", Size: f.GetSize(), Sha256: f.GetSha256()}
	if file := got.GetMessages()[0].GetContent()[0].GetFile(); !proto.Equal(file, want) {
		t.Errorf("imported %v, want %v", file, want)
	}
}

func TestFilesAreLimited(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{
			postgres: postgres, conns: 4,
			cfg: sessions.Config{Files: file.Config{MaxBytes: 1000, MaxBytesPerUser: 2500}},
		})
		files := k.files(authn.Local())
		_, err := upload(t.Context(), files, "a", "")
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)
		_, err = upload(t.Context(), files, "a", "", bytes.Repeat([]byte("a"), 600), bytes.Repeat([]byte("b"), 401))
		wantReason(t, err, faultv1.Reason_REASON_TOO_LARGE)
		stream, err := files.UploadFile(t.Context())
		must(t, err)
		_ = stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Data{Data: []byte("a")}})
		_, err = stream.CloseAndRecv()
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)

		var stored, refused atomic.Int32
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := upload(t.Context(), files, "a", "", bytes.Repeat([]byte("a"), 1000))
				switch {
				case err == nil:
					stored.Add(1)
				case fault.ReasonOf(err) == faultv1.Reason_REASON_QUOTA_EXCEEDED:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if stored.Load() != 2 || refused.Load() != 1 {
			t.Errorf("%d files were stored and %d refused, want 2 and 1", stored.Load(), refused.Load())
		}
		list, err := files.ListFiles(t.Context(), &sessionsv1.ListFilesRequest{})
		must(t, err)
		_, err = files.DeleteFile(t.Context(), &sessionsv1.DeleteFileRequest{FileId: list.GetFiles()[0].GetId()})
		must(t, err)
		_, err = upload(t.Context(), files, "a", "", bytes.Repeat([]byte("a"), 1000))
		must(t, err)
	})
}

// TestLinksAreFetchedForThoseWhoMay covers what a link is fetched for and what it leaves: nothing of the machine unless configured, nothing
// for users without the permission, too many, or a turn that is refused.
func TestLinksAreFetchedForThoseWhoMay(t *testing.T) {
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte("internal"))
	}))
	t.Cleanup(web.Close)
	link := func(n int) (out []*turnv1.ContentPart) {
		for range n {
			l := &turnv1.ResourceLink{Uri: web.URL + "/metrics", Fetch: true}
			out = append(out, &turnv1.ContentPart{Part: &turnv1.ContentPart_Link{Link: l}})
		}
		return out
	}
	wide := options{cfg: sessions.Config{Files: file.Config{Links: file.LinksEgress}}}
	for _, row := range []struct {
		name   string
		o      options
		denied []string
		links  int
		mode   string
		want   faultv1.Reason
		files  int
		asked  int32
	}{
		{name: "a server of the machine", links: 1, want: faultv1.Reason_REASON_EGRESS_DENIED},
		{name: "one that is allowed", o: wide, links: 8, files: 8, asked: 8},
		{name: "many", o: wide, links: 9, want: faultv1.Reason_REASON_INVALID_ARGUMENT},
		{
			name: "a user without files", o: wide, denied: []string{"sessions.files.create"}, links: 1,
			want: faultv1.Reason_REASON_PERMISSION_DENIED,
		},
		{
			name: "a turn that is refused at once", o: wide, links: 1, mode: "reject",
			want: faultv1.Reason_REASON_TURN_ACTIVE,
		},
		{
			name: "one that is refused later", links: 1, asked: 1, want: faultv1.Reason_REASON_RATE_LIMITED,
			o: options{cfg: sessions.Config{MaxQueuedTurns: 1, Files: file.Config{Links: file.LinksEgress}}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked.Store(0)
			k := newKit(t, row.o)
			k.agent("assistant")
			ses := k.session()
			_, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "first"})
			must(t, err)
			k.policy.denied = row.denied
			_, err = k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{
				SessionId: ses.GetId(), Content: link(row.links), Mode: row.mode,
			})
			wantReason(t, err, row.want)
			list, err := k.files(authn.Local()).ListFiles(t.Context(), &sessionsv1.ListFilesRequest{})
			if must(t, err); len(list.GetFiles()) != row.files || asked.Load() != row.asked {
				t.Errorf("%d files are left after %d requests, want %d after %d", len(list.GetFiles()), asked.Load(), row.files, row.asked)
			}
		})
	}
}
