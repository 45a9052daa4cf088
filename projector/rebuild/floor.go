package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/store"
)

var (
	//go:embed raise_floors.sql
	raiseFloorsSQL string

	//go:embed lower_floors.sql
	lowerFloorsSQL string

	//go:embed exclude_fan_outs.sql
	excludeFanOutsSQL string
)

// withoutNotices are messages of a partition that only the new generation has applied: above one sequence, up to another. No projector will
// write notices of them, because it continues after them.
type withoutNotices struct {
	Partition   int16
	Above, UpTo uint64
	Total       int64 `db:"-"` // of the partition's messages up to the last one
}

// raiseFloors sets the floors of webhook notices during the write pause of a switch. A message of the new generation that a projector folds
// again writes no notices then. Where both generations have the same position, nothing is lost: the notices up to it are written.
func (b *builder) raiseFloors(ctx context.Context, tx pgx.Tx) error {
	next, err := store.Positions(ctx, tx.Conn(), b.next.Schema())
	if err != nil {
		return err
	}
	live, err := store.Positions(ctx, tx.Conn(), liveSchema)
	if err != nil {
		return err
	}
	if err := b.lowerFloors(ctx, tx, next); err != nil {
		return fmt.Errorf("lower the floors of notices: %w", err)
	}
	var positions floorPositions
	known := make([]int64, 0, len(next))
	for _, partition := range slices.Sorted(maps.Keys(next)) {
		to, from := next[partition], live[partition]
		_, lost := b.lost.regressed[partition]
		switch {
		case lost:
			known = append(known, -1)
		case from.Stream == to.Stream:
			known = append(known, int64(from.Sequence))
		default:
			known = append(known, 0)
		}
		positions.add(to)
	}
	rows, _ := tx.Query(ctx, raiseFloorsSQL, append(positions.arguments(), known)...)
	if b.withoutNotices, err = pgx.CollectRows(rows, pgx.RowToStructByPos[withoutNotices]); err != nil {
		return fmt.Errorf("raise the floors of notices: %w", err)
	}
	return b.readTotals(ctx, tx)
}

// readTotals reads how many messages the new generation has of the partitions with messages that nothing announces.
func (b *builder) readTotals(ctx context.Context, tx pgx.Tx) error {
	total := fmt.Sprintf("select coalesce(sum(read), 0)::bigint from %s.message_count where partition = $1", b.next.Schema())
	for i := range b.withoutNotices {
		u := &b.withoutNotices[i]
		if err := tx.QueryRow(ctx, total, u.Partition).Scan(&u.Total); err != nil {
			return fmt.Errorf("read the message counts: %w", err)
		}
	}
	return nil
}

// lowerFloors makes room for the notices of new messages with the sequences of lost ones.
func (b *builder) lowerFloors(ctx context.Context, tx pgx.Tx, next map[int16]store.Position) error {
	if len(b.lost.regressed) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, excludeFanOutsSQL); err != nil {
		return err
	}
	var positions floorPositions
	for _, partition := range slices.Sorted(maps.Keys(b.lost.regressed)) {
		if p, ok := next[partition]; ok {
			positions.add(p)
		}
	}
	_, err := tx.Exec(ctx, lowerFloorsSQL, positions.arguments()...)
	return err
}

// floorPositions are positions as the parameters of a statement.
type floorPositions struct {
	streams    []uuid.UUID
	partitions []int16
	sequences  []int64
}

func (f *floorPositions) add(p store.Position) {
	f.streams = append(f.streams, p.Stream)
	f.partitions, f.sequences = append(f.partitions, p.Partition), append(f.sequences, int64(p.Sequence))
}

func (f *floorPositions) arguments() []any {
	return []any{f.streams, f.partitions, f.sequences}
}

// countWithoutNotices counts the messages of which webhooks announce nothing.
func (b *builder) countWithoutNotices(ctx context.Context) error {
	for _, u := range b.withoutNotices {
		n, err := b.countMessages(ctx, u)
		if err != nil {
			return fmt.Errorf("count the messages of partition %d that webhooks do not announce: %w", u.Partition, err)
		}
		b.result.WithoutNotices += n
	}
	return nil
}

func (b *builder) countMessages(ctx context.Context, u withoutNotices) (int64, error) {
	if p, ok := b.lost.regressed[u.Partition]; ok {
		above, err := b.lastUntil(ctx, p.LastMessageAt, u)
		if err != nil {
			return 0, err
		}
		u.Above = above
	}
	if u.Above == 0 {
		return u.Total, nil
	}
	after, err := b.countFrom(ctx, u.Partition, u.Above+1)
	if err != nil {
		return 0, err
	}
	beyond, err := b.countFrom(ctx, u.Partition, u.UpTo+1)
	return after - beyond, err
}

// countFrom returns how many messages of a partition the stream has from a sequence on: what a consumer that begins there would get.
func (b *builder) countFrom(ctx context.Context, partition int16, sequence uint64) (int64, error) {
	consumer, err := b.source.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: events.PartitionFilter(int(partition)), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sequence,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return 0, fmt.Errorf("create a consumer: %w", err)
	}
	info := consumer.CachedInfo()
	_ = b.source.DeleteConsumer(ctx, info.Name) // it would expire
	return int64(info.NumPending), nil
}

// lastUntil returns a sequence: the partition's messages up to it were stored at an instant or before, those above it later.
func (b *builder) lastUntil(ctx context.Context, at events.Time, u withoutNotices) (uint64, error) {
	stream, err := b.source.Reopen(ctx, b.config.JetStream)
	if err != nil {
		return 0, err
	}
	filter := jetstream.WithGetMsgSubject(events.PartitionFilter(int(u.Partition)))
	above := sort.Search(int(u.UpTo), func(sequence int) bool {
		next, getErr := stream.GetMsg(ctx, uint64(sequence)+1, filter)
		if getErr != nil {
			if !errors.Is(getErr, jetstream.ErrMsgNotFound) {
				err = errors.Join(err, getErr)
			}
			return true
		}
		return events.TimeOf(next.Time) > at
	})
	return uint64(above), err
}
