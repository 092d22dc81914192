package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"github__listPullRequests": "github list pull request",
		"HTTPServer2 parseURL":     "http server2 parse url",
		"Categories, boxes, glass": "category box glass",
		"naïve café status":        "naïve café status",
		" -- ":                     "",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	x := New([]Document{
		{Name: "github__create_issue", Description: "Opens a new issue in a repository."},
		{Name: "github__list_issues", Description: "Lists the issues of a repository, newest first."},
		{Name: "github__merge", Title: "Merge a pull request", Description: "Merges a pull request into its base branch."},
		{Name: "mail__send", Description: "Sends a message to a person, for example about an issue.", Tags: []string{"mail"}},
		{Name: "calculator__evaluate", Description: "Evaluates an arithmetic expression."},
	})
	for query, want := range map[string]string{
		"create issue":         "github__create_issue github__list_issues mail__send",
		"pull requests":        "github__merge",
		"send an email":        "mail__send calculator__evaluate",
		"repo":                 "github__create_issue github__list_issues",
		"evaluating sums":      "",
		"":                     "",
		"Send mail to someone": "mail__send",
	} {
		var names []string
		for _, h := range x.Find(query) {
			names = append(names, h.Name)
		}
		if got := strings.Join(names, " "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

func TestAnEmptyIndexFindsNothing(t *testing.T) {
	if got := New(nil).Find("anything"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// TestTheBestToolComesFirst asks for what each of many tools says of itself.
func TestTheBestToolComesFirst(t *testing.T) {
	var all []Document
	for _, verb := range []string{"create", "list", "delete", "update", "export"} {
		for _, noun := range []string{"invoice", "customer", "warehouse", "shipment", "refund", "contract"} {
			all = append(all, Document{Name: "erp__" + verb + "_" + noun, Description: fmt.Sprintf("%s %ss of the company.", verb, noun)})
		}
	}
	x := New(all)
	for _, d := range all {
		hits := x.Find(d.Description)
		if i := slices.IndexFunc(hits, func(h Hit) bool { return h.Name == d.Name }); i != 0 {
			t.Errorf("%q: %s is at %d of %v", d.Description, d.Name, i, hits[0])
		}
	}
}

// TestALongDescriptionDoesNotHideAName has one tool that is explained at length beside short ones of the same kind.
func TestALongDescriptionDoesNotHideAName(t *testing.T) {
	x := New([]Document{
		{Name: "api__deleteChatCompletion", Description: "Delete a stored chat completion that was created before."},
		{Name: "api__getChatCompletion", Description: "Get a stored chat completion that was created before."},
		{Name: "api__listFiles", Description: "List files."},
		{Name: "api__createChatCompletion", Description: strings.Repeat("There is much to say about parameters and models. ", 40)},
	})
	if got := x.Find("create a chat completion"); got[0].Name != "api__createChatCompletion" {
		t.Errorf("got %v", got)
	}
}

func BenchmarkFind(b *testing.B) {
	var all []Document
	for i := range 10_000 {
		all = append(all, Document{
			Name:        fmt.Sprintf("source%d__operation_%d", i%50, i),
			Description: fmt.Sprintf("Reads the %d-th kind of thing from the archive of department %d, and says how old it is.", i, i%97),
		})
	}
	x := New(all)
	for b.Loop() {
		x.Find("archive of department 42")
	}
}
