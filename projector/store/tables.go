package store

import (
	"reflect"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
)

// Short names, for the lines of newTables.
type (
	state                 = fold.State
	rows[K, R comparable] = fold.Table[K, R]
)

// newTables returns all tables whose rows follow from events, in the order in which they are written.
func newTables() []storedTable {
	return []storedTable{
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
		rowCounts(),
		{name: "generation", write: queueGlobalDirectory},
	}
}

// storedTable is a table without the Go types of its rows.
type storedTable struct {
	name  string
	load  func(*fold.State, *pgx.Batch) // queues the loads of what the state needs; nil: the table is never loaded
	write func(*fold.State, *pgx.Batch) // queues the statements that write what differs from the table
}

// boundTable ties a table to its rows in a [fold.State].
type boundTable[K, R comparable] struct {
	table[K, R]
	rows func(*fold.State) *fold.Table[K, R]

	// How rows are loaded that nothing needs by key, but which belong to calls or voicemails; nil: none are.
	owners       func(*fold.State) []fold.Key
	ownerColumns []column // of these keys
	ownedSQL     string
}

// partitioned describes a table whose rows belong to partitions.
func partitioned[K, R comparable](name string, rows func(*fold.State) *fold.Table[K, R]) boundTable[K, R] {
	return boundTable[K, R]{table: newTable[K, R](name, true, "id"), rows: rows}
}

// global describes a table without partitions.
func global[K, R comparable](name string, rows func(*fold.State) *fold.Table[K, R]) boundTable[K, R] {
	return boundTable[K, R]{table: newTable[K, R](name, false, "id"), rows: rows}
}

// withAllOf adds all rows of the needed calls and voicemails to the loaded rows. id is the column that names them.
func (b boundTable[K, R]) withAllOf(id string) boundTable[K, R] {
	b.owners, b.ownerColumns = neededOwners, columnsOf(kinds(), reflect.TypeFor[fold.Key](), "")
	b.ownedSQL = b.selectSQL(b.unnest(b.ownerColumns), "system_id, "+id)
	return b
}

// withTargets adds the rows whose keys are those of what the needed calls, as they are stored, refer to.
func (b boundTable[K, R]) withTargets() boundTable[K, R] {
	b.owners, b.ownerColumns = neededCalls, columnsOf(kinds(), reflect.TypeFor[fold.Key](), "")
	b.ownedSQL = b.selectSQL("("+referencedTargetsSQL+")", names(b.key))
	return b
}

func neededCalls(s *fold.State) []fold.Key { return s.CallLogs.Needed() }

func neededOwners(s *fold.State) []fold.Key {
	var keys []fold.Key
	for _, owner := range s.Transcripts.Needed() {
		keys = append(keys, fold.Key{System: owner.System, ID: owner.ID})
	}
	return keys
}

// written is a table that is never loaded.
func (b boundTable[K, R]) written() storedTable { return storedTable{name: b.name, write: b.write} }

// loaded is a table of which rows are loaded.
func (b boundTable[K, R]) loaded() storedTable {
	return storedTable{name: b.name, load: b.load, write: b.write}
}

// load queues the loads of the rows that the state needs.
func (b boundTable[K, R]) load(s *fold.State, pipeline *pgx.Batch) {
	collect := func(rows pgx.Rows) error { return b.collect(rows, b.rows(s).Load) }
	if keys := b.rows(s).Needed(); len(keys) > 0 {
		b.queue(pipeline, s, b.selectByKeySQL, b.bindKeys(keys)).Query(collect)
	}
	if b.owners == nil {
		return
	}
	if keys := b.owners(s); len(keys) > 0 {
		b.queue(pipeline, s, b.ownedSQL, arrays(b.ownerColumns, len(keys), pointers(keys))).Query(collect)
	}
}

// write queues the statements that write what differs from the table.
func (b boundTable[K, R]) write(s *fold.State, pipeline *pgx.Batch) {
	upserts, deletes := b.rows(s).Changes()
	if len(deletes) > 0 {
		b.queue(pipeline, s, b.deleteSQL, b.bindKeys(deletes))
	}
	if len(upserts) > 0 {
		b.queue(pipeline, s, b.upsertSQL, b.bind(len(upserts), slices.Values(upserts)))
	}
}

// rowCount is a row of row_count, or a change of one.
type rowCount struct {
	Key fold.CountKey
	N   int64
}

// rowCounts is the table of counters. A counter that falls to 0 loses its row, so that the rows don't depend on how the
// events were batched.
func rowCounts() storedTable {
	t := newTable[fold.CountKey, rowCount]("row_count", true, "count")
	return storedTable{name: t.name, write: func(s *fold.State, pipeline *pgx.Batch) {
		var changed []rowCount
		var lowered []fold.CountKey
		for key, n := range s.Counts {
			if n != 0 {
				changed = append(changed, rowCount{key, n})
			}

			// Only a counter that falls can reach 0.
			if n < 0 {
				lowered = append(lowered, key)
			}
		}

		// Additions come first, because they make the counters 0 whose rows are deleted.
		if len(changed) > 0 {
			t.queue(pipeline, s, t.addSQL, t.bind(len(changed), pointers(changed)))
		}
		if len(lowered) > 0 {
			t.queue(pipeline, s, t.deleteZeroSQL, t.bindKeys(lowered))
		}
	}}
}

// queueGlobalDirectory queues the statement that counts changes of the global classifications.
func queueGlobalDirectory(s *fold.State, pipeline *pgx.Batch) {
	if s.GlobalDirectory > 0 {
		pipeline.Queue("update generation set directory = directory + $1", s.GlobalDirectory)
	}
}
