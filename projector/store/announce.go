package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"callboard/projector/fold"
	"callboard/schema"
)

// ErrUnannounced is a change set with announcements to a phone system that has too many calls for one transaction. [Store.Announce] commits
// them to the stored calls, and then the batch is applied once more.
var ErrUnannounced = errors.New("directory entries were not announced to the stored calls yet")

// sliceCalls is how many calls a transaction reads, at most, to announce directory entries to them.
const sliceCalls = 10_000

//go:embed announce.sql
var announceSQL string

// A slice is joined by hash: it has many calls, and a batch can have many announcements.
const announceSettingsSQL = "set local enable_hashjoin = on"

// Announce raises updated_at of the stored calls that refer to directory entries which become live, in transactions of their own before the
// change set is committed: a phone system with many calls makes no long transaction. Until the commit, no watermark covers the new times. An
// interruption does no harm: the times come from the stream, and the next application of the batch repeats them. calls is how many rows were
// changed.
func (s *Store) Announce(ctx context.Context, c ChangeSet) (calls int64, err error) {
	for system, a := range announcementsBySystem(c.State) {
		for first, more := uuid.Nil, true; more; {
			err := s.BeginFunc(ctx, func(tx *Tx) (err error) {
				done, err := tx.announceSlice(ctx, c.From, system, first, a)
				first, more, calls = done.last, done.read == sliceCalls, calls+done.changed
				return err
			})
			if err != nil {
				return calls, fmt.Errorf("announce: %w", err)
			}
		}
	}
	return calls, nil
}

// announceFew announces to the stored calls of phone systems with few of them, after the rows of the change set. The error is [ErrUnannounced]
// for one that has more.
func (tx *Tx) announceFew(ctx context.Context, c *ChangeSet) error {
	for system, a := range announcementsBySystem(c.State) {
		done, err := tx.announceSlice(ctx, c.To, system, uuid.Nil, a)
		if err != nil {
			return fmt.Errorf("announce: %w", err)
		}
		if done.read == sliceCalls {
			return ErrUnannounced
		}
	}
	return nil
}

// systemAnnouncements are the announcements to the stored calls of a phone system, and its calls that the state has.
type systemAnnouncements struct {
	rows  []*fold.Announcement
	calls []*fold.CallLog
}

func announcementsBySystem(state *fold.State) map[uuid.UUID]*systemAnnouncements {
	systems := make(map[uuid.UUID]*systemAnnouncements)
	for a := range state.AnnouncementsToStored() {
		if systems[a.System] == nil {
			systems[a.System] = new(systemAnnouncements)
		}
		systems[a.System].rows = append(systems[a.System].rows, &a)
	}
	if len(systems) == 0 {
		return nil
	}
	for call := range state.CallLogs.Rows() {
		if of := systems[call.System]; of != nil {
			of.calls = append(of.calls, call)
		}
	}
	return systems
}

// announcedSlice is what an announcement has done to some calls of a phone system.
type announcedSlice struct {
	last          uuid.UUID // the last one that was read
	read, changed int64
}

// announceSlice announces to calls from the first one on, if the partition is at a position.
func (tx *Tx) announceSlice(
	ctx context.Context, at Position, system, first uuid.UUID, a *systemAnnouncements,
) (done announcedSlice, err error) {
	tables := tx.store.tables
	rows := tables.announcements.bind(len(a.rows), slices.Values(a.rows))
	folded := tables.callLogs.bindKeys(len(a.calls), slices.Values(a.calls))
	if _, err := tx.tx.Exec(ctx, announceSettingsSQL); err != nil {
		return done, err
	}
	err = tx.tx.QueryRow(ctx, announceSQL, at.Partition, schema.UUID(system), schema.UUID(first), sliceCalls, rows[1], rows[2], rows[3], folded[1],
		at.Epoch, int64(at.Sequence)).Scan((*[16]byte)(&done.last), &done.read, &done.changed)
	if err == nil {
		tx.store.plans.wrote(tables.callLogs.name, done.changed)
	}
	return done, err
}
