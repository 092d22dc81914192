package document

import (
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/fault"
)

// MediaType returns the declared media type, or else one by the extension of a name, of documents that are text. It is what the service
// uses until it has parsers.
func MediaType(name, declared string, data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", fault.Invalid("media_type", "the content is no text in UTF-8")
	}
	if declared != "" {
		base, _, err := mime.ParseMediaType(declared)
		if err != nil {
			return "", fault.Invalid("media_type", "%q is no media type", declared)
		}
		return base, nil
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown", nil
	case ".html", ".htm":
		return "text/html", nil
	case ".csv":
		return "text/csv", nil
	case ".json":
		return "application/json", nil
	}
	return "text/plain", nil
}
