package sqldb

import "database/sql"

// Stats describes the connections that statements share: on PostgreSQL all of them, on SQLite those that read.
func (db *DB) Stats() sql.DBStats { return db.read.Stats() }
