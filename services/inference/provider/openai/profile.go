package openai

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// profile is how a server deviates from what most servers with OpenAI's chat API do.
type profile struct {
	// name is in the configuration; "" for those that are found by their host only.
	name string
	// baseURL is the server's address if the configuration has none.
	baseURL string
	// hosts are the ends of host names by which the profile is found.
	hosts []string

	// official has the newer name of the limit of tokens, which others refuse, and names that begin with any character.
	official bool
	// completionLimit has the newer name of the limit of tokens only.
	completionLimit bool
	// noStreamOptions: the server counts without being asked, and refuses the question.
	noStreamOptions bool
	// noReturn: the server refuses what it sent beside calls.
	noReturn bool
	// shortIDs: the ids of calls have nine characters.
	shortIDs bool
	// bridge: the server refuses a message of the user right behind a result.
	bridge bool
	// subset: the server knows a part of JSON Schema.
	subset bool
	// noVectors: the server has no embeddings, noRerank: no reranking.
	noVectors, noRerank bool
	// embedTokens is how many tokens the server embeds at once; 0 = as OpenAI.
	embedTokens int
	// sheet is what the server takes besides text.
	sheet provider.Sheet
}

// The sheets of servers.
var (
	imagesOnly = provider.Sheet{Images: sheet.Images, Tools: true, StructuredOutput: true}
	textOnly   = provider.Sheet{Tools: true, StructuredOutput: true}
	withAudio  = provider.Sheet{Images: sheet.Images, Audio: sheet.Audio, Tools: true, StructuredOutput: true}
	fewImages  = provider.Sheet{
		Images: provider.Images{Types: sheet.Images.Types, MaxEdge: 2048, MaxBytes: 3_000_000, MaxCount: 5}, Tools: true, StructuredOutput: true,
	}
	someImages = provider.Sheet{
		Images: provider.Images{Types: sheet.Images.Types, MaxEdge: 1540, MaxBytes: 10 << 20, MaxCount: 8}, Tools: true, StructuredOutput: true,
	}
	plainImages = provider.Sheet{
		Images: provider.Images{Types: []string{"image/png", "image/jpeg", "image/webp"}, MaxEdge: 2048}, Tools: true, StructuredOutput: true,
	}
)

// profiles lists the servers of which deviations are known.
var profiles = []profile{
	{hosts: []string{"openai.com"}, official: true, noRerank: true, sheet: sheet},
	{hosts: []string{".azure.com"}, official: true, noRerank: true, sheet: sheet},
	{hosts: []string{".googleapis.com"}, subset: true, noRerank: true, sheet: withAudio},
	{name: "vllm", baseURL: "http://127.0.0.1:8000/v1", sheet: withAudio},
	{
		name: "deepseek", baseURL: "https://api.deepseek.com/v1", hosts: []string{"deepseek.com"}, noVectors: true, noRerank: true,
		sheet: textOnly,
	},
	{
		name: "mistral", baseURL: "https://api.mistral.ai/v1", hosts: []string{"mistral.ai"}, noStreamOptions: true, noReturn: true,
		shortIDs: true, bridge: true, noRerank: true, embedTokens: 16_000, sheet: someImages,
	},
	{
		name: "groq", baseURL: "https://api.groq.com/openai/v1", hosts: []string{"groq.com"}, completionLimit: true, noReturn: true,
		noVectors: true, noRerank: true, sheet: fewImages,
	},
	{name: "openrouter", baseURL: "https://openrouter.ai/api/v1", hosts: []string{"openrouter.ai"}, sheet: sheet},
	{name: "lmstudio", baseURL: "http://127.0.0.1:1234/v1", noRerank: true, sheet: plainImages},
	{name: "llamacpp", baseURL: "http://127.0.0.1:8080/v1", sheet: withAudio},
}

// other is the profile of servers of which nothing is known.
var other = profile{sheet: imagesOnly}

// profileNames lists those that can be configured.
func profileNames() []string {
	var names []string
	for _, p := range profiles {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// profileOf returns the profile with a name, or else that of a host.
func profileOf(name, host string) profile {
	for _, p := range profiles {
		byHost := slices.ContainsFunc(p.hosts, func(end string) bool {
			return host == end || strings.HasSuffix(host, "."+strings.TrimPrefix(end, "."))
		})
		if name != "" && p.name == name || name == "" && byHost {
			return p
		}
	}
	return other
}
