package parse

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/plain"
)

// Media types that say little.
const (
	typePlain   = "text/plain"
	typeUnknown = "application/octet-stream"
	typeZIP     = "application/zip"
)

// sniffed is how many bytes of a text are searched for those that no text has.
const sniffed = 64 << 10

// MediaType returns the type of a file: what its content is, and for text what is declared or its name says. The error is an *Error if the
// file cannot be read, or is not what is declared. Parameters that are declared, such as charset, remain.
func MediaType(name, declared string, data []byte) (string, error) {
	switch {
	case len(data) > MaxData:
		return "", document.Refuse("has more than %d MiB: split it into several documents", MaxData>>20)
	case len(bytes.TrimSpace(data)) == 0:
		return "", document.Refuse("is empty")
	}
	says, params, err := mime.ParseMediaType(declared)
	if declared != "" && (err != nil || !strings.Contains(says, "/")) {
		return "", document.Refuse("is declared with something that is not a media type")
	}
	if says == typeUnknown {
		says = ""
	}
	found, err := sniff(name, data)
	if err != nil {
		return "", err
	}
	named := typeOf(name)
	if found != typePlain {
		if says != "" && says != found && (says != typeZIP || !isOffice(found)) && !isMacro(says, found) {
			return "", document.Refuse("is declared as %s, but its content is %s", says, found)
		}
		return found, nil
	}
	switch {
	case says != "" && !plain.IsText(says):
		return "", document.Refuse("is declared as %s, but its content is text", says)
	case says == "" && named != "" && !plain.IsText(named):
		return "", document.Refuse("is named like %s, but its content is text", named)
	case (says == "" || says == typePlain) && named != "" && plain.IsText(named):
		says = named
	case says == "":
		says = textType(data)
	}
	if set := params["charset"]; set != "" {
		return mime.FormatMediaType(says, map[string]string{"charset": set}), nil
	}
	return says, nil
}

// baseType returns a media type without its parameters.
func baseType(mediaType string) string {
	base, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// typeOf returns the media type of files with such a name, "" for unknown ones.
func typeOf(name string) string {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	switch base {
	case "makefile", "dockerfile", "jenkinsfile", "gemfile", "rakefile", "tiltfile":
		return "text/x-" + base
	}
	for _, f := range formats() {
		if t := f.TypeOf(path.Ext(base)); t != "" {
			return t
		}
	}
	return ""
}

// parts are what documents of Office have in their archives.
func parts() []string { return []string{"word/document", "ppt/presentation", "xl/workbook"} }

func isOffice(mediaType string) bool {
	return strings.HasPrefix(mediaType, "application/vnd.openxmlformats-officedocument.")
}

// isMacro reports whether a media type is that of such a document with macros, which are not read.
func isMacro(says, found string) bool {
	return strings.HasPrefix(says, "application/vnd.ms-") && strings.Contains(says, ".macroenabled.") && isOffice(found)
}

// sniff returns the type of a content: text/plain for all text.
func sniff(name string, data []byte) (string, error) {
	switch begin := data[:min(len(data), sniffed)]; {
	case bytes.Contains(begin[:min(len(begin), 1024)], []byte("%PDF-")):
		return "application/pdf", nil
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return office(name, data)
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		if bytes.Contains(data, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")) {
			return "", document.Refuse("is an encrypted Office document: save it without a password")
		}
		return "", document.Refuse("is a document of Office 2003 or older, or a message of Outlook: save it as DOCX, PPTX, XLSX or PDF")
	case charset.HasMark(data):
		return typePlain, nil
	default:
		found, _, _ := mime.ParseMediaType(http.DetectContentType(data))
		if bytes.IndexByte(begin, 0) >= 0 || !strings.HasPrefix(found, "text/") && found != typeUnknown {
			return "", document.Refuse("is of the type %s, which cannot be read: upload text, PDF, DOCX, PPTX or XLSX", found)
		}
		return typePlain, nil
	}
}

// office returns the type of a ZIP archive: which kind of document its first part with a known name is of.
func office(name string, data []byte) (string, error) {
	best, first := "", len(data)
	extensions := []string{".docx", ".pptx", ".xlsx"}
	for i, part := range parts() {
		at := bytes.Index(data, []byte(part))
		if at < 0 {
			continue
		}
		found := typeOf("a" + extensions[i])
		if found == typeOf(name) {
			return found, nil
		}
		if at < first {
			best, first = found, at
		}
	}
	if best == "" {
		return "", document.Refuse("is of the type %s, which cannot be read: upload the files in it", typeZIP)
	}
	return best, nil
}

// textType returns the type of a text that has neither a declared type nor a name.
func textType(data []byte) string {
	begin := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 512)]))
	for _, tag := range []string{"<!doctype html", "<html"} {
		if bytes.HasPrefix(begin, []byte(tag)) {
			return "text/html"
		}
	}
	return typePlain
}
