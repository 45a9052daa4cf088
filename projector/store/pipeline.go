package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// statement changes rows and returns none.
type statement struct {
	sql       string
	arguments []any
	done      func(rows int64) error // called with the number of changed rows; may be nil
}

// pipelineBytes is how many bytes of parameters are encoded before they are sent.
const pipelineBytes = 64 << 10

// sendEarly executes statements in one round trip. Unlike send, it sends the first ones before the later ones are encoded. The server
// executes them meanwhile, and no buffer holds the parameters of all of them.
func (tx *Tx) sendEarly(ctx context.Context, statements []statement) error {
	descriptions := make([]*pgconn.StatementDescription, len(statements))
	for i, s := range statements {
		var err error
		if descriptions[i], err = tx.tx.Prepare(ctx, s.sql, s.sql); err != nil {
			return err
		}
	}
	pipeline := tx.tx.Conn().PgConn().StartPipeline(ctx)
	err := tx.queueEach(pipeline, statements, descriptions)
	// After a statement that could not be encoded, too: the connection is usable once the server has answered.
	err = errors.Join(err, pipeline.Sync())
	if err == nil {
		err = finish(pipeline, statements)
	}
	if closeErr := pipeline.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (tx *Tx) queueEach(pipeline *pgconn.Pipeline, statements []statement, descriptions []*pgconn.StatementDescription) error {
	p := tx.store.parameters.get()
	defer tx.store.parameters.put(p)
	unsent := 0
	for i, s := range statements {
		if err := p.encode(tx.tx.Conn().TypeMap(), descriptions[i].ParamOIDs, s.arguments); err != nil {
			return err
		}
		tx.tx.Conn().PgConn().Frontend().Send(reservation(len(p.buffer) + bindOverhead))
		pipeline.SendQueryStatement(descriptions[i], p.values, []int16{pgtype.BinaryFormatCode}, nil)
		if unsent += len(p.buffer); unsent < pipelineBytes {
			continue
		}
		if err := pipeline.Flush(); err != nil {
			return err
		}
		unsent = 0
	}
	return nil
}

// reservation is a message without any bytes. It makes room for the bytes of the next one: pgx appends parameters one by one to a buffer that
// is small after each flush.
type reservation int

// bindOverhead is how many bytes the messages of a statement have beside its parameters, at most for statements of 100 parameters.
const bindOverhead = 1 << 10

// Frontend implements [pgproto3.FrontendMessage].
func (reservation) Frontend() {}

// Decode implements [pgproto3.Message]. No server sends a reservation.
func (reservation) Decode([]byte) error { return errors.ErrUnsupported }

// Encode implements [pgproto3.Message].
func (r reservation) Encode(dst []byte) ([]byte, error) { return slices.Grow(dst, int(r)), nil }

// finish reads the statements' results.
func finish(pipeline *pgconn.Pipeline, statements []statement) error {
	for _, s := range statements {
		results, err := pipeline.GetResults()
		if err != nil {
			return err
		}
		reader, ok := results.(*pgconn.ResultReader)
		if !ok {
			return fmt.Errorf("unexpected result of a statement: %T", results)
		}
		tag, err := reader.Close()
		if err == nil && s.done != nil {
			err = s.done(tag.RowsAffected())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
