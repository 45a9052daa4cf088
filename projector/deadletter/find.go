package deadletter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
)

//go:embed find.sql
var findSQL string

// Content is a letter with what was in it, and what to do about it.
type Content struct {
	Letter
	Wire   []byte              `json:"-"`      // the headers as in the NATS protocol
	Header map[string][]string `json:"header"` // nil: there is none, or none that can be read
	Data   []byte              `json:"data"`   // empty once it is dropped
	Advice string              `json:"advice"`
}

// UnknownError is ids that no letter has.
type UnknownError struct {
	IDs []int64
}

// Error names them.
func (e *UnknownError) Error() string {
	texts := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return "no dead letter " + strings.Join(texts, ", ")
}

// Find is one letter. The error is an [*UnknownError] where there is none.
func Find(ctx context.Context, pool *pgxpool.Pool, id int64) (Content, error) {
	type row struct {
		Letter
		Wire, Data []byte
	}
	rows, err := pool.Query(ctx, findSQL, id)
	if err != nil {
		return Content{}, fmt.Errorf("dead letter: %w", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[row])
	if errors.Is(err, pgx.ErrNoRows) {
		return Content{}, &UnknownError{[]int64{id}}
	}
	if err != nil {
		return Content{}, fmt.Errorf("dead letter: %w", err)
	}
	return Content{
		Letter: found.Letter, Wire: found.Wire, Header: header(found.Wire), Data: found.Data, Advice: Advice(found.Letter),
	}, nil
}

func header(wire []byte) map[string][]string {
	read, err := nats.DecodeHeadersMsg(wire)
	if err != nil {
		return nil
	}
	return read
}
