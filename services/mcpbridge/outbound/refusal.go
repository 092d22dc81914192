package outbound

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Refusal describes a status in words. wanted are the scopes that the server wants instead of those of the token; nil = it does not say so.
func Refusal(status int, wanted *[]string) string {
	switch {
	case wanted != nil:
		return strings.TrimSuffix("the server wants other scopes (status 403): "+strings.Join(*wanted, " "), ": ")
	case status == http.StatusUnauthorized:
		return "the server wants authentication (status 401): check the auth or the headers of its entry"
	case status == http.StatusForbidden:
		return "the server forbids access (status 403): check the auth or the headers of its entry"
	case status == http.StatusTooManyRequests:
		return "the server gets too many requests (status 429)"
	case status == http.StatusNotFound:
		return "there is nothing at the server's address (status 404): check its url"
	case status == http.StatusMethodNotAllowed:
		return "the server takes no such request at its address (status 405): check its url, and set transport to sse if it is of that kind"
	default:
		return fmt.Sprintf("the server refused the request (status %d)", status)
	}
}

// RetryAfter parses both forms of the header; 0 for anything else. It is limited to a day.
func RetryAfter(text string) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(text); err == nil {
		d = time.Duration(min(seconds, 86400)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = min(time.Until(at), 24*time.Hour)
	}
	return max(d, 0)
}
