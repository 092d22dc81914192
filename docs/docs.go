// Package docs is the documentation of Windlass, for banks that answer from it.
package docs

import "embed"

// Files has the pages for users: how-to, explanation, reference and tutorial.
//
//go:embed explanation/*.md how-to/*.md reference/*.md tutorial/*.md
var Files embed.FS
