package deadletter

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
)

var (
	//go:embed newest.sql
	newestSQL string

	//go:embed newest_reasons.sql
	newestReasonsSQL string
)

// Overview holds the newest open dead letters, and counts of up to [MaxCounted] of them. Its size and the cost of reading it are bounded.
type Overview struct {
	DeadLetters []Excerpt
	Counted     int64         // open dead letters, at most MaxCounted
	Waiting     int64         // of these, the ones that wait for a retry
	Reasons     []ReasonCount // of these, the most frequent first
}

// MaxCounted is the number of dead letters that an [Overview] counts by reason.
const MaxCounted = 10_000

// Excerpt is a dead letter with the beginning of its headers and data.
type Excerpt struct {
	Detail
	Size int64 // of the whole data in bytes
}

// ReadOverview returns the newest open dead letters, at most limit, with at most the given number of bytes of the headers and of the data
// of each.
func ReadOverview(ctx context.Context, pool *pgxpool.Pool, limit, bytes int) (Overview, error) {
	type row struct {
		DeadLetter
		RawHeader, Data []byte
		Size            int64
	}
	var page Page
	rows, _ := pool.Query(ctx, newestSQL, limit, bytes)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return Overview{}, fmt.Errorf("dead letters: %w", err)
	}
	if err := page.countReasons(ctx, pool, newestReasonsSQL, MaxCounted); err != nil {
		return Overview{}, err
	}
	o := Overview{Counted: page.Open, Waiting: page.Waiting, Reasons: page.Reasons}
	for _, r := range list {
		o.DeadLetters = append(o.DeadLetters, Excerpt{newDetail(r.DeadLetter, r.RawHeader, r.Data), r.Size})
	}
	return o, nil
}

func newDetail(l DeadLetter, rawHeader, data []byte) Detail {
	detail := Detail{DeadLetter: l, RawHeader: rawHeader, Data: data, Advice: Advice(l)}
	if header, err := nats.DecodeHeadersMsg(rawHeader); err == nil {
		detail.Header = header
	}
	return detail
}
