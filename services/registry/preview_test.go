package registry_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestWholesIdentifyTheirPreview: a stored text that is modified identifies the part with its preview, so that the preview can be
// rebuilt.
func TestWholesIdentifyTheirPreview(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.MaxTextBytes = 100
	r := w.start(cfg)
	r.notes()
	blob := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "application/zip", Data: make([]byte, 200)}}}
	page := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{
		MediaType: "text/html", Data: []byte(strings.Repeat("b", 80)),
	}}}
	latin := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{
		MediaType: "text/plain", Data: bytes.Repeat([]byte{0xE9}, 200),
	}}}
	rows := structpb.NewStringValue(strings.Repeat("row ", 50))
	for name, row := range map[string]struct {
		result *mcpbridgev1.CallToolResult
		parts  []int32 // of the wholes; -1 = only named
	}{
		"text": {answer(strings.Repeat("a", 300)), []int32{0}},
		"text and bytes": {
			&mcpbridgev1.CallToolResult{Content: append(answer(strings.Repeat("a", 300)).GetContent(), blob)},
			[]int32{0, -1},
		},
		"bytes of text":         {&mcpbridgev1.CallToolResult{Content: []*turnv1.ContentPart{page, page}}, []int32{0}},
		"bytes of no text":      {&mcpbridgev1.CallToolResult{Content: []*turnv1.ContentPart{latin}}, []int32{-1}},
		"bytes and structured":  {&mcpbridgev1.CallToolResult{Content: []*turnv1.ContentPart{blob}, StructuredContent: rows}, []int32{-1, 1}},
		"a line and structured": {&mcpbridgev1.CallToolResult{Content: answer("50 rows").GetContent(), StructuredContent: rows}, []int32{1}},
	} {
		w.bridge.set(func() {
			w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
				error,
			) {
				return row.result, nil
			}
		})
		s := r.call(t.Context(), r.request("notes__read", name))
		wholes, content := s.completed.GetWholes(), s.completed.GetResult().GetContent()
		if len(wholes) != len(row.parts) {
			t.Errorf("%s: %d wholes", name, len(wholes))
			continue
		}
		for _, p := range content {
			if p.GetFile() != nil {
				t.Errorf("%s: a file that would be read whole: %v", name, p)
			}
		}
		for i, whole := range wholes {
			switch part := row.parts[i]; {
			case part < 0 && whole.GetPreviewLimit() == 0:
			case part < 0 || whole.GetPreviewPart() != part || whole.GetPreviewLimit() != 100:
				t.Errorf("%s: whole %d is shown by part %d with the limit %d", name, i, whole.GetPreviewPart(), whole.GetPreviewLimit())
			case content[part].GetText() != contract.Preview(string(whole.GetData()), 100, whole.GetArtifactId()):
				t.Errorf("%s: part %d is %q", name, part, content[part].GetText())
			}
		}
	}
}
