package shield

import (
	"math"
	"regexp"
	"strings"
)

// formats are keys and tokens with a format of their own, as their issuers document them. The categories appear in events. A text without
// the literal, which each match has, is not searched.
var formats = []struct{ category, literal, expression string }{
	{"private_key", "PRIVATE KEY", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.()-]*-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)?`},
	{"private_key", "AGE-SECRET-KEY-1", `\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b`},
	{"jwt", "eyJ", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`},
	{"aws_key", "AKIA", `\bAKIA[A-Z0-9]{16}\b`},
	{"aws_key", "ASIA", `\bASIA[A-Z0-9]{16}\b`},
	{"aws_key", "ABIA", `\bABIA[A-Z0-9]{16}\b`},
	{"aws_key", "ACCA", `\bACCA[A-Z0-9]{16}\b`},
	{"azure_key", "AccountKey=", `\bAccountKey=[A-Za-z0-9+/]{86}==`},
	{"google_key", "AIza", `\bAIza[A-Za-z0-9_-]{35}`},
	{"google_key", "GOCSPX-", `\bGOCSPX-[A-Za-z0-9_-]{28}`},
	{"github_token", "gh", `\bgh[pousr]_[A-Za-z0-9]{36,}`},
	{"github_token", "github_pat_", `\bgithub_pat_[A-Za-z0-9_]{40,}`},
	{"gitlab_token", "gl", `\bgl(?:pat|ptt|rt|dt|soat|cbt|agent|oas)-[A-Za-z0-9_-]{20,}`},
	{"slack_token", "xox", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`},
	{"slack_token", "xapp-", `\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{16,}`},
	{"slack_webhook", "hooks.slack.com", `\bhooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+]{20,}`},
	{"stripe_key", "k_", `\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}`},
	{"stripe_key", "whsec_", `\bwhsec_[A-Za-z0-9+/]{24,}=*`},
	{"npm_token", "npm_", `\bnpm_[A-Za-z0-9]{36}\b`},
	{"pypi_token", "pypi-AgEI", `\bpypi-AgEI[A-Za-z0-9_-]{50,}`},
	{"sendgrid_key", "SG.", `\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`},
	{"shopify_token", "shp", `\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b`},
	{"digitalocean_token", "_v1_", `\bdo[opr]_v1_[a-f0-9]{64}\b`},
	{"vault_token", "hv", `\bhv[sbr]\.[A-Za-z0-9_-]{24,}`},
	{"huggingface_token", "hf_", `\bhf_[A-Za-z0-9]{34,}`},
	{"telegram_token", ":AA", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`},
	{"model_key", "sk-", `\bsk-[A-Za-z0-9_-]{20,}`},
	{"url_password", "://", `\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/?#@<>"']{1,100}:([^\s/?#@<>"'{}$]{3,200})@`},
}

// namedSecret is a value after a name such as "password".
const namedSecret = `(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|authorization)["']?\s*(?:[:=]|=>)\s*` +
	`(?:bearer\s+|basic\s+)?["']?([^\s"'<>,;]{12,200})`

// secretExpressions are those of secrets.
func secretExpressions() []string {
	out := []string{namedSecret}
	for _, f := range formats {
		out = append(out, f.expression)
	}
	return out
}

// secrets finds keys and tokens by their format, and random-looking values after names such as "password".
func secrets() detector {
	var list []detector
	for _, f := range formats {
		list = append(list, with(pattern(regexp.MustCompile(f.expression), f.category), f.literal))
	}
	named := checked(pattern(regexp.MustCompile(namedSecret), "secret"), random)
	return all(append(list, with(named, ":", "="))...)
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
