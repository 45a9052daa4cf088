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
	byKind       = " join unnest($1::uuid[], $2::text[], $3::text[]) as k (system_id, kind, code) using (system_id, kind, code)"
	byReferences = " join (%s) as k (system_id, id) using (system_id, id)"
)

var (
	//go:embed extension_keys.sql
	extensionKeysSQL string

	//go:embed call_group_keys.sql
	callGroupKeysSQL string

	//go:embed representative_keys.sql
	representativeKeysSQL string

	//go:embed recording_keys.sql
	recordingKeysSQL string

	//go:embed analysis_keys.sql
	analysisKeysSQL string
)

// Load brings every row that the events touch, in one round trip: two where a deletion leaves open what a facet hangs on.
func (tx *Tx) Load(ctx context.Context, partition int16, batch []events.Event) (*fold.State, error) {
	t := touch(batch)
	if err := tx.locate(ctx, t); err != nil {
		return nil, err
	}
	state := &fold.State{Partition: partition}
	l := new(loading)
	l.definitions(t, state)
	keyed(l, callLogs(), bySystemID, t.calls.list, state.CallLogs.Load, func(r fold.CallLog) fold.Key { return r.Key }, systemIDs)
	keyed(l, transcripts(), byOwner, t.owners.list, state.Transcripts.Load,
		func(r fold.Transcript) fold.OwnerRowKey { return r.OwnerRowKey }, ownerKeys)
	keyed(l, tombstones(), byTombstone, t.tombstones.list, state.Tombstones.Load,
		func(r fold.Tombstone) fold.TombstoneKey { return r.TombstoneKey }, tombstoneKeys)
	l.references(t, state)
	l.facets(t, state)
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

// definitions loads the rows that nothing else is loaded with.
func (l *loading) definitions(t *touched, s *fold.State) {
	keyed(l, phoneSystems(), byID, t.keys(events.EntityPhoneSystem), s.PhoneSystems.Load, func(r fold.PhoneSystem) fold.Key {
		return fold.Key{System: r.ID, ID: r.ID}
	}, ids)
	keyed(l, groups(), byID, t.keys(events.EntityGroup), s.Groups.Load, func(r fold.Group) fold.Key { return fold.Key{ID: r.ID} }, ids)
	keyed(l, phones(), bySystemID, t.keys(events.EntityPhone), s.Phones.Load, func(r fold.Phone) fold.Key { return r.Key }, systemIDs)
	keyed(l, phoneNumbers(), bySystemID, t.keys(events.EntityPhoneNumber), s.PhoneNumbers.Load,
		func(r fold.PhoneNumber) fold.Key { return r.Key }, systemIDs)
	keyed(l, agentConfigs(), bySystemID, t.keys(events.EntityAgentConfig), s.AgentConfigs.Load,
		func(r fold.AgentConfig) fold.Key { return r.Key }, systemIDs)
	keyed(l, callMenus(), bySystemID, t.keys(events.EntityCallMenu), s.CallMenus.Load,
		func(r fold.CallMenu) fold.Key { return r.Key }, systemIDs)
	keyed(l, voicemails(), bySystemID, t.keys(events.EntityVoicemail), s.Voicemails.Load,
		func(r fold.Voicemail) fold.Key { return r.Key }, systemIDs)
	keyed(l, classifications(), byKind, t.classifications.list, s.Classifications.Load,
		func(r fold.Classification) fold.ClassificationKey { return r.ClassificationKey }, classificationKeys)
}

// references loads the extensions, call groups and representatives that the batch or its calls, as they stand, refer to.
func (l *loading) references(t *touched, s *fold.State) {
	calls := systemIDs(t.calls.list)
	refer := func(entity events.Entity, queue func(parameters []any)) {
		if keys := t.keys(entity); len(keys)+len(t.calls.list) > 0 {
			queue(append(systemIDs(keys), calls...))
		}
	}
	refer(events.EntityExtension, func(parameters []any) {
		queueSelection(l, extensions(), fmt.Sprintf(byReferences, extensionKeysSQL), parameters,
			func(row fold.Extension) { s.Extensions.Load(row.Key, row) })
	})
	refer(events.EntityCallGroup, func(parameters []any) {
		queueSelection(l, callGroups(), fmt.Sprintf(byReferences, callGroupKeysSQL), parameters,
			func(row fold.CallGroup) { s.CallGroups.Load(row.Key, row) })
	})
	refer(events.EntityRepresentative, func(parameters []any) {
		queueSelection(l, representatives(), fmt.Sprintf(byReferences, representativeKeysSQL), parameters,
			func(row fold.Representative) { s.Representatives.Load(row.Key, row) })
	})
}

// facets loads the batch's recordings and analyses and every other one of their owners.
func (l *loading) facets(t *touched, s *fold.State) {
	if len(t.recordings.list)+len(t.owners.list) > 0 {
		queueSelection(l, recordings(), " join ("+recordingKeysSQL+") as k (system_id, recording_sid) using (system_id, recording_sid)",
			append(recordingKeys(t.recordings.list), ownerKeys(t.owners.list)[:2]...), s.LoadRecording)
	}
	if len(t.analyses.list)+len(t.calls.list) > 0 {
		queueSelection(l, analyses(), fmt.Sprintf(byReferences, analysisKeysSQL),
			append(systemIDs(t.analyses.list), systemIDs(t.calls.list)...), s.LoadAnalysis)
	}
}

// locate finds what deleted facets hang on.
func (tx *Tx) locate(ctx context.Context, t *touched) error {
	l := new(loading)
	if len(t.orphanRecordings.list) > 0 {
		queueSelection(l, recordings(), byRecording, recordingKeys(t.orphanRecordings.list), func(row fold.Recording) {
			t.addOwner(row.System, row.OwnerRow)
		})
	}
	if len(t.orphanAnalyses.list) > 0 {
		queueSelection(l, analyses(), bySystemID, systemIDs(t.orphanAnalyses.list), func(row fold.Analysis) {
			t.addOwner(row.System, events.OwnerRow{Entity: events.EntityCall, ID: row.CallID})
		})
	}
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

func ownerKeys(keys []fold.OwnerRowKey) []any {
	return []any{
		bindAs(func(k *fold.OwnerRowKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.OwnerRowKey) *uuid.UUID { return &k.ID }, pgUUID)(keys),
		bindAs(func(k *fold.OwnerRowKey) *events.Entity { return &k.Entity }, plain[events.Entity])(keys),
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

func classificationKeys(keys []fold.ClassificationKey) []any {
	return []any{
		bindAs(func(k *fold.ClassificationKey) *uuid.UUID { return &k.System }, pgUUID)(keys),
		bindAs(func(k *fold.ClassificationKey) *string { return &k.Kind }, plain[string])(keys),
		bindAs(func(k *fold.ClassificationKey) *string { return &k.Code }, plain[string])(keys),
	}
}

func pgUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func plain[S ~string](s S) string { return string(s) }
