// Package passage defines the results of the mesh's tools that read documents: passages with the marks by which models cite them. The
// registry writes them, and turns read them.
package passage

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Names of the tools. Turns of agents with banks have them, and no others.
const (
	SearchTool = "mesh__search_knowledge"
	ReadTool   = "mesh__read_document"
)

// Tools returns the names of the tools.
func Tools() []string { return []string{ReadTool, SearchTool} }

// IsTool reports whether a tool is one of them.
func IsTool(name string) bool { return slices.Contains(Tools(), name) }

// HexDigits is how many hexadecimal digits a mark has.
const HexDigits = 6

// Passage is a part of a document.
type Passage struct {
	// Mark stands for the passage in what a model reads and writes, in brackets; see Marks.
	Mark string
	// Bank, Document and Version are ids, Name is that of the document.
	Bank, Document, Version, Name string
	// Start and End are positions in bytes in the version's text. Quote is the text between them.
	Start, End int64
	Quote      string
	// Heading has the headings over the passage, the outermost first.
	Heading []string
	// Page is where it begins, from 1; 0 = the document has no pages.
	Page int32
	// Score says how well it fits the query; 0 = it was not searched for.
	Score float64
}

// Same reports whether two passages are the same part of the same version.
func (p Passage) Same(other Passage) bool {
	return p.Bank == other.Bank && p.Document == other.Document && p.Version == other.Version && p.Start == other.Start && p.End == other.End
}

// Marks sets the marks of a call's passages: "k", six hexadecimal digits, ".", and the number of the passage from 1. The digits are made of
// the call's idempotency key, which has the id of the turn: a repeated call has the same marks, and a document cannot have one in advance.
func Marks(key string, passages []Passage) {
	sum := sha256.Sum256([]byte("passage\x00" + key))
	stem := "k" + hex.EncodeToString(sum[:])[:HexDigits] + "."
	for i := range passages {
		passages[i].Mark = stem + strconv.Itoa(i+1)
	}
}

// Structured returns the structured content of a result: the passages, how they were found, and the banks that were not searched.
func Structured(passages []Passage, mode string, skipped []string) *structpb.Value {
	list := make([]*structpb.Value, 0, len(passages))
	for _, p := range passages {
		list = append(list, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"mark": structpb.NewStringValue(p.Mark), "bank_id": structpb.NewStringValue(p.Bank),
			"document_id": structpb.NewStringValue(p.Document), "document_name": structpb.NewStringValue(p.Name),
			"version": structpb.NewStringValue(p.Version), "start": structpb.NewNumberValue(float64(p.Start)),
			"end": structpb.NewNumberValue(float64(p.End)), "quote": structpb.NewStringValue(p.Quote), "heading": texts(p.Heading),
			"page": structpb.NewNumberValue(float64(p.Page)), "score": structpb.NewNumberValue(p.Score),
		}}))
	}
	fields := map[string]*structpb.Value{"passages": structpb.NewListValue(&structpb.ListValue{Values: list})}
	if mode != "" {
		fields["mode"] = structpb.NewStringValue(mode)
	}
	if len(skipped) > 0 {
		fields["skipped_bank_ids"] = texts(skipped)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

func texts(all []string) *structpb.Value {
	list := &structpb.ListValue{}
	for _, text := range all {
		list.Values = append(list.Values, structpb.NewStringValue(text))
	}
	return structpb.NewListValue(list)
}

// Of returns the passages of a result; none if it is that of another tool, or an error.
func Of(r *turnv1.ToolResult) []Passage {
	if r.GetIsError() || !IsTool(r.GetTool()) {
		return nil
	}
	var out []Passage
	for _, v := range r.GetStructuredContent().GetStructValue().GetFields()["passages"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		p := Passage{
			Mark: f["mark"].GetStringValue(), Bank: f["bank_id"].GetStringValue(), Document: f["document_id"].GetStringValue(),
			Name: f["document_name"].GetStringValue(), Version: f["version"].GetStringValue(), Start: int64(f["start"].GetNumberValue()),
			End: int64(f["end"].GetNumberValue()), Quote: f["quote"].GetStringValue(), Page: int32(f["page"].GetNumberValue()),
			Score: f["score"].GetNumberValue(),
		}
		for _, h := range f["heading"].GetListValue().GetValues() {
			p.Heading = append(p.Heading, h.GetStringValue())
		}
		out = append(out, p)
	}
	return out
}
