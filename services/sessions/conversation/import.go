package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxName bounds names and IDs in imported messages, in bytes, and maxParts the parts and the calls of each.
	maxName, maxParts = 256, 256
	// maxImportedFiles bounds the files that one import refers to.
	maxImportedFiles = 256
)

// Imported makes messages that a caller sends the beginning of a new session, ses. They have at most maxBytes. Files that the caller may
// not read, as mayRead says for a session that has one, become texts. Nothing is written.
func (s *Service) Imported(ctx context.Context, ses store.Session, messages []*turnv1.Message, maxBytes int,
	mayRead func(ctx context.Context, session string) (bool, error),
) (*Copy, error) {
	im := &importing{
		service: s, session: ses, mayRead: mayRead, left: maxBytes, turns: map[string]string{}, calls: map[[2]string]string{},
		files: map[string]*store.Artifact{}, out: &Copy{Session: ses},
	}
	for i, m := range messages {
		if err := im.add(ctx, fmt.Sprintf("messages[%d]", i), proto.CloneOf(m), int64(i-len(messages))); err != nil {
			return nil, err
		}
	}
	return im.out, nil
}

// importing is the state of an import.
type importing struct {
	service *Service
	session store.Session
	mayRead func(ctx context.Context, session string) (bool, error)
	left    int                        // bytes
	turns   map[string]string          // the turns of the file, and what stands for them here: nothing refers to turns of other sessions
	calls   map[[2]string]string       // turn and call without a result, and the tool
	files   map[string]*store.Artifact // by ID; nil = the caller may not read it
	out     *Copy
}

// add adds a message with a seq.
func (im *importing) add(ctx context.Context, path string, m *turnv1.Message, seq int64) error {
	if im.left -= proto.Size(m); im.left < 0 {
		return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the messages are larger than an import may be").
			Hint("Import fewer messages, or raise sessions.max_export_bytes.")
	}
	if err := im.check(path, m); err != nil {
		return err
	}
	for _, parts := range [][]*turnv1.ContentPart{m.GetContent(), m.GetToolResult().GetContent()} {
		for i := range parts {
			if err := im.part(ctx, fmt.Sprintf("%s.content[%d]", path, i), &parts[i]); err != nil {
				return err
			}
		}
	}
	if r := m.GetToolResult(); r != nil {
		kept := r.GetArtifactIds()[:0]
		for _, id := range r.GetArtifactIds() {
			there, err := im.file(ctx, path, id)
			if err != nil {
				return err
			}
			if there != nil {
				kept = append(kept, id)
			}
		}
		r.ArtifactIds, r.Trusted = kept, false
	}
	for _, c := range m.GetToolCalls() {
		c.Tainted = true
	}
	turn := m.GetTurnId()
	if im.turns[turn] == "" {
		im.turns[turn] = ids.New(ids.Turn)
	}
	m.TurnId, m.Verbatim, m.Tainted = im.turns[turn], nil, true
	if m.GetCreateTime().CheckValid() != nil {
		m.CreateTime = timestamp.Of(im.session.CreateTime)
	}
	row, err := copyOf(m, im.session)
	if err != nil {
		return err
	}
	row.Seq = seq
	im.out.Session.ContextBytes += int64(len(row.Data))
	im.out.Messages = append(im.out.Messages, row)
	return nil
}

// check refuses what is no message of a conversation.
func (im *importing) check(path string, m *turnv1.Message) error {
	names := []string{m.GetTurnId(), m.GetModel(), m.GetFromAgent()}
	r := m.GetToolResult()
	switch m.GetRole() {
	case turnv1.Role_ROLE_USER:
		if len(m.GetContent()) == 0 || len(m.GetToolCalls()) > 0 || r != nil {
			return fault.Invalid(path, "a message of a user has content, and neither calls nor a result")
		}
	case turnv1.Role_ROLE_ASSISTANT:
		if r != nil {
			return fault.Invalid(path+".tool_result", "only messages of tools have one")
		}
		for i, c := range m.GetToolCalls() {
			at := [2]string{m.GetTurnId(), c.GetCallId()}
			if _, open := im.calls[at]; open || c.GetCallId() == "" || c.GetTool() == "" {
				return fault.Invalid(fmt.Sprintf("%s.tool_calls[%d]", path, i), "needs a tool, and a call_id that no other open call of its turn has")
			}
			im.calls[at] = c.GetTool()
			names = append(names, c.GetCallId(), c.GetTool())
		}
	case turnv1.Role_ROLE_TOOL:
		at := [2]string{m.GetTurnId(), r.GetCallId()}
		tool, open := im.calls[at]
		if r == nil || len(m.GetContent())+len(m.GetToolCalls()) > 0 || !open || tool != r.GetTool() {
			return fault.Invalid(path+".tool_result", "must be the result of a call in a message of the same turn before it, and there is none")
		}
		delete(im.calls, at)
	default:
		return fault.Invalid(path+".role", "must be user, assistant or tool")
	}
	if len(m.GetContent())+len(r.GetContent())+len(r.GetArtifactIds())+len(m.GetToolCalls()) > maxParts {
		return fault.Invalid(path, "has more than %d parts and calls", maxParts)
	}
	if slices.ContainsFunc(names, func(n string) bool { return len(n) > maxName || strings.ContainsRune(n, 0) }) {
		return fault.Invalid(path, "has a name or an ID with more than %d bytes, or with NUL", maxName)
	}
	return nil
}

// part checks a part, and writes the text in the place of a file that the caller may not read.
func (im *importing) part(ctx context.Context, path string, p **turnv1.ContentPart) error {
	switch part := (*p).GetPart().(type) {
	case *turnv1.ContentPart_Text, *turnv1.ContentPart_Blob:
	case *turnv1.ContentPart_Link:
		part.Link.Fetch = false
	case *turnv1.ContentPart_File:
		f := part.File
		there, err := im.file(ctx, path, f.GetFileId())
		if err != nil {
			return err
		}
		if there != nil { // what the file is the mesh knows: a hash that the caller writes is no right to bytes
			known := &turnv1.FileRef{
				FileId: there.ID, Name: there.Name, MediaType: there.MediaType, Size: there.Size, Sha256: there.SHA256,
			}
			if f.GetSha256() == there.SHA256 {
				known.Width, known.Height = f.GetWidth(), f.GetHeight()
			}
			part.File = known
			return nil
		}
		*p = &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{
			Text: fmt.Sprintf("[%s, %s, %d bytes]", f.GetName(), f.GetMediaType(), f.GetSize()),
		}}
	default:
		return fault.Invalid(path, "has neither text, blob, link nor file")
	}
	return nil
}

// file takes a file of a session that the caller may read into the new one; nil if there is none.
func (im *importing) file(ctx context.Context, path, id string) (*store.Artifact, error) {
	if there, known := im.files[id]; known {
		return there, nil
	}
	if len(im.files) == maxImportedFiles {
		return nil, fault.Invalid(path, "is one of more than %d files", maxImportedFiles)
	}
	im.files[id] = nil
	if id == "" || len(id) > maxName || strings.ContainsRune(id, 0) {
		return nil, nil
	}
	found, err := im.service.store.Artifact(ctx, im.session.Tenant, id, "")
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		ok, err := im.mayRead(ctx, a.SessionID)
		if err != nil {
			return nil, err
		}
		if ok {
			a.SessionID = im.session.ID
			im.out.artifacts, im.files[id] = append(im.out.artifacts, a), &a
			return &a, nil
		}
	}
	return nil, nil
}
