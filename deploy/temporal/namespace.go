package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is how long the histories of finished turns are kept, for people who look at them here: half of what a turn takes on the disk.
// The turns themselves are in the journal, without an end.
const retention = 30 * 24 * time.Hour

type attributeTypes = map[string]enumspb.IndexedValueType

// ensureNamespaces creates missing namespaces and adds missing attributes to existing ones. It writes to the database while the server is
// down: through the API each change would take seconds to reach the caches.
func ensureNamespaces(ctx context.Context, cfg *config.SQL, names []string, attributes attributeTypes) error {
	db, err := sql.NewSQLDB(sqlplugin.DbKindMain, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(),
		metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer db.Close()
	if err := keepStatements(ctx, db, dsn(cfg)); err != nil {
		return err
	}
	for _, name := range names {
		rows, err := db.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &name})
		if err == nil && len(rows) == 1 {
			err = addAttributes(ctx, db, rows[0], attributes)
		} else {
			// "Not found" is a driver error here; other errors are returned by the insert.
			err = createNamespace(cfg, name, attributes)
		}
		if err != nil {
			return fmt.Errorf("namespace %q: %w", name, err)
		}
	}
	return nil
}

func createNamespace(cfg *config.SQL, name string, attributes attributeTypes) error {
	ns, err := sqlite.NewNamespaceConfig(clusterName, name, false, attributes)
	if err != nil {
		return err
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	return sqlite.CreateNamespaces(cfg, ns)
}

func addAttributes(ctx context.Context, db sqlplugin.DB, row sqlplugin.NamespaceRow, attributes attributeTypes) error {
	encoding, err := enumspb.EncodingTypeFromString(row.DataEncoding)
	if err != nil {
		return err
	}
	serializer := serialization.NewSerializer()
	detail, err := serializer.NamespaceDetailFromBlob(&commonpb.DataBlob{Data: row.Data, EncodingType: encoding})
	if err != nil {
		return err
	}
	changed, err := assignColumns(detail, attributes)
	if err != nil || !changed {
		return err
	}
	blob, err := serializer.NamespaceDetailToBlob(detail)
	if err != nil {
		return err
	}
	row.Data, row.DataEncoding = blob.GetData(), blob.GetEncodingType().String()
	_, err = db.UpdateNamespace(ctx, &row)
	return err
}

// assignColumns assigns a free column of its type to each missing attribute. SQL stores have a fixed set of columns; a namespace only maps
// names to them.
func assignColumns(detail *persistencespb.NamespaceDetail, attributes attributeTypes) (changed bool, err error) {
	columns := sadefs.GetDBIndexSearchAttributes(nil).CustomSearchAttributes
	if detail.Config.CustomSearchAttributeAliases == nil {
		detail.Config.CustomSearchAttributeAliases = map[string]string{}
	}
	aliases := detail.Config.CustomSearchAttributeAliases
	taken := map[string]string{}
	for column, alias := range aliases {
		taken[alias] = column
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		want := attributes[name]
		if column, ok := taken[name]; ok {
			if have := columns[column]; have != want {
				return false, fmt.Errorf("search attribute %s is %s in this file, not %s", name, have, want)
			}
			continue
		}
		column, ok := freeColumn(columns, aliases, want)
		if !ok {
			return false, fmt.Errorf("no room for search attribute %s: all columns for %s are in use", name, want)
		}
		aliases[column], changed = name, true
	}
	return changed, nil
}

func freeColumn(columns attributeTypes, aliases map[string]string, want enumspb.IndexedValueType) (string, bool) {
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if _, used := aliases[column]; !used && columns[column] == want {
			return column, true
		}
	}
	return "", false
}
