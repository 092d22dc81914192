package site

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
)

// Limits of a search: anyone may search, so a long query is cut rather than refused.
const (
	maxQuery = 200 // bytes
	maxTerms = 8
	maxHits  = 30
	// maxSections is how many sections of one page are found.
	maxSections = 3
	// snippetSize is how many bytes of a section a result shows.
	snippetSize = 180
)

// What a term counts for a section by where it is, besides what it counts for the text, which is less than 1. Rare terms count more.
const (
	titleScore   = 2
	headingScore = 1.5
	// phraseScore is for a text that has the query as it was written.
	phraseScore = 2
	// decisionShare is what of its score a decision has: decisions explain the past.
	decisionShare = 0.5
	// codeShare is what a term in code counts: most pages run the same commands.
	codeShare = 0.2
	// fullLength is the length of a text, in bytes, in which a term counts half as much as in a very short one.
	fullLength = 2000
)

// hit is a section that a search found.
type hit struct {
	Title, Heading, Address string
	Snippet                 []span
	section                 section
	score                   float64
}

// span is a part of a snippet. Match means that it is a term of the query.
type span struct {
	Text  string
	Match bool
}

// results serves the result of a search.
func (s *Site) results(w http.ResponseWriter, r *http.Request, query string) {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	s.render(w, r, http.StatusOK, view{Title: "Search", Query: query, Hits: s.search(query)})
}

// sections returns the sections of all pages.
func (s *Site) sections() []section {
	var all []section
	for _, file := range slices.Sorted(maps.Keys(s.pages)) {
		if file == home || file == decisions+home {
			continue // lists of titles
		}
		if c, err := s.pages[file].load(); err == nil { // what is embedded can be read
			for _, at := range c.sections {
				at.folded.title, at.folded.heading = lower(at.title), lower(at.heading)
				at.folded.text, at.folded.code = lower(at.text), lower(at.code)
				all = append(all, at)
			}
		}
	}
	return all
}

// search returns the sections in which all terms of a query are, the best first. A term is found where a word begins with it.
func (s *Site) search(query string) []hit {
	terms := terms(query)
	if len(terms) == 0 {
		return nil
	}
	all := s.index()
	phrase := strings.Join(terms, " ")
	counts := make([]float64, len(terms)) // of sections that have the term
	scores := make([][]float64, 0, maxHits)
	var found []section
	for _, at := range all {
		score, complete := at.scores(terms)
		for i := range score {
			if score[i] > 0 {
				counts[i]++
			}
		}
		if complete {
			found, scores = append(found, at), append(scores, score)
		}
	}
	hits := make([]hit, 0, len(found))
	for n, at := range found {
		to, total := at.page.address, 0.0
		if at.anchor != "" {
			to += "#" + at.anchor
		}
		for i, score := range scores[n] {
			total += score * math.Log(1+float64(len(all))/max(1, counts[i]))
		}
		if len(terms) > 1 && strings.Contains(at.folded.text, phrase) {
			total += phraseScore
		}
		if strings.HasPrefix(at.page.file, decisions) {
			total *= decisionShare
		}
		hits = append(hits, hit{Title: at.title, Heading: at.heading, Address: to, section: at, score: total})
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	pages := map[string]int{}
	hits = slices.DeleteFunc(hits, func(h hit) bool {
		to, _, _ := strings.Cut(h.Address, "#")
		pages[to]++
		return pages[to] > maxSections
	})
	hits = hits[:min(len(hits), maxHits)]
	for i := range hits {
		hits[i].Snippet = snippet(hits[i].section, terms)
	}
	return hits
}

// scores returns what each term counts for a section, and whether it has all of them.
func (at section) scores(terms []string) (scores []float64, complete bool) {
	scores, complete = make([]float64, len(terms)), true
	for i, term := range terms {
		n := float64(count(at.folded.text, term)) + codeShare*float64(count(at.folded.code, term))
		scores[i] = n / (n + 0.5 + float64(len(at.text))/fullLength)
		if count(at.folded.heading, term) > 0 {
			scores[i] += headingScore
		}
		if count(at.folded.title, term) > 0 {
			scores[i] += titleScore
		}
		complete = complete && scores[i] > 0
	}
	return scores, complete
}

// terms returns the words of a query in lower case. A plural finds the singular.
func terms(query string) []string {
	var all []string
	for word := range strings.FieldsSeq(lower(query)) {
		word = strings.Trim(word, `.,;:!?"'()`+"`")
		if len(word) > 3 {
			word = strings.TrimSuffix(word, "s")
		}
		if word != "" && len(all) < maxTerms && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// lower changes ASCII letters only, so that positions stay.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// find returns where a word of a text in lower case begins with a term, at or after from; -1 if none does.
func find(text, term string, from int) int {
	for from < len(text) {
		i := strings.Index(text[from:], term)
		if i < 0 {
			return -1
		}
		if from += i; from == 0 || !isWord(text[from-1]) || !isWord(term[0]) {
			return from
		}
		from += len(term)
	}
	return -1
}

func isWord(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= 0x80 }

// count returns how many words of a text in lower case begin with a term.
func count(text, term string) int {
	n := 0
	for i := find(text, term, 0); i >= 0; i = find(text, term, i+len(term)) {
		n++
	}
	return n
}

// snippet returns the part of a section's text, or else of its code, around the first term, with the words of the query marked.
func snippet(at section, terms []string) []span {
	text, first := at.text, firstOf(at.folded.text, terms)
	if i := firstOf(at.folded.code, terms); first < 0 && i >= 0 {
		text, first = at.code, i
	}
	first = max(first, 0)
	start := max(0, first-snippetSize/3)
	if i := strings.IndexByte(text[start:first], ' '); start > 0 {
		start += i + 1 // after a space, if there is one
	}
	end := min(len(text), start+snippetSize)
	if i := strings.LastIndexByte(text[start:end], ' '); end < len(text) && i > 0 {
		end = start + i
	}
	return marked(strings.ToValidUTF8(text[start:end], ""), terms)
}

// firstOf returns where the first of some terms is in a text in lower case, -1 if none is.
func firstOf(text string, terms []string) int {
	first := -1
	for _, term := range terms {
		if i := find(text, term, 0); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// marked splits a text where words begin with one of some terms.
func marked(text string, terms []string) []span {
	var spans []span
	folded := lower(text)
	for at := 0; at < len(text); {
		next, end := len(text), len(text)
		for _, term := range terms {
			if i := find(folded, term, at); i >= 0 && i < next {
				next, end = i, i+len(term)
			}
		}
		for end < len(text) && isWord(folded[end]) {
			end++
		}
		spans = append(spans, span{Text: text[at:next]}, span{Text: text[next:end], Match: true})
		at = end
	}
	return slices.DeleteFunc(spans, func(s span) bool { return s.Text == "" })
}
