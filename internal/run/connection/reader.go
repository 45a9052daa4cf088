package connection

import (
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// ReaderSettings returns the settings of a reader's sessions, and additional ones. A plan must not depend on what the planner knows about
// the tables: it would prefer a bitmap scan and a sort to the index that has a page in order. A scan that can't be avoided costs so much
// under enable_seqscan = off that it would be compiled.
func ReaderSettings(additional map[string]string) map[string]string {
	settings := map[string]string{
		"plan_cache_mode":   "force_generic_plan",
		"enable_bitmapscan": "off",
		"enable_seqscan":    "off",
		"jit":               "off",
	}
	maps.Copy(settings, additional)
	return settings
}

// cancelTime is how long a connection waits for the end of a statement that it has cancelled, before it closes.
const cancelTime = time.Second

// CancelStatements makes connections cancel a statement whose context ends, and go on. Otherwise they close, and the next statement needs a
// new one. A connection that has cancelled a statement is not used for 100 ms, so that it can't cancel the next one.
func CancelStatements(config *pgconn.Config) {
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelTime}
	}
}
