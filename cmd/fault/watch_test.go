package fault_test

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// watch is a client that has some calls' details and asks one reader, in turn, whether they have changed.
type watch struct {
	*visitor
	reader  *reader
	details []*detail
	turn    int
}

// detail is what a client has of a call.
type detail struct {
	system  uuid.UUID
	path    string
	tag     string // of the first answer
	changed int    // how often the answer was another one
}

// watchedEach is how many calls of each phone system are watched: the oldest, of which most say nothing more.
const watchedEach = 10

const oldest = `
  select system_id, id from (
    select system_id, id, row_number() over (partition by system_id order by created_at, id) as age from projection.call_log
  ) c
  where age <= $1`

func newWatch(c *clients, r *reader) *watch {
	c.stage.tb.Helper()
	w := &watch{visitor: newVisitor(c), reader: r}
	rows, err := c.stage.pool.Query(c.stage.tb.Context(), oldest, watchedEach)
	if err != nil {
		c.stage.tb.Fatal(err)
	}
	w.details, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*detail, error) {
		var call uuid.UUID
		d := &detail{}
		err := row.Scan(&d.system, &call)
		d.path = "/" + d.system.String() + "/call-logs/" + call.String()
		return d, err
	})
	if err != nil {
		c.stage.tb.Fatal(err)
	}
	return w
}

func (w *watch) run(ctx context.Context) {
	w.every(ctx, crowdEvery, func() {
		w.look(ctx, w.details[w.turn%len(w.details)])
		w.turn++
	})
}

// look asks whether a detail is another one now. A call can be deleted.
func (w *watch) look(ctx context.Context, d *detail) (same bool) {
	got, ok := w.ask(ctx, w.reader, d.path, w.stage.keyring.systems[d.system], d.tag, http.StatusNotModified, http.StatusNotFound)
	switch {
	case ok && d.tag == "":
		d.tag = got.header.Get("ETag")
	case ok, got.status == http.StatusNotFound:
		d.changed++
	}
	return got.status == http.StatusNotModified
}

// examine counts the details that are what they were. Those never were anything else.
func (w *watch) examine(ctx context.Context) (same int) {
	for _, d := range w.details {
		if !w.look(ctx, d) {
			continue
		}
		same++
		if d.changed > 0 {
			w.complain("%s%s: it has not changed, and %d answers said so", w.reader.name, d.path, d.changed)
		}
	}
	return same
}
