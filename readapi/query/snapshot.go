package query

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Snapshot says what an answer was read from: the partition of its phone system, up to a position.
type Snapshot struct {
	CompleteThrough time.Time   // every event stored before it is in the answer
	Partition       pgtype.Int2 // null: positions are not read, or nothing of the partition is in the tables
	Position        pgtype.Int8 // every message of the partition up to this sequence is in the answer
}

// targets are the variables for the statements' first columns.
func (p *Projection) targets(s *Snapshot) []any {
	if p.positions {
		return []any{&s.CompleteThrough, &s.Partition, &s.Position}
	}
	return []any{&s.CompleteThrough}
}

// positionColumns are the columns of a snapshot beside the watermark.
const positionColumns = "  w.partition,\n  w.sequence,\n"

// withoutUnreadPosition removes the position from a statement if it is not read. Every row would carry it, which costs 2 % of a page of 100 rows.
func (p *Projection) withoutUnreadPosition(sql string) string {
	if p.positions {
		return sql
	}
	return strings.Replace(sql, positionColumns, "", 1)
}
