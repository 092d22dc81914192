package shield

import (
	"math"
	"regexp"
	"strings"
)

// secrets finds keys and tokens by their format, and random-looking values after names such as "password".
func secrets() detector {
	re := func(category, expression string) detector { return pattern(regexp.MustCompile(expression), category) }
	return all(
		re("private_key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\:,-]*-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----)?`),
		re("jwt", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
		re("aws_key", `\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`),
		re("google_key", `\bAIza[A-Za-z0-9_-]{35}`),
		re("github_token", `\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})`),
		re("slack_token", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`),
		re("stripe_key", `\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`),
		re("model_key", `\bsk-[A-Za-z0-9_-]{20,}`),
		checked(re("secret",
			`(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|authorization)["']?\s*(?:[:=]|=>)\s*(?:bearer\s+|basic\s+)?["']?([^\s"'<>,;]{12,200})`), random),
	)
}

// minEntropy is the minimum entropy per character of a random value in bits; words of a language have less.
const minEntropy = 3.2

// random reports whether a value looks random: several kinds of characters, and hardly any repetition.
func random(value string) bool {
	if strings.HasPrefix(value, "${") || strings.HasPrefix(value, "[redacted") {
		return false
	}
	var letters, digits bool
	count := map[rune]int{}
	n := 0
	for _, c := range value {
		letters = letters || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		digits = digits || c >= '0' && c <= '9'
		count[c]++
		n++
	}
	entropy := 0.0
	for _, k := range count {
		p := float64(k) / float64(n)
		entropy -= p * math.Log2(p)
	}
	return letters && digits && entropy >= minEntropy
}
