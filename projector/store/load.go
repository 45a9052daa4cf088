package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
	"callboard/projector/fold"
)

// The conditions under which each table's rows are loaded. Keys come as arrays, one per key column.
const (
	byID         = " join unnest($1::uuid[]) as k (id) using (id)"
	bySystemID   = " join unnest($1::uuid[], $2::uuid[]) as k (system_id, id) using (system_id, id)"
	byOwner      = " join unnest($1::uuid[], $2::uuid[], $3::text[]) as k (system_id, owner_id, owner) using (system_id, owner_id, owner)"
	byTombstone  = " join unnest($1::uuid[], $2::text[], $3::text[]) as k (system_id, entity, key) using (system_id, entity, key)"
	byRecording  = " join unnest($1::uuid[], $2::text[]) as k (system_id, recording_sid) using (system_id, recording_sid)"
	byReferences = " join (%s) as k (system_id, id) using (system_id, id)"
)

var (
	//go:embed extension_keys.sql
	extensionKeysSQL string

	//go:embed call_group_keys.sql
	callGroupKeysSQL string

	//go:embed recording_keys.sql
	recordingKeysSQL string
)

// Load brings every row that the events touch, in one round trip: two where a recording's deletion leaves open what it hangs on.
func (tx *Tx) Load(ctx context.Context, partition int16, batch []events.Event) (*fold.State, error) {
	t := touch(batch)
	if err := tx.locate(ctx, t); err != nil {
		return nil, err
	}
	state := &fold.State{Partition: partition}
	l := new(loading)
	keyed(l, phoneSystems(), byID, t.phoneSystems.list, state.PhoneSystems.Load, func(r fold.PhoneSystem) fold.Key {
		return fold.Key{System: r.ID, ID: r.ID}
	}, ids)
	keyed(l, groups(), byID, t.groups.list, state.Groups.Load, func(r fold.Group) fold.Key { return fold.Key{ID: r.ID} }, ids)
	keyed(l, callLogs(), bySystemID, t.calls.list, state.CallLogs.Load, func(r fold.CallLog) fold.Key { return r.Key }, systemIDs)
	keyed(l, transcripts(), byOwner, t.owners.list, state.Transcripts.Load,
		func(r fold.Transcript) fold.OwnerKey { return r.OwnerKey }, ownerKeys)
	keyed(l, tombstones(), byTombstone, t.tombstones.list, state.Tombstones.Load,
		func(r fold.Tombstone) fold.TombstoneKey { return r.TombstoneKey }, tombstoneKeys)
	l.references(t, state)
	l.recordings(t, state)
	return state, l.run(ctx, tx.tx)
}

// loading is a pipeline of selections.
type loading struct {
	batch pgx.Batch
}

func (l *loading) run(ctx context.Context, tx pgx.Tx) error {
	if l.batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &l.batch).Close(); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

func queueSelection[R any](l *loading, t table[R], condition string, parameters []any, load func(R)) {
	l.batch.Queue(t.selection()+condition, parameters...).Query(func(rows pgx.Rows) error { return t.collect(rows, load) })
}

func keyed[K, R any](l *loading, t table[R], condition string, keys []K, load func(K, R), key func(R) K, bind func([]K) []any) {
	if len(keys) > 0 {
		queueSelection(l, t, condition, bind(keys), func(row R) { load(key(row), row) })
	}
}

// references loads the extensions and call groups that the batch or its calls, as they stand, refer to.
func (l *loading) references(t *touched, state *fold.State) {
	calls := systemIDs(t.calls.list)
	if len(t.calls.list)+len(t.extensions.list) > 0 {
		queueSelection(l, extensions(), fmt.Sprintf(byReferences, extensionKeysSQL), append(systemIDs(t.extensions.list), calls...),
			func(row fold.Extension) { state.Extensions.Load(row.Key, row) })
	}
	if len(t.calls.list)+len(t.callGroups.list) > 0 {
		queueSelection(l, callGroups(), fmt.Sprintf(byReferences, callGroupKeysSQL), append(systemIDs(t.callGroups.list), calls...),
			func(row fold.CallGroup) { state.CallGroups.Load(row.Key, row) })
	}
}

// recordings loads the batch's recordings and every other one of their owners.
func (l *loading) recordings(t *touched, state *fold.State) {
	if len(t.recordings.list)+len(t.owners.list) == 0 {
		return
	}
	parameters := append(recordingKeys(t.recordings.list), ownerKeys(t.owners.list)[:2]...)
	queueSelection(l, recordings(), " join ("+recordingKeysSQL+") as k (system_id, recording_sid) using (system_id, recording_sid)",
		parameters, state.LoadRecording)
}

// locate finds what deleted recordings hang on.
func (tx *Tx) locate(ctx context.Context, t *touched) error {
	if len(t.orphans.list) == 0 {
		return nil
	}
	l := new(loading)
	queueSelection(l, recordings(), byRecording, recordingKeys(t.orphans.list), func(row fold.Recording) {
		t.addOwner(row.System, row.Owner)
	})
	return l.run(ctx, tx.tx)
}

func ids(keys []fold.Key) []any {
	return []any{bindAs(func(k *fold.Key) *uuid.UUID { return &k.ID }, pgUUID)(keys)}
}

func systemIDs(keys []fold.Key) []any {
	return []any{
		bindAs(func(k *fold.Key) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.Key) *uuid.UUID { return &k.ID }, pgUUID)(keys),
	}
}

func ownerKeys(keys []fold.OwnerKey) []any {
	return []any{
		bindAs(func(k *fold.OwnerKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.OwnerKey) *uuid.UUID { return &k.ID }, pgUUID)(keys),
		bindAs(func(k *fold.OwnerKey) *events.Entity { return &k.Entity }, plain[events.Entity])(keys),
	}
}

func tombstoneKeys(keys []fold.TombstoneKey) []any {
	return []any{
		bindAs(func(k *fold.TombstoneKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.TombstoneKey) *events.Entity { return &k.Entity }, plain[events.Entity])(keys),
		bindAs(func(k *fold.TombstoneKey) *string { return &k.Key }, plain[string])(keys),
	}
}

func recordingKeys(keys []fold.RecordingKey) []any {
	return []any{
		bindAs(func(k *fold.RecordingKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.RecordingKey) *string { return &k.Sid }, plain[string])(keys),
	}
}

func pgUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func plain[S ~string](s S) string { return string(s) }
