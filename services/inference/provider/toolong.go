package provider

import (
	"regexp"
	"strings"
)

// Words of providers. There is no common code for a conversation that is too long; each says it in its own words.
var (
	// certainly are words that are said of nothing else.
	certainly = regexp.MustCompile(`context[ _-]?(length|size|window|limit)|maximum context|max[ _]?context|prompt is too long|` +
		`(input|prompt|request|conversation) (is |was )?too (long|large|many tokens)|maximum prompt length|max_model_len|max_input_tokens|` +
		`exceed_context_size|tokens_limit_reached|reduce the length of the (messages|prompt|input)`)
	// about and beyond together say it, unless they are about something else.
	about  = regexp.MustCompile("\\b(prompts?|inputs?|contexts?|conversations?|requests?|messages?|sequences?|history)\\b|`inputs`")
	tokens = regexp.MustCompile(`\btokens?\b|token count|\b(too long|sequence length|input length|prompt length|length of)\b`)
	beyond = regexp.MustCompile(`exceed|too (long|large|many|big)|longer than|larger than|greater than|more than|over the|above the|` +
		`beyond|must be (<=|less|at most|smaller|below|under)|must not be (longer|more)|maximum|at most|overflow|does not fit|max size|limit of`)
	// other are things that are too large, or too many, in similar words.
	other = regexp.MustCompile(`per[ -](minute|min|day|hour|second|month|sec)\b|\b(tpm|rpm|tpd|rpd)\b|rate.?limit|quota|billing|credits?\b|` +
		`\b(images?|audio|video|files?|attachments?|pdfs?|pixels?|megabytes)\b|output tokens|completion tokens|` +
		`\bmax_(completion|output|new)?_?tokens\b|\bmaxoutputtokens\b|` +
		`\b(descriptions?|schemas?|functions?|tools?|stop sequences?|array|metadata|names?|tool_calls?|tool_use)\b`)
	// both is of the sum of input and output, which is that of a conversation.
	both = regexp.MustCompile("(inputs?`?|prompt|input length|input_tokens`?)( tokens| length)? *(\\+|and|plus) *[`'\"]?(max_|maximum)")
)

// tooLong reports whether words say that the conversation is too long for the model.
func tooLong(kind, message string) bool {
	kind, message = strings.ToLower(kind), strings.ToLower(message)
	rate := strings.Contains(kind, "rate_limit") || perTime.MatchString(message)
	switch {
	case rate:
		return false
	case certainly.MatchString(kind) || certainly.MatchString(message):
		return true
	case !beyond.MatchString(message) || !about.MatchString(message) || !tokens.MatchString(message):
		return false
	}
	return both.MatchString(message) || !other.MatchString(message)
}

// perTime are limits of an account, not of a model.
var perTime = regexp.MustCompile(`tokens? per[ -]|\bper[ -](minute|min|day|hour|second)\b|\((tpm|tpd|rpm)\)`)
