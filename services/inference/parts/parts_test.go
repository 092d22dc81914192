package parts_test

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/parts"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

func fitter(t *testing.T) *parts.Fitter {
	t.Helper()
	f, err := parts.New()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func picture(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(s string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
}

func blob(media string, data []byte) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: media, Data: data, Name: "it"}}}
}

func user(parts ...*turnv1.ContentPart) *turnv1.Message {
	return &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: parts}
}

func result(tool string, parts ...*turnv1.ContentPart) *turnv1.Message {
	return &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{Tool: tool, Content: parts}}
}

// said describes a conversation: the texts, and type and pixels of the rest.
func said(messages []*turnv1.Message) string {
	var out []string
	for _, m := range messages {
		line := strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_")) + ":"
		for _, p := range append(m.GetContent(), m.GetToolResult().GetContent()...) {
			b := p.GetBlob()
			switch c, _, err := image.DecodeConfig(bytes.NewReader(b.GetData())); {
			case b == nil:
				line += " " + provider.PartText(p)
			case err == nil:
				line += fmt.Sprintf(" <%s %dx%d>", b.GetMediaType(), c.Width, c.Height)
			default:
				line += fmt.Sprintf(" <%s %d>", b.GetMediaType(), len(b.GetData()))
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

var (
	seeing = provider.Sheet{Images: provider.Images{Types: []string{"image/png", "image/jpeg"}, MaxEdge: 50, MaxCount: 2, InResults: true}}
	blind  = provider.Sheet{}
	all    = provider.Sheet{
		Images:    provider.Images{Types: []string{"image/png"}},
		Audio:     provider.Files{Types: []string{"audio/wav"}, MaxBytes: 10},
		Documents: provider.Files{Types: []string{provider.PDF}},
	}
)

func TestFit(t *testing.T) {
	small, large := picture(t, 40, 20), picture(t, 100, 50)
	var moving bytes.Buffer
	if err := gif.Encode(&moving, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	pdf := []byte("%PDF-1.4 damaged")
	for _, row := range []struct {
		name     string
		sheet    provider.Sheet
		in       []*turnv1.Message
		want     string
		warnings int
	}{
		{
			name: "images are scaled and converted", sheet: seeing, in: []*turnv1.Message{user(text("look"), blob("image/png", large),
				blob("image/gif", moving.Bytes()))}, want: "user: look <image/png 50x25> <image/png 8x8>",
		},
		{
			name: "a wrong type is corrected", sheet: seeing, in: []*turnv1.Message{user(blob("image/jpg", small))}, want: "user: <image/png 40x20>",
		},
		{
			name: "the newest images are shown", sheet: seeing, warnings: 1, in: []*turnv1.Message{
				user(blob("image/png", small)), user(blob("image/png", small), blob("image/png", large)),
			}, want: "user: [it (image/png, " + fmt.Sprint(len(small)) + " bytes): cannot be shown here: the model takes 2 images at most, " +
				"the newest are shown]\nuser: <image/png 40x20> <image/png 50x25>",
		},
		{
			name: "a model without eyes", sheet: blind, warnings: 2,
			in: []*turnv1.Message{user(blob("image/png", small), blob("audio/wav", []byte("RIFF")))},
			want: "user: [it (image/png, " + fmt.Sprint(len(small)) + " bytes): cannot be shown here: the model takes no images] " +
				"[it (audio/wav, 4 bytes): cannot be shown here: the model takes no audio/wav]",
		},
		{
			name: "what is no image", sheet: seeing, warnings: 1, in: []*turnv1.Message{user(blob("image/png", []byte("hello")))},
			want: "user: [it (image/png, 5 bytes): cannot be shown here: it is not an image that can be decoded]",
		},
		{
			name: "files as they are", sheet: all, in: []*turnv1.Message{user(blob("audio/x-wav", []byte("RIFF")), blob(provider.PDF, pdf))},
			want: "user: <audio/wav 4> <application/pdf 16>",
		},
		{
			name: "files that are too large or nothing", sheet: all, warnings: 2,
			in: []*turnv1.Message{user(blob("audio/wav", []byte("RIFFRIFFRIFF")), blob(provider.PDF, []byte("hello")))},
			want: "user: [it (audio/wav, 12 bytes): cannot be shown here: it has more than 10 bytes] " +
				"[it (application/pdf, 5 bytes): cannot be shown here: it is not a PDF document]",
		},
		{
			name: "text stays", sheet: blind, in: []*turnv1.Message{user(text("a"), blob("text/plain", []byte("b")))},
			want: "user: a <text/plain 1>",
		},
		{
			name: "results with images", sheet: seeing, in: []*turnv1.Message{user(text("a")), result("t__x", text("b"), blob("image/png", large))},
			want: "user: a\ntool: b <image/png 50x25>",
		},
		{
			name: "results that cannot have them", sheet: all, in: []*turnv1.Message{
				user(text("a")), result("t__x", blob("image/png", small)), result("t__y", text("b"), blob("audio/wav", []byte("RIFF"))),
				{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{text("c")}},
			},
			want: "user: a\ntool: [it (image/png, " + fmt.Sprint(len(small)) + " bytes): see the next message]\n" +
				"tool: b [it (audio/wav, 4 bytes): see the next message]\n" +
				"user: [from the result of t__x] <image/png 40x20> [from the result of t__y] <audio/wav 4>\nassistant: c",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := make([]*turnv1.Message, len(row.in))
			for i, m := range row.in {
				before[i] = proto.CloneOf(m)
			}
			got, warnings, err := fitter(t).Fit(t.Context(), parts.Target{Name: "m", Sheet: row.sheet}, row.in)
			if err != nil || said(got) != row.want || len(warnings) != row.warnings {
				t.Errorf("%s\nwant\n%s\n%q, %v", said(got), row.want, warnings, err)
			}
			for i, m := range row.in {
				if !proto.Equal(m, before[i]) {
					t.Errorf("message %d of the caller was changed", i)
				}
			}
		})
	}
}

func TestStrict(t *testing.T) {
	f := fitter(t)
	asked := []*turnv1.Message{user(blob("image/png", picture(t, 4, 4)))}
	_, _, err := f.Fit(t.Context(), parts.Target{Name: "house/small", Strict: true}, asked)
	if !fault.Is(err, faultv1.Reason_REASON_MODEL_REJECTED) || !strings.Contains(err.Error(), "it (image/png") ||
		!strings.Contains(err.Error(), "house/small: the model takes no images") {
		t.Error(err)
	}
	file := &turnv1.ContentPart{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{Name: "a.zip", MediaType: "application/zip", Size: 3}}}
	if _, _, err = f.Fit(t.Context(), parts.Target{Name: "m", Strict: true}, []*turnv1.Message{user(file)}); err == nil ||
		!strings.Contains(err.Error(), "a.zip (application/zip, 3 bytes)") {
		t.Error(err)
	}
	got, warnings, err := f.Fit(t.Context(), parts.Target{Name: "m", Strict: true}, []*turnv1.Message{result("t__x", blob("image/png", nil))})
	if err != nil || len(warnings) != 1 || !strings.Contains(said(got), "cannot be shown") {
		t.Errorf("a result: %s, %q, %v", said(got), warnings, err)
	}
}

// TestStrictIsForTheRunningTurn checks that a file of an earlier turn does not end all turns after it.
func TestStrictIsForTheRunningTurn(t *testing.T) {
	earlier, now := user(blob("image/png", picture(t, 9, 9))), user(text("never mind"))
	earlier.TurnId, now.TurnId = "turn_1", "turn_2"
	target := parts.Target{Name: "test/blind", Sheet: blind, Strict: true, TurnID: "turn_2"}
	_, warnings, err := fitter(t).Fit(t.Context(), target, []*turnv1.Message{earlier, now})
	if err != nil || len(warnings) != 1 {
		t.Errorf("an earlier turn's image: %q, %v", warnings, err)
	}
	target.TurnID = "turn_1"
	_, _, err = fitter(t).Fit(t.Context(), target, []*turnv1.Message{earlier})
	if fault.ReasonOf(err) != faultv1.Reason_REASON_MODEL_REJECTED {
		t.Errorf("its own turn: %v", err)
	}
}
