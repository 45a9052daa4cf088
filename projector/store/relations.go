package store

import (
	"reflect"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
)

// Short names, for the lines of newRelations.
type (
	state                 = fold.State
	rows[K, R comparable] = fold.Table[K, R]
	deltas[K comparable]  = fold.Deltas[K]
)

// newRelations returns all tables whose rows follow from events, in the order in which they are written.
func newRelations() []relation {
	return []relation{
		partitioned("phone_system",
			func(s *state) *rows[uuid.UUID, fold.PhoneSystem] { return &s.PhoneSystems }).loaded(),
		global("phone_system_group", func(s *state) *rows[uuid.UUID, fold.Group] { return &s.Groups }).loaded(),
		global("phone_system_group_member",
			func(s *state) *rows[fold.GroupMember, fold.GroupMember] { return &s.GroupMembers }).written(),
		partitioned("topology",
			func(s *state) *rows[fold.TopologyKey, fold.Topology] { return &s.Topology }).loaded(),
		partitioned("representative",
			func(s *state) *rows[fold.Key, fold.Representative] { return &s.Representatives }).loaded(),
		global("classification",
			func(s *state) *rows[fold.ClassificationKey, fold.Classification] { return &s.Classifications }).loaded(),
		partitioned("call_log", func(s *state) *rows[fold.Key, fold.CallLog] { return &s.CallLogs }).loaded(),
		partitioned("extension_entry",
			func(s *state) *rows[fold.ExtensionEntry, fold.ExtensionEntry] { return &s.ExtensionEntries }).written(),
		partitioned("transcript",
			func(s *state) *rows[fold.OwnerRowKey, fold.Transcript] { return &s.Transcripts }).loaded(),
		partitioned("transcript_text",
			func(s *state) *rows[fold.OwnerRowKey, fold.TranscriptText] { return &s.TranscriptTexts }).written(),
		partitioned("recording", func(s *state) *rows[fold.RecordingKey, fold.Recording] { return &s.Recordings }).
			withAllOf("owner_id").loaded(),
		partitioned("analysis", func(s *state) *rows[fold.Key, fold.Analysis] { return &s.Analyses }).
			withAllOf("call_id").loaded(),
		partitioned("voicemail", func(s *state) *rows[fold.Key, fold.Voicemail] { return &s.Voicemails }).loaded(),
		partitioned("tombstone", func(s *state) *rows[fold.TombstoneKey, fold.Tombstone] { return &s.Tombstones }).
			withTargets().loaded(),
		counted("day_count", func(s *state) deltas[fold.CountKey] { return s.Counts }),
		counted("reference_count", func(s *state) deltas[fold.ReferenceKey] { return s.References }),
		{name: "generation", write: queueGlobalDirectory},
	}
}

// relation is a table without the Go types of its rows.
type relation struct {
	name  string
	load  func(*fold.State, *pgx.Batch) // queues the loads of what the state wants; nil: the table is never loaded
	write func(*fold.State, *pgx.Batch) // queues the statements that write what differs from the table
}

// entity ties a table to its rows in a [fold.State].
type entity[K, R comparable] struct {
	table[K, R]
	rows func(*fold.State) *fold.Table[K, R]

	// How rows are loaded that nobody wants by key, but which belong to calls or voicemails; nil: none are.
	owners       func(*fold.State) []fold.Key
	ownerColumns []column // of these keys
	ownedSQL     string
}

// partitioned describes a table whose rows belong to partitions.
func partitioned[K, R comparable](name string, rows func(*fold.State) *fold.Table[K, R]) entity[K, R] {
	return entity[K, R]{table: newTable[K, R](name, true, "id"), rows: rows}
}

// global describes a table without partitions.
func global[K, R comparable](name string, rows func(*fold.State) *fold.Table[K, R]) entity[K, R] {
	return entity[K, R]{table: newTable[K, R](name, false, "id"), rows: rows}
}

// withAllOf adds all rows of the wanted calls and voicemails to the loaded rows. id is the column that names them.
func (e entity[K, R]) withAllOf(id string) entity[K, R] {
	e.owners, e.ownerColumns = wantedOwners, columnsOf(kinds(), reflect.TypeFor[fold.Key](), "")
	e.ownedSQL = e.selectSQL(e.unnest(e.ownerColumns), "system_id, "+id)
	return e
}

// withTargets adds the rows whose keys are those of what the wanted calls, as they are stored, refer to.
func (e entity[K, R]) withTargets() entity[K, R] {
	e.owners, e.ownerColumns = wantedCalls, columnsOf(kinds(), reflect.TypeFor[fold.Key](), "")
	e.ownedSQL = e.selectSQL("("+referencedTargetsSQL+")", names(e.key))
	return e
}

func wantedCalls(s *fold.State) []fold.Key { return s.CallLogs.Wanted() }

func wantedOwners(s *fold.State) []fold.Key {
	var keys []fold.Key
	for _, owner := range s.Transcripts.Wanted() {
		keys = append(keys, fold.Key{System: owner.System, ID: owner.ID})
	}
	return keys
}

// written is the relation of a table that is never loaded.
func (e entity[K, R]) written() relation { return relation{name: e.name, write: e.write} }

// loaded is the relation of a table of which rows are loaded.
func (e entity[K, R]) loaded() relation {
	return relation{name: e.name, load: e.load, write: e.write}
}

// load queues the loads of the rows that the state wants.
func (e entity[K, R]) load(s *fold.State, batch *pgx.Batch) {
	collect := func(rows pgx.Rows) error { return e.collect(rows, e.rows(s).Load) }
	if keys := e.rows(s).Wanted(); len(keys) > 0 {
		e.queue(batch, s, e.selectByKeySQL, e.bindKeys(keys)).Query(collect)
	}
	if e.owners == nil {
		return
	}
	if keys := e.owners(s); len(keys) > 0 {
		e.queue(batch, s, e.ownedSQL, arrays(e.ownerColumns, len(keys), pointers(keys))).Query(collect)
	}
}

// write queues the statements that write what differs from the table.
func (e entity[K, R]) write(s *fold.State, batch *pgx.Batch) {
	upserts, deletes := e.rows(s).Changes()
	if len(deletes) > 0 {
		e.queue(batch, s, e.deleteSQL, e.bindKeys(deletes))
	}
	if len(upserts) > 0 {
		e.queue(batch, s, e.upsertSQL, e.bind(len(upserts), slices.Values(upserts)))
	}
}

// counter is a row of a table of counters.
type counter[K any] struct {
	Key K
	N   int64
}

// counted is the relation of a table of counters. A counter that falls to 0 loses its row, so that the rows don't
// depend on how the events were batched.
func counted[K comparable](name string, tally func(*fold.State) fold.Deltas[K]) relation {
	t := newTable[K, counter[K]](name, true, "count")
	return relation{name: name, write: func(s *fold.State, batch *pgx.Batch) {
		var changed []counter[K]
		var lowered []K
		for key, n := range tally(s) {
			if n != 0 {
				changed = append(changed, counter[K]{key, n})
			}
			if n < 0 {
				lowered = append(lowered, key)
			}
		}

		if len(changed) > 0 {
			t.queue(batch, s, t.addSQL, t.bind(len(changed), pointers(changed)))
		}
		if len(lowered) > 0 {
			t.queue(batch, s, t.deleteZeroSQL, t.bindKeys(lowered))
		}
	}}
}

// queueGlobalDirectory queues the statement that counts changes of the global classifications.
func queueGlobalDirectory(s *fold.State, batch *pgx.Batch) {
	if s.GlobalDirectory > 0 {
		batch.Queue("update generation set directory = directory + $1", s.GlobalDirectory)
	}
}
