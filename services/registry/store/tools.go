package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// sqlTools implements ToolStore.
type sqlTools struct {
	db eventDB
	// called reads tools by tenant and name, one for each call.
	called *sqldb.Fresh[[2]string, Tool]
	// offered reads a few tools with their definitions, by tenant and names.
	offered *sqldb.Fresh[[2]string, []Tool]
}

// chunk limits the number of placeholders in one statement.
const chunk = 400

const toolColumns = `t.tenant, t.name, t.original_name, t.definition_hash, t.drifted_hash, t.created_us, t.updated_us, d.effect`

const toolTables = ` FROM tools t JOIN sources s ON s.tenant = t.tenant AND s.id = t.source_id
	JOIN tool_definitions d ON d.tenant = t.tenant AND d.hash = t.definition_hash`

// definitionColumns are those of a definition but the raw one, which may be a megabyte: only what needs that reads it.
const definitionColumns = `d.tenant, d.hash, d.name, d.source, d.original_name, d.title, d.description, d.input_schema,
	d.output_schema, d.effect, d.created_us, d.tags, d.deprecated`

func (q sqlTools) ToolNames(ctx context.Context, tenant, source, after string, limit int) ([]string, error) {
	query := `SELECT t.name FROM tools t JOIN sources s ON s.tenant = t.tenant AND s.id = t.source_id
		WHERE t.tenant = $1 AND t.name > $2 AND t.present = $3 AND s.disabled = $4`
	args := []any{tenant, after, true, false, limit}
	if source != "" {
		query += ` AND s.name = $6`
		args = append(args, source)
	}
	return sqldb.All(ctx, q.db.Reader(), sqldb.Column[string], query+` ORDER BY t.name LIMIT $5`, args...)
}

func (q sqlTools) ToolsVersion(ctx context.Context, tenant string) (string, error) {
	return sqldb.One(ctx, q.db.Reader(), func(row sqldb.Scanner) (string, error) {
		var count, newest, revisions int64
		err := row.Scan(&count, &newest, &revisions)
		return fmt.Sprintf("%d-%d-%d", count, newest, revisions), err
	}, `SELECT COUNT(*), COALESCE(MAX(t.updated_us), 0), COALESCE(SUM(s.revision), 0) FROM sources s LEFT JOIN tools t
		ON t.tenant = s.tenant AND t.source_id = s.id AND t.present = $2 AND t.drifted_hash = ''
		WHERE s.tenant = $1 AND s.disabled = $3`, tenant, true, false)
}

// ToolText is what people and models read of a tool.
type ToolText struct {
	Name, Title, Description string
	Tags                     []string
}

func (q sqlTools) ToolTexts(ctx context.Context, tenant, after string, limit int) ([]ToolText, error) {
	return sqldb.All(ctx, q.db.Reader(), func(row sqldb.Scanner) (t ToolText, err error) {
		var tags []byte
		if err := row.Scan(&t.Name, &t.Title, &t.Description, &tags); err != nil {
			return t, err
		}
		return t, decodeList(tags, &t.Tags)
	}, `SELECT t.name, d.title, d.description, d.tags`+toolTables+`
		WHERE t.tenant = $1 AND t.present = $2 AND s.disabled = $3 AND t.drifted_hash = '' AND t.name > $4
		ORDER BY t.name LIMIT $5`, tenant, true, false, after, limit)
}

func (q eventDB) tools() sqlTools {
	const (
		calledKept, offeredKept = 1024, 64

		selectTool = `SELECT ` + toolColumns + `, ` + sourceColumns + toolTables + ` WHERE t.tenant = $1 AND t.name = $2 AND t.present = $3`
	)
	out, tables := sqlTools{db: q}, []string{"tools", "sources", "tool_definitions"}
	out.called = sqldb.NewFresh(q.DB, calledKept, tables, func(ctx context.Context, key [2]string) (Tool, error) {
		return sqldb.One(ctx, q.Reader(), scanTool, selectTool, key[0], key[1], true)
	})
	out.offered = sqldb.NewFresh(q.DB, offeredKept, tables, func(ctx context.Context, key [2]string) ([]Tool, error) {
		return out.read(ctx, key[0], strings.Split(key[1], " "))
	})
	return out
}

func (q sqlTools) Tool(ctx context.Context, tenant, name string) (Tool, error) {
	return q.called.Get(ctx, [2]string{tenant, name})
}

func (q sqlTools) Tools(ctx context.Context, tenant string, names []string) ([]Tool, error) {
	const few = 16 // definitions can be large
	if len(names) == 0 || len(names) > few || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, " ") }) {
		return q.read(ctx, tenant, names)
	}
	found, err := q.offered.Get(ctx, [2]string{tenant, strings.Join(names, " ")})
	return slices.Clone(found), err
}

func (q sqlTools) read(ctx context.Context, tenant string, names []string) ([]Tool, error) {
	return inChunks(names, func(part []string) ([]Tool, error) {
		args := []any{tenant, true}
		return sqldb.All(ctx, q.db.Reader(), scanFullTool, `SELECT `+toolColumns+`, `+sourceColumns+`, `+definitionColumns+toolTables+`
			WHERE t.tenant = $1 AND t.present = $2 AND t.name IN (`+places(&args, part)+`) ORDER BY t.name`, args...)
	})
}

func (q sqlTools) Definitions(ctx context.Context, tenant string, hashes []string) ([]Definition, error) {
	return inChunks(hashes, func(part []string) ([]Definition, error) {
		args := []any{tenant}
		return sqldb.All(ctx, q.db.Reader(), scanDefinition, `SELECT `+definitionColumns+`, d.raw_json FROM tool_definitions d
			WHERE d.tenant = $1 AND d.hash IN (`+places(&args, part)+`)`, args...)
	})
}

func (q sqlTools) Counts(ctx context.Context) (tools, sources int, err error) {
	type pair struct{ tools, sources int }
	found, err := sqldb.One(ctx, q.db.Reader(), func(row sqldb.Scanner) (p pair, err error) {
		return p, row.Scan(&p.tools, &p.sources)
	}, `SELECT COALESCE(SUM(tool_count), 0), COUNT(*) FROM sources WHERE state = $1 AND disabled = $2`, Ready, false)
	return found.tools, found.sources, err
}

// inChunks calls read with chunks of the values and concatenates the rows in order.
func inChunks[T any](values []string, read func([]string) ([]T, error)) ([]T, error) {
	var all []T
	for len(values) > 0 {
		n := min(len(values), chunk)
		rows, err := read(values[:n])
		if err != nil {
			return nil, err
		}
		all, values = append(all, rows...), values[n:]
	}
	return all, nil
}

// places appends the values to args and returns their placeholders.
func places(args *[]any, values []string) string {
	text := make([]string, len(values))
	for i, v := range values {
		*args = append(*args, v)
		text[i] = fmt.Sprintf("$%d", len(*args))
	}
	return strings.Join(text, ",")
}

func scanTool(row sqldb.Scanner) (t Tool, err error) {
	var f toolFields
	if err := row.Scan(f.into(&t)...); err != nil {
		return t, err
	}
	return t, f.finish(&t)
}

func scanFullTool(row sqldb.Scanner) (t Tool, err error) {
	var f toolFields
	var d definitionFields
	if err := row.Scan(append(f.into(&t), d.into(&t.Definition)...)...); err != nil {
		return t, err
	}
	if err := d.finish(&t.Definition); err != nil {
		return t, err
	}
	return t, f.finish(&t)
}

// toolFields holds the columns of a tool that need decoding.
type toolFields struct {
	created, updated int64
	declared         Effect
	source           sourceFields
}

func (f *toolFields) into(t *Tool) []any {
	own := []any{&t.Tenant, &t.Name, &t.OriginalName, &t.DefinitionHash, &t.DriftedHash, &f.created, &f.updated, &f.declared}
	return append(own, f.source.into(&t.Source)...)
}

func (f *toolFields) finish(t *Tool) error {
	if err := f.source.finish(&t.Source); err != nil {
		return err
	}
	t.CreateTime, t.UpdateTime = sqldb.Time(f.created), sqldb.Time(f.updated)
	t.Effect = t.Source.effect(t.OriginalName, f.declared)
	return nil
}

func scanDefinition(row sqldb.Scanner) (d Definition, err error) {
	var f definitionFields
	if err := row.Scan(append(f.into(&d), &d.Raw)...); err != nil {
		return d, err
	}
	return d, f.finish(&d)
}

// definitionFields holds the columns of a definition that need decoding.
type definitionFields struct {
	created int64
	tags    []byte
}

func (f *definitionFields) into(d *Definition) []any {
	return []any{
		&d.Tenant, &d.Hash, &d.Name, &d.Source, &d.OriginalName, &d.Title, &d.Description, &d.InputSchema,
		&d.OutputSchema, &d.Effect, &f.created, &f.tags, &d.Deprecated,
	}
}

func (f *definitionFields) finish(d *Definition) error {
	d.CreateTime = sqldb.Time(f.created)
	return decodeList(f.tags, &d.Tags)
}
