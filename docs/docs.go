// Package docs holds the documentation: each gateway serves the pages of its own version, and banks answer from them.
package docs

import "embed"

// Files are the pages as Markdown, with their pictures and schemas. README.md lists the pages by kind.
//
//go:embed README.md adr explanation how-to images reference tutorial
var Files embed.FS
