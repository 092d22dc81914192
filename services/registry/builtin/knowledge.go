package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

// Own names of the tools that read documents.
const (
	searchKnowledge = "search_knowledge"
	readDocument    = "read_document"
)

const (
	// usualPassages is how many passages a search returns, and maxPassages the most.
	usualPassages, maxPassages = 6, 20
	// usualText is how many bytes a reading returns, and maxText the most of any result: it becomes part of the conversation.
	usualText, maxText = 12 << 10, 40 << 10
	// pieceBytes is about how long the passages are into which a reading is cut, in bytes.
	pieceBytes = 1500
)

const searchKnowledgeSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","minLength":1,"maxLength":8192,"description":"What to find: a question, or words that the text has"},` +
	`"banks":{"type":"array","minItems":1,"maxItems":32,"uniqueItems":true,"items":{"type":"string","minLength":1,"maxLength":63},` +
	`"description":"Ids of the banks to search; all of the agent's when left out"},` +
	`"page_size":{"type":"integer","minimum":1,"maximum":20,"description":"Number of passages to return; 6 when left out"}` +
	`},"required":["query"],"additionalProperties":false}`

const readDocumentSchema = `{"type":"object","properties":{` +
	`"document_id":{"type":"string","minLength":1,"maxLength":64,"description":"The document's id, doc_…, as a search returns it"},` +
	`"bank":{"type":"string","minLength":1,"maxLength":63,"description":"Id of its bank; all of the agent's are tried when left out"},` +
	`"start":{"type":"integer","minimum":0,"description":"First byte to read, from 0; 0 when left out"},` +
	`"end":{"type":"integer","minimum":1,"description":"Byte after the last one; 12288 are read when left out, 40960 at most"},` +
	`"version":{"type":"string","maxLength":64,"description":"Version to read, ver_…; the current one when left out"}` +
	`},"required":["document_id"],"additionalProperties":false}`

// Knowledge reads documents for the tools. Its clients act for the principal in the context. The zero value has no documents, and no tools.
type Knowledge struct {
	// Search finds passages.
	Search interface {
		SearchBanks(context.Context, *knowledgev1.SearchBanksRequest, ...grpc.CallOption) (*knowledgev1.SearchBanksResponse, error)
	}
	// Documents reads their text.
	Documents interface {
		ReadDocument(context.Context, *knowledgev1.ReadDocumentRequest, ...grpc.CallOption) (*knowledgev1.ReadDocumentResponse, error)
	}
}

// complete reports whether there are documents.
func (k Knowledge) complete() bool { return k.Search != nil && k.Documents != nil }

// tools are those that read documents.
func (k Knowledge) tools() []Tool {
	if !k.complete() {
		return nil
	}
	return []Tool{
		{
			Name: readDocument, Title: "Read a document",
			Description: "Reads a part of a document of the agent's banks, for example what stands around a passage that a search has found.",
			InputSchema: []byte(readDocumentSchema), call: k.read,
		},
		{
			Name: searchKnowledge, Title: "Search documents",
			Description: "Finds passages in the documents that the agent answers from. Search before you answer a question that they may " +
				"answer, and again with other words if nothing fits. Each passage has a mark with which you cite it.",
			InputSchema: []byte(searchKnowledgeSchema), call: k.search,
		},
	}
}

// banks returns which of the wanted banks the call may name, all that it may if none is wanted.
func banks(by source.Caller, wanted []string) ([]string, error) {
	switch {
	case by.TurnID == "" && len(wanted) == 0:
		return nil, fmt.Errorf("name the banks: this call is not made in a turn of an agent that has some")
	case by.TurnID == "":
		return wanted, nil
	case len(by.Banks) == 0:
		return nil, fmt.Errorf("the agent has no banks")
	case len(wanted) == 0:
		return by.Banks, nil
	}
	for _, id := range wanted {
		if !slices.Contains(by.Banks, id) {
			return nil, fmt.Errorf("%q is not a bank of the agent; it has %s", id, strings.Join(by.Banks, ", "))
		}
	}
	return wanted, nil
}

// search finds passages, with the rights of the user.
func (k Knowledge) search(ctx context.Context, r *source.Request) (*turnv1.ToolResult, error) {
	query, _ := r.Arguments["query"].(string) // the schema has checked the types
	ids, err := banks(r.By, stringsOf(r.Arguments["banks"]))
	if err != nil {
		return nil, err
	}
	resp, err := k.Search.SearchBanks(authn.With(ctx, r.By.Principal), &knowledgev1.SearchBanksRequest{
		BankIds: ids, Query: query, PageSize: int32(min(number(r.Arguments["page_size"], usualPassages), maxPassages)),
	})
	if err != nil {
		return nil, answerable(err, "the banks cannot be searched")
	}
	var found []passage.Passage
	size := 0
	for _, p := range resp.GetResults() {
		if size += len(p.GetText()); size > maxText {
			break
		}
		found = append(found, passage.Passage{
			Bank: p.GetBankId(), Document: p.GetDocumentId(), Version: p.GetVersion(), Name: p.GetDocumentName(), Start: p.GetStart(),
			End: p.GetEnd(), Quote: p.GetText(), Heading: p.GetHeading(), Page: p.GetPage(), Score: p.GetScore(),
		})
	}
	passage.Marks(r.Key(), found)
	text := fmt.Sprintf("Passages found: %d, the best first. %s", len(found), passage.CiteHint)
	if len(found) == 0 {
		text = "Nothing was found. Other words may help; if nothing does, say that the documents do not answer this."
	}
	if skipped := resp.GetSkippedBankIds(); len(skipped) > 0 {
		text += "\nNot searched, since they do not exist or the user may not read them: " + strings.Join(skipped, ", ") + "."
	}
	return result(text, found, resp.GetMode(), resp.GetSkippedBankIds()), nil
}

// read returns a part of a document, with the rights of the user.
func (k Knowledge) read(ctx context.Context, r *source.Request) (*turnv1.ToolResult, error) {
	id, _ := r.Arguments["document_id"].(string)
	version, _ := r.Arguments["version"].(string)
	bank, _ := r.Arguments["bank"].(string)
	var wanted []string
	if bank != "" {
		wanted = []string{bank}
	}
	ids, err := banks(r.By, wanted)
	if err != nil {
		return nil, err
	}
	start := int64(number(r.Arguments["start"], 0))
	end := int64(number(r.Arguments["end"], float64(start+usualText)))
	if end <= start {
		return nil, fmt.Errorf("end is %d, not after start, which is %d", end, start)
	}
	req := &knowledgev1.ReadDocumentRequest{DocumentId: id, Version: version, Start: start, End: min(end, start+maxText)}
	for _, req.BankId = range ids {
		resp, err := k.Documents.ReadDocument(authn.With(ctx, r.By.Principal), req)
		if err != nil && fault.From(err).Code == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, answerable(err, "the document cannot be read")
		}
		return reading(r.Key(), req.GetBankId(), resp), nil
	}
	return nil, fmt.Errorf("there is no document %q that the user may read in %s", id, strings.Join(ids, ", "))
}

// reading is the result of reading a part of a document.
func reading(key, bank string, resp *knowledgev1.ReadDocumentResponse) *turnv1.ToolResult {
	doc := resp.GetDocument()
	var found []passage.Passage
	at := resp.GetStart()
	for _, text := range pieces(resp.GetText()) {
		found = append(found, passage.Passage{
			Bank: bank, Document: doc.GetId(), Version: resp.GetVersion(), Name: doc.GetName(), Start: at, End: at + int64(len(text)), Quote: text,
		})
		at += int64(len(text))
	}
	passage.Marks(key, found)
	text := fmt.Sprintf("%q, bytes %d to %d of %d, in consecutive passages. %s", doc.GetName(), resp.GetStart(), resp.GetEnd(),
		resp.GetTextBytes(), passage.CiteHint)
	if len(found) == 0 {
		text = fmt.Sprintf("%q has %d bytes: there is nothing at byte %d.", doc.GetName(), resp.GetTextBytes(), resp.GetStart())
	}
	return result(text, found, "", nil)
}

// pieces cuts a text into parts of about pieceBytes: behind a blank line where there is one, else behind a line, else behind a character.
func pieces(text string) (out []string) {
	for len(text) > 2*pieceBytes {
		cut := pieceBytes
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		if i := strings.LastIndex(text[:2*pieceBytes], "\n\n"); i > pieceBytes/2 {
			cut = i + 2
		} else if i := strings.LastIndexByte(text[:2*pieceBytes], '\n'); i > pieceBytes/2 {
			cut = i + 1
		}
		out, text = append(out, text[:cut]), text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// result writes passages for a model, and as data for all others.
func result(intro string, found []passage.Passage, mode string, skipped []string) *turnv1.ToolResult {
	var b strings.Builder
	b.WriteString(intro)
	for _, p := range found {
		b.WriteString("\n\n" + passage.Shown(p))
	}
	out := source.Text(b.String(), false)
	out.StructuredContent = passage.Structured(found, mode, skipped)
	return out
}

// answerable returns the error of the knowledge service: one that the model can do something about as the tool's answer.
func answerable(err error, what string) error {
	switch f := fault.From(err); f.Code {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.FailedPrecondition:
		return fmt.Errorf("%s: %s", what, f.Message)
	default:
		return awayError{err}
	}
}

// stringsOf reads a JSON list of strings.
func stringsOf(value any) (out []string) {
	list, _ := value.([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
