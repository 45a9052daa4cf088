package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

// COPY's binary format is a signature, flags and the length of a header extension, four bytes each; then rows, each beginning with the
// number of its columns in two bytes; then a number that marks the end.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	copyHeader    = len(copySignature) + 4 + 4
	copyEnd       = 0xffff
)

// copyBuffer is how many bytes of rows are encoded before they are sent: less than one message of COPY takes.
const copyBuffer = 32 << 10

// CopyRowsInto writes what was folded from nothing, some phone systems of a partition, into tables that have no row of theirs, and the
// partition's position. The rows come in the order in which they are to lie; the change set's state is not used. It returns their number.
func (tx *Tx) CopyRowsInto(ctx context.Context, c ChangeSet, all TableRows) (rows int64, err error) {
	if rows, err = tx.copyRows(ctx, all); err != nil {
		return 0, err
	}
	var batch pgx.Batch
	queueMessageCounts(&batch, c.To.Partition, c.MessageCounts)
	queueDeadLetters(&batch, c)
	queuePosition(&batch, c.To)
	if err := tx.send(ctx, &batch); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return rows, nil
}

// ReplaceSystemRows replaces the rows of one phone system by others, which come in the order in which they are to lie. It returns their
// number. [uuid.Nil] stands for the rows of no single system.
func (tx *Tx) ReplaceSystemRows(ctx context.Context, partition int16, system uuid.UUID, all TableRows) (rows int64, err error) {
	for _, r := range tx.store.tables.relations {
		switch column := r.columns[r.system()]; {
		case r.partitioned:
			_, err = tx.tx.Exec(ctx, fmt.Sprintf("delete from %s where %s = $1 and %s = $2", r.name, partitionColumn, column), partition, schema.UUID(system))
		case !r.ofNoSystem():
			_, err = tx.tx.Exec(ctx, fmt.Sprintf("delete from %s where %s = $1", r.name, column), schema.UUID(system))
		case system == uuid.Nil:
			_, err = tx.tx.Exec(ctx, "delete from "+r.name)
		}
		if err != nil {
			return 0, fmt.Errorf("delete from %s: %w", r.name, err)
		}
	}
	return tx.copyRows(ctx, all)
}

// copyRows copies the rows of all tables, and returns their number. The error is [ErrRange] where an integer doesn't fit, and PostgreSQL's
// own where it refuses a value.
func (tx *Tx) copyRows(ctx context.Context, all TableRows) (rows int64, err error) {
	catalog, err := tx.store.ownCatalog(ctx, tx.tx.Conn())
	if err != nil {
		return 0, err
	}
	for _, r := range catalog.relations {
		n, err := copyIn(ctx, tx.tx.Conn(), catalog.copyInStatement(r), all(r.name))
		if err != nil {
			return 0, fmt.Errorf("copy %s: %w", r.name, err)
		}
		rows += n
	}
	return rows, nil
}

// ownCatalog describes the schema on the search path. It is read once.
func (s *Store) ownCatalog(ctx context.Context, conn *pgx.Conn) (Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog == nil {
		c, err := ReadCatalog(ctx, conn, "")
		if err != nil {
			return c, err
		}
		if missing := c.Missing(); len(missing) > 0 {
			return c, fmt.Errorf("copy: the schema lacks %v", missing)
		}
		s.catalog = &c
	}
	return *s.catalog, nil
}

func copyIn(ctx context.Context, conn *pgx.Conn, statement string, rows iter.Seq2[EncodedRow, error]) (int64, error) {
	from, to := io.Pipe()
	encoding := make(chan error, 1)
	go func() {
		err := writeCopy(to, rows)
		to.CloseWithError(err)
		encoding <- err
	}()
	tag, err := conn.PgConn().CopyFrom(ctx, from, statement)
	from.Close()
	// A closed pipe means that the copy has failed before.
	if encodingErr := <-encoding; encodingErr != nil && !errors.Is(encodingErr, io.ErrClosedPipe) {
		return 0, encodingErr
	}
	return tag.RowsAffected(), err
}

func (c Catalog) copyInStatement(r relation) string {
	return fmt.Sprintf("copy %s (%s) from stdin (format binary)", r.name, c.columns(r))
}

// writeCopy writes rows as a whole COPY.
func writeCopy(w io.Writer, rows iter.Seq2[EncodedRow, error]) error {
	out := bufio.NewWriterSize(w, copyBuffer)
	if _, err := out.Write(append([]byte(copySignature), make([]byte, copyHeader-len(copySignature))...)); err != nil {
		return err
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if _, err := out.Write(row.Data); err != nil {
			return err
		}
	}
	if _, err := out.Write(binary.BigEndian.AppendUint16(nil, copyEnd)); err != nil {
		return err
	}
	return out.Flush()
}
