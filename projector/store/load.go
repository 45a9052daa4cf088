package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// Load reads every row that the events touch, in one round trip: two where a deletion doesn't say which call or voicemail a facet
// belongs to. notify says whether the fold may derive notices; it does if there are webhook endpoints.
func (tx *Tx) Load(ctx context.Context, partition int16, batch []events.Event, notify bool) (*fold.State, error) {
	t := touch(batch)
	state := &fold.State{Partition: partition}
	if err := tx.loadOwnerRows(ctx, t, partition); err != nil {
		return nil, err
	}
	tables, pipeline := tx.store.tables, new(pgx.Batch)
	if notify {
		pipeline.Queue("select recording from webhook.recording").QueryRow(func(row pgx.Row) error { return row.Scan(&state.Notify) })
	}
	queueKeys(pipeline, tables.phoneSystems, state, t.keys(events.EntityPhoneSystem))
	queueKeys(pipeline, tables.groups, state, t.keys(events.EntityGroup))
	queueKeys(pipeline, tables.extensions, state, t.keys(events.EntityExtension))
	queueKeys(pipeline, tables.callGroups, state, t.keys(events.EntityCallGroup))
	queueKeys(pipeline, tables.representatives, state, t.keys(events.EntityRepresentative))
	queueKeys(pipeline, tables.phones, state, t.keys(events.EntityPhone))
	queueKeys(pipeline, tables.phoneNumbers, state, t.keys(events.EntityPhoneNumber))
	queueKeys(pipeline, tables.agentConfigs, state, t.keys(events.EntityAgentConfig))
	queueKeys(pipeline, tables.callMenus, state, t.keys(events.EntityCallMenu))
	queueKeys(pipeline, tables.voicemails, state, t.keys(events.EntityVoicemail))
	queueKeys(pipeline, tables.classifications, state, t.classifications.list)
	queueKeys(pipeline, tables.callLogs, state, t.calls.list)
	queueKeys(pipeline, tables.transcripts, state, t.owners.list)
	queueKeys(pipeline, tables.tombstones, state, t.tombstones.list)

	// The recordings and analyses of the batch, and all others of their calls and voicemails. The tombstones of what these calls, as they are
	// stored, refer to.
	calls, owners := keysOf(tables.callLogs, t.calls.list), keysOf(tables.transcripts, t.owners.list)
	queue(pipeline, tables.tombstones.table, tables.tombstones.selectReferencedSQL, partition, calls,
		func(row fold.Tombstone) { tables.tombstones.load(state, row) })
	queueReferenced(pipeline, tables.recordings, state, t.recordings.list, owners)
	queueReferenced(pipeline, tables.analyses, state, t.analyses.list, calls)
	if err := tx.send(ctx, pipeline); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return state, nil
}

// loadOwnerRows adds the calls and voicemails to which deleted facets belong.
func (tx *Tx) loadOwnerRows(ctx context.Context, t *touched, partition int16) error {
	tables, pipeline := tx.store.tables, new(pgx.Batch)
	queue(pipeline, tables.recordings.table, tables.recordings.selectByKeySQL, partition, keysOf(tables.recordings, t.deletedRecordings.list),
		func(row fold.Recording) { t.addOwnerRow(row.System, row.OwnerRow) })
	queue(pipeline, tables.analyses.table, tables.analyses.selectByKeySQL, partition, keysOf(tables.analyses, t.deletedAnalyses.list),
		func(row fold.Analysis) {
			t.addOwnerRow(row.System, events.OwnerRow{Entity: events.EntityCall, ID: row.CallID})
		})
	if err := tx.send(ctx, pipeline); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// keyArrays are keys as the parameters of a statement: one array per column.
type keyArrays struct {
	arrays []any
	count  int
}

func keysOf[K, R comparable](e entity[K, R], keys []K) keyArrays {
	return keyArrays{e.bindKeys(len(keys), e.keyRows(keys)), len(keys)}
}

// queueKeys queues the selection of rows by key.
func queueKeys[K, R comparable](pipeline *pgx.Batch, e entity[K, R], state *fold.State, keys []K) {
	queue(pipeline, e.table, e.selectByKeySQL, state.Partition, keysOf(e, keys), func(row R) { e.load(state, row) })
}

// queueReferenced queues the selection of rows by key, and of those that belong to the calls or owner rows given by system and id.
func queueReferenced[K, R comparable](pipeline *pgx.Batch, e entity[K, R], state *fold.State, keys []K, others keyArrays) {
	all := keysOf(e, keys)
	all.arrays, all.count = append(all.arrays, others.arrays[:2]...), all.count+others.count
	queue(pipeline, e.table, e.selectReferencedSQL, state.Partition, all, func(row R) { e.load(state, row) })
}

func queue[R any](pipeline *pgx.Batch, t table[R], sql string, partition int16, keys keyArrays, load func(R)) {
	if keys.count > 0 {
		pipeline.Queue(sql, t.arguments(partition, keys.arrays)...).Query(func(rows pgx.Rows) error { return t.collect(rows, load) })
	}
}
