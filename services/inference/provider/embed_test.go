package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// embedKind is a kind with embeddings, as its server has them.
type embedKind struct {
	kind, model string
	// path and request are of two texts, "a" and "b", in two dimensions; many kinds take one text at a time.
	path, request string
	// answer writes what a server answers for vectors, each as JSON.
	answer func(vectors ...string) string
	// single: one text at a time.
	single bool
	// tokens that the answer counts.
	tokens int32
}

func joined(format string) func(...string) string {
	return func(vectors ...string) string { return fmt.Sprintf(format, strings.Join(vectors, ",")) }
}

func each(begin, format, end string) func(...string) string {
	return func(vectors ...string) string {
		out := make([]string, len(vectors))
		for i, v := range vectors {
			out[i] = fmt.Sprintf(format, v)
		}
		return begin + strings.Join(out, ",") + end
	}
}

var embedKinds = []embedKind{
	{
		kind: "openai", model: "model-1", path: "/embeddings",
		request: `{"dimensions":2,"encoding_format":"float","input":["a","b"],"model":"model-1"}`,
		answer: func(vectors ...string) string {
			out := make([]string, len(vectors))
			for i, v := range vectors {
				out[len(vectors)-1-i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, v) // in any order
			}
			return `{"data":[` + strings.Join(out, ",") + `],"usage":{"prompt_tokens":5,"total_tokens":5}}`
		},
		tokens: 5,
	},
	{
		kind: "ollama", model: "model-1", path: "/api/embed",
		request: `{"dimensions":2,"input":["a","b"],"model":"model-1","truncate":false}`,
		answer:  joined(`{"embeddings":[%s],"prompt_eval_count":5}`), tokens: 5,
	},
	{
		kind: "gemini", model: "model-1", path: "/models/model-1:batchEmbedContents",
		request: `{"requests":[{"model":"models/model-1","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":2},` +
			`{"model":"models/model-1","content":{"parts":[{"text":"b"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":2}]}`,
		answer: each(`{"embeddings":[`, `{"values":%s}`, `]}`), tokens: 2,
	},
	{
		kind: "bedrock", model: "cohere.embed-v4:0", path: "/model/cohere.embed-v4:0/invoke",
		request: `{"embedding_types":["float"],"input_type":"search_query","output_dimension":2,"texts":["a","b"],"truncate":"NONE"}`,
		answer:  joined(`{"embeddings":{"float":[%s]},"response_type":"embeddings_by_type"}`), tokens: 2,
	},
	{
		kind: "bedrock", model: "eu.amazon.titan-embed-text-v2:0", path: "/model/eu.amazon.titan-embed-text-v2:0/invoke",
		request: `{"dimensions":2,"inputText":"a"}`, answer: joined(`{"embedding":%s,"inputTextTokenCount":5}`), single: true, tokens: 10,
	},
}

// sends answers with JSON.
func sends(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, body)
	}
}

func embedRequest(k embedKind) *inferencev1.EmbedRequest {
	return &inferencev1.EmbedRequest{
		Model: "test/" + k.model, Texts: []string{"a", "b"}, Dimensions: 2, Purpose: inferencev1.EmbedPurpose_EMBED_PURPOSE_QUERY,
	}
}

func regional(cfg *inference.Config) {
	if p := &cfg.Providers[0]; p.Kind == "bedrock" {
		p.Region = "eu-central-1"
	}
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	for _, k := range embedKinds {
		t.Run(k.kind+" "+k.model, func(t *testing.T) {
			t.Parallel()
			vectors := []string{"[1,0.5]", "[-2e-3,4]"}
			f := newFake(t, nil)
			f.answer = func(w http.ResponseWriter, r *http.Request) {
				answer := vectors
				if k.single {
					answer = vectors[len(f.seen())-1:][:1]
				}
				sends(k.answer(answer...))(w, r)
			}
			price := money.Micros(2_000_000)
			client := provide(t, k.kind, f.URL, regional, func(cfg *inference.Config) {
				cfg.Prices = []catalog.PriceConfig{{Model: "test/*", Input: price}}
			})
			got, err := client.Embed(t.Context(), embedRequest(k))
			if err != nil {
				t.Fatal(err)
			}
			if v := got.GetEmbeddings(); len(v) != 2 || !slices.Equal(v[0].GetValues(), []float32{1, 0.5}) ||
				!slices.Equal(v[1].GetValues(), []float32{-2e-3, 4}) || got.GetDimensions() != 2 {
				t.Errorf("got %v", got)
			}
			u := got.GetUsage()
			if u.GetInputTokens() != k.tokens || got.GetUsageEstimated() != (k.tokens == 2) || u.GetCostMicros() != 2*int64(k.tokens) {
				t.Errorf("usage %v, estimated %v", u, got.GetUsageEstimated())
			}
			if got.GetModel() != "test/"+k.model {
				t.Errorf("model %q", got.GetModel())
			}
			var sent, want any
			if err := json.Unmarshal([]byte(f.seen()[0].body), &sent); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(k.request), &want); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(sent) != fmt.Sprint(want) || f.seen()[0].path != k.path {
				t.Errorf("sent %s to %s", f.seen()[0].body, f.seen()[0].path)
			}
		})
	}
}

// TestHostileEmbeddings: an answer that does not have one vector of finite numbers for each text, all of one length, is none.
func TestHostileEmbeddings(t *testing.T) {
	t.Parallel()
	const rejected = "model_rejected"
	for _, k := range embedKinds {
		pair := func(a, b string) http.HandlerFunc {
			if k.single {
				return sends(k.answer(b))
			}
			return sends(k.answer(a, b))
		}
		whole := k.answer("[1,2]", "[3,4]")
		rows := []struct {
			name   string
			answer http.HandlerFunc
			code   string
			only   bool // not for one text at a time
		}{
			{name: "late", answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, code: "deadline_exceeded"},
			{name: "twice", answer: sends(whole + whole), code: "model_stream_broken"},
			{name: "half", answer: sends(whole[:len(whole)/2]), code: "model_stream_broken"},
			{
				name: "broken off", code: "model_stream_broken", answer: func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", "1000")
					_, _ = fmt.Fprint(w, whole)
				},
			},
			{name: "nothing", answer: sends(""), code: "model_stream_broken"},
			{name: "no object", answer: sends("[]"), code: "model_stream_broken"},
			{name: "an empty object", answer: sends("{}"), code: "model_stream_broken"},
			{name: "NaN", answer: pair("[1,2]", "[NaN,4]"), code: "model_stream_broken"},
			{name: "null", answer: pair("[1,2]", "[ null ,4]"), code: "model_stream_broken"},
			{name: "text", answer: pair("[1,2]", `["3","4"]`), code: "model_stream_broken"},
			{name: "too large for a float", answer: pair("[1,2]", "[1e39,4]"), code: "model_stream_broken"},
			{name: "one too few", answer: sends(k.answer("[1,2]")), code: "model_stream_broken", only: true},
			{name: "one too many", answer: sends(k.answer("[1,2]", "[3,4]", "[5,6]")), code: "model_stream_broken", only: true},
			{name: "of two lengths", answer: pair("[1,2]", "[3,4,5]"), code: "model_stream_broken", only: true},
			{name: "empty", answer: pair("[]", "[]"), code: "model_stream_broken"},
			{name: "another length", answer: pair("[1,2,3]", "[4,5,6]"), code: rejected},
			{
				name: "a page", code: "model_stream_broken", answer: func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					_, _ = fmt.Fprint(w, "<html><title>Sign in</title></html>")
				},
			},
			{name: "refused", answer: refuse(400, `{"error":{"message":"input is too long for this model"}}`), code: ""},
			{name: "no such model", answer: refuse(404, `{"error":{"message":"no model"}}`), code: rejected},
			{name: "limited", answer: refuse(429, `{"error":{"message":"slowly"}}`), code: "rate_limited"},
			{name: "away", answer: refuse(503, ``), code: "model_unavailable"},
		}
		for _, row := range rows {
			if row.only && k.single {
				continue
			}
			t.Run(k.kind+" "+k.model+" "+row.name, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, row.answer)
				client := provide(t, k.kind, f.URL, regional, func(cfg *inference.Config) {
					if row.name == "late" {
						noPatience(cfg)
						noSilence(cfg)
					}
				})
				got, err := client.Embed(t.Context(), embedRequest(k))
				if err == nil || row.code != "" && fault.CodeOf(err) != row.code {
					t.Errorf("%v, %v, want %s", got, err, row.code)
				}
				if strings.Contains(fmt.Sprint(err), inferencetest.Key) {
					t.Errorf("the error has the key: %v", err)
				}
			})
		}
	}
}

func TestTextsAreSentInBatches(t *testing.T) {
	t.Parallel()
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	f := newFake(t, nil)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		seen := f.seen()
		if err := json.Unmarshal([]byte(seen[len(seen)-1].body), &req); err != nil {
			t.Error(err)
		}
		var vectors []string
		for _, text := range req.Input {
			vectors = append(vectors, "["+text+",1]")
		}
		sends(embedKinds[0].answer(vectors...))(w, r)
	}
	client := provide(t, "openai", f.URL)
	got, err := client.Embed(t.Context(), &inferencev1.EmbedRequest{Model: "test/model-1", Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range got.GetEmbeddings() {
		if e.GetValues()[0] != float32(i) {
			t.Fatalf("the vector of text %d is %v", i, e)
		}
	}
	if len(got.GetEmbeddings()) != 300 || len(f.seen()) != 3 || got.GetUsage().GetInputTokens() != 15 || got.GetUsage().GetModelCalls() != 3 {
		t.Errorf("%d vectors by %d requests, usage %v", len(got.GetEmbeddings()), len(f.seen()), got.GetUsage())
	}
}

func TestRerank(t *testing.T) {
	t.Parallel()
	const good = `{"results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.1,"document":{"text":"a"}}],"usage":{"total_tokens":7}}`
	for _, row := range []struct {
		name, kind, model, answer string
		path, code                string
		change                    func(*inference.Config)
	}{
		{name: "vLLM", kind: "openai", model: "model-1", answer: good, path: "/rerank"},
		{name: "Bedrock", kind: "bedrock", model: "cohere.rerank-v3-5:0", answer: good, path: "/model/cohere.rerank-v3-5:0/invoke"},
		{
			name: "worst first", kind: "openai", model: "model-1", path: "/rerank",
			answer: `{"results":[{"index":0,"relevance_score":0.1},{"index":2,"score":0.9}],"meta":{"tokens":{"input_tokens":7}}}`,
		},
		{name: "one twice", kind: "openai", model: "m", answer: `{"results":[{"index":1,"relevance_score":1},{"index":1,"relevance_score":1}]}`, code: "model_stream_broken"},
		{name: "one that there is not", kind: "openai", model: "m", answer: `{"results":[{"index":3,"relevance_score":1},{"index":1,"relevance_score":1}]}`, code: "model_stream_broken"},
		{name: "too few", kind: "openai", model: "m", answer: `{"results":[{"index":1,"relevance_score":1}]}`, code: "model_stream_broken"},
		{name: "without a score", kind: "openai", model: "m", answer: `{"results":[{"index":1},{"index":2}]}`, code: "model_stream_broken"},
		{name: "NaN", kind: "openai", model: "m", answer: `{"results":[{"index":1,"relevance_score":NaN}]}`, code: "model_stream_broken"},
		{name: "a page", kind: "openai", model: "m", answer: `<html>`, code: "model_stream_broken"},
		{name: "no reranking in Bedrock", kind: "bedrock", model: "amazon.nova-lite-v1:0", code: "model_rejected"},
		{
			name: "no reranking at Groq", kind: "openai", model: "m", code: "model_rejected",
			change: func(cfg *inference.Config) { cfg.Providers[0].Profile = "groq" },
		},
		{name: "no reranking of Anthropic", kind: "anthropic", model: "m", code: "model_rejected"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, sends(row.answer))
			client := provide(t, row.kind, f.URL, regional, func(cfg *inference.Config) {
				if row.change != nil {
					row.change(cfg)
				}
			})
			got, err := client.Rerank(t.Context(), &inferencev1.RerankRequest{
				Model: "test/" + row.model, Query: "q", Documents: []string{"a", "b", "c"}, TopN: 2,
			})
			if row.code != "" {
				if fault.CodeOf(err) != row.code {
					t.Errorf("%v, %v, want %s", got, err, row.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := got.GetResults(); len(r) != 2 || r[0].GetIndex() != 2 || r[1].GetIndex() != 0 || r[0].GetScore() != 0.9 {
				t.Errorf("got %v", got)
			}
			if f.seen()[0].path != row.path || !strings.Contains(f.seen()[0].body, `"top_n":2`) {
				t.Errorf("sent %v", f.seen())
			}
		})
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	tool := &inferencev1.ToolDefinition{Name: "notes__add", Description: "Add a note.", InputSchemaJson: `{"type":"object"}`}
	for _, row := range []struct {
		name, kind, path, code string
		answer                 http.HandlerFunc
		want                   int64
		note                   string
	}{
		{name: "Anthropic", kind: "anthropic", path: "/v1/messages/count_tokens", answer: sends(`{"input_tokens":42}`), want: 42},
		{name: "Gemini", kind: "gemini", path: "/models/model-1:countTokens", answer: sends(`{"totalTokens":42}`), want: 42},
		{name: "a server without the endpoint", kind: "anthropic", answer: refuse(404, `{}`), note: "does not count"},
		{name: "OpenAI", kind: "openai", answer: refuse(500, `{}`), note: "do not count"},
		{name: "no number", kind: "anthropic", answer: sends(`{}`), code: "model_stream_broken"},
		{name: "a negative number", kind: "gemini", answer: sends(`{"totalTokens":-1}`), code: "model_stream_broken"},
		{name: "a page", kind: "gemini", answer: sends(`<html>`), code: "model_stream_broken"},
		{name: "a refused key", kind: "gemini", answer: refuse(401, `{}`), code: "model_rejected"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, row.answer)
			got, err := provide(t, row.kind, f.URL).CountTokens(t.Context(), &inferencev1.CountTokensRequest{
				Model: "test/model-1", Instructions: "Be brief.", Messages: []*turnv1.Message{inferencetest.User("hello there")},
				Tools: []*inferencev1.ToolDefinition{tool},
			})
			if row.code != "" {
				if fault.CodeOf(err) != row.code {
					t.Errorf("%v, %v, want %s", got, err, row.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if row.want > 0 && (got.GetTokens() != row.want || got.GetEstimated()) ||
				row.note != "" && (!strings.Contains(got.GetNote(), row.note) || !got.GetEstimated() || got.GetTokens() < 5) {
				t.Errorf("got %v", got)
			}
			if row.path == "" {
				return
			}
			sent := f.seen()[0]
			if sent.path != row.path || !strings.Contains(sent.body, "hello there") || !strings.Contains(sent.body, "notes__add") ||
				!strings.Contains(sent.body, "Be brief.") || strings.Contains(sent.body, "max_tokens") {
				t.Errorf("sent %s to %s", sent.body, sent.path)
			}
		})
	}
}

func TestTheScriptedModelEmbeds(t *testing.T) {
	t.Parallel()
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	embed := func(texts ...string) [][]float32 {
		t.Helper()
		got, err := client.Embed(t.Context(), &inferencev1.EmbedRequest{Texts: texts})
		if err != nil || got.GetDimensions() != 64 || got.GetUsage().GetCostMicros() != 0 {
			t.Fatalf("%v, %v", got, err)
		}
		var out [][]float32
		for _, e := range got.GetEmbeddings() {
			out = append(out, e.GetValues())
		}
		return out
	}
	v := embed("Where is my order?", "The order is on its way", "Bananas are yellow", "???")
	if again := embed("Where is my order?"); !slices.Equal(again[0], v[0]) {
		t.Error("the same text has two vectors")
	}
	similar := func(a, b []float32) (sum float32) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	if s := similar(v[0], v[0]); s < 0.999 || s > 1.001 {
		t.Errorf("the length is %v", s)
	}
	if similar(v[0], v[1]) <= similar(v[0], v[2]) {
		t.Error("texts with the same words are less similar than others")
	}
	ranked, err := client.Rerank(t.Context(), &inferencev1.RerankRequest{
		Query: "where is the order", Documents: []string{"Bananas are yellow", "The order is on its way"}, TopN: 1,
	})
	if err != nil || len(ranked.GetResults()) != 1 || ranked.GetResults()[0].GetIndex() != 1 {
		t.Errorf("%v, %v", ranked, err)
	}
}

func TestKindsWithoutEmbeddingsSaySo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, model, profile, says string }{
		{"anthropic", "m", "", "has no embeddings"},
		{"openai-responses", "m", "", "has no embeddings"},
		{"bedrock", "amazon.nova-lite-v1:0", "", "makes no vectors"},
		{"openai", "m", "deepseek", "has no embeddings"},
	} {
		f := newFake(t, sends(`{}`))
		client := provide(t, row.kind, f.URL, regional, func(cfg *inference.Config) { cfg.Providers[0].Profile = row.profile })
		_, err := client.Embed(t.Context(), &inferencev1.EmbedRequest{Model: "test/" + row.model, Texts: []string{"a"}})
		if s := fault.From(err); !strings.Contains(s.Message, row.says) || s.Todo == "" || len(f.seen()) != 0 {
			t.Errorf("%s: %v", row.kind, err)
		}
	}
}
