package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
)

// chunk is how many bytes of rows are encoded before they are sent: less than what one message of COPY takes.
const chunk = 32 << 10

// Fill copies every row of a state that started from nothing into the empty tables that conn finds on its search path, and returns
// how many. Rows lie as they are read: by phone system, then by time, then by key. The error is [ErrRange] where an integer doesn't
// fit, and PostgreSQL's own where it refuses a value.
func CopyState(ctx context.Context, conn *pgx.Conn, state *fold.State) (int64, error) {
	shape, err := ReadCatalog(ctx, conn, "")
	if err != nil {
		return 0, err
	}
	if missing := shape.Missing(); len(missing) > 0 {
		return 0, fmt.Errorf("fill: not there: %v", missing)
	}
	var rows int64
	for _, r := range relations() {
		n, err := r.fill(ctx, conn, state, shape)
		if err != nil {
			return 0, fmt.Errorf("fill %s: %w", r.name, err)
		}
		rows += n
	}
	return rows, nil
}

func (r relation) fill(ctx context.Context, conn *pgx.Conn, state *fold.State, shape Catalog) (int64, error) {
	from, to := io.Pipe()
	encoding := make(chan error, 1)
	go func() {
		err := r.copyTo(to, state, shape.widths[r.name])
		to.CloseWithError(err)
		encoding <- err
	}()
	statement := fmt.Sprintf("copy %s (%s) from stdin (format binary)", r.name, shape.present(r))
	tag, err := conn.PgConn().CopyFrom(ctx, from, statement)
	from.Close()
	// A closed pipe is a copy that has failed already.
	if encodingErr := <-encoding; encodingErr != nil && !errors.Is(encodingErr, io.ErrClosedPipe) {
		return 0, encodingErr
	}
	return tag.RowsAffected(), err
}

// copyTo writes the state's rows as a whole COPY.
func (r relation) copyTo(w io.Writer, state *fold.State, widths []int16) error {
	out := bufio.NewWriterSize(w, chunk)
	if _, err := out.Write(append([]byte(copySignature), make([]byte, copyHeader-len(copySignature))...)); err != nil {
		return err
	}
	for row, err := range r.encoded(state, true, widths, "") {
		if err != nil {
			return err
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	if _, err := out.Write(binary.BigEndian.AppendUint16(nil, copyEnd)); err != nil {
		return err
	}
	return out.Flush()
}
