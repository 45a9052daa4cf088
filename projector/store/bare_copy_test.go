package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
)

// BareCopy copies the bytes that [Fill] makes of a state and returns how many and how long that took, without the time to make them:
// the baseline of a benchmark.
func BareCopy(ctx context.Context, conn *pgx.Conn, state *fold.State) (size int64, took time.Duration, err error) {
	shape, err := ReadCatalog(ctx, conn, "")
	if err != nil {
		return 0, 0, err
	}
	for _, r := range relations() {
		var made bytes.Buffer
		if err := r.copyTo(&made, state, shape.widths[r.name]); err != nil {
			return 0, 0, err
		}
		size += int64(made.Len())
		began := time.Now()
		_, err := conn.PgConn().CopyFrom(ctx, io.Reader(&made), fmt.Sprintf("copy %s (%s) from stdin (format binary)", r.name, shape.present(r)))
		if err != nil {
			return 0, 0, err
		}
		took += time.Since(began)
	}
	return size, took, nil
}
