package store

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
)

// These scan a nullable column straight into a row's field.
type (
	nullText    events.Null[string]
	nullUUID    events.Null[uuid.UUID]
	nullInt     events.Null[int64]
	nullFloat   events.Null[float64]
	nullInstant events.Null[events.Time]
	nullDigest  events.Null[[sha256.Size]byte]
	instant     events.Time
)

// ScanText implements [pgtype.TextScanner].
func (n *nullText) ScanText(v pgtype.Text) error {
	*n = nullText{Value: v.String, Valid: v.Valid}
	return nil
}

// ScanUUID implements [pgtype.UUIDScanner].
func (n *nullUUID) ScanUUID(v pgtype.UUID) error {
	*n = nullUUID{Value: v.Bytes, Valid: v.Valid}
	return nil
}

// ScanInt64 implements [pgtype.Int64Scanner].
func (n *nullInt) ScanInt64(v pgtype.Int8) error {
	*n = nullInt{Value: v.Int64, Valid: v.Valid}
	return nil
}

// ScanFloat64 implements [pgtype.Float64Scanner].
func (n *nullFloat) ScanFloat64(v pgtype.Float8) error {
	*n = nullFloat{Value: v.Float64, Valid: v.Valid}
	return nil
}

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (t *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = instant(events.TimeOf(v.Time))
	return nil
}

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (n *nullInstant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*n = nullInstant{Valid: v.Valid}
	if v.Valid {
		n.Value = events.TimeOf(v.Time)
	}
	return nil
}

// ScanBytes implements [pgtype.BytesScanner].
func (n *nullDigest) ScanBytes(v []byte) error {
	*n = nullDigest{Valid: v != nil}
	if v != nil && len(v) != sha256.Size {
		return fmt.Errorf("a digest of %d bytes", len(v))
	}
	copy(n.Value[:], v)
	return nil
}

func timestamp(t events.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t.Std(), Valid: true}
}
