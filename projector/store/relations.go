package store

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"callboard/events"
	"callboard/projector/fold"
)

// tables are the tables whose rows follow from events.
type tables struct {
	phoneSystems    entity[fold.Key, fold.PhoneSystem]
	groups          entity[fold.Key, fold.Group]
	extensions      entity[fold.Key, fold.Extension]
	phones          entity[fold.Key, fold.Phone]
	phoneNumbers    entity[fold.Key, fold.PhoneNumber]
	agentConfigs    entity[fold.Key, fold.AgentConfig]
	callGroups      entity[fold.Key, fold.CallGroup]
	callMenus       entity[fold.Key, fold.CallMenu]
	representatives entity[fold.Key, fold.Representative]
	classifications entity[fold.ClassificationKey, fold.Classification]
	callLogs        entity[fold.Key, fold.CallLog]
	transcripts     entity[fold.OwnerRowKey, fold.Transcript]
	recordings      entity[fold.RecordingKey, fold.Recording]
	analyses        entity[fold.Key, fold.Analysis]
	voicemails      entity[fold.Key, fold.Voicemail]
	tombstones      entity[fold.TombstoneKey, fold.Tombstone]

	relations []relation // all of them, and those that are never loaded
}

func newTables() *tables {
	t := &tables{
		phoneSystems: phoneSystems(), groups: groups(), extensions: extensions(), phones: phones(), phoneNumbers: phoneNumbers(),
		agentConfigs: agentConfigs(), callGroups: callGroups(), callMenus: callMenus(), representatives: representatives(),
		classifications: classifications(), callLogs: callLogs(), transcripts: transcripts(), recordings: recordings(),
		analyses: analyses(), voicemails: voicemails(), tombstones: tombstones(),
	}
	t.relations = []relation{
		t.phoneSystems.relation(), t.groups.relation(), groupMembers().relation(), t.extensions.relation(), t.phones.relation(),
		t.phoneNumbers.relation(),
		t.agentConfigs.relation(), t.callGroups.relation(), t.callMenus.relation(), t.representatives.relation(),
		t.classifications.relation(), t.callLogs.relation(), extensionCalls().relation(), t.transcripts.relation(),
		transcriptTexts().relation(), t.recordings.relation(), t.analyses.relation(), extensionAnalyses().relation(),
		t.voicemails.relation(), t.tombstones.relation(), dayCounts().relation(), monthCounts().relation(),
		referenceCounts().relation(), directories().relation(), globalDirectory().relation(),
	}
	return t
}

// entity ties a table to its rows in a [fold.State].
type entity[K, R comparable] struct {
	table[R]
	rows   func(*fold.State) *fold.Table[K, R]
	keyRow func(K) R            // a row with nothing but its key
	load   func(*fold.State, R) // nil where the table is never loaded

	// createdAt is the time by which a phone system's rows are read in order; nil: they are read in the order of their keys.
	createdAt func(*fold.State, *R) events.Time
}

func (e entity[K, R]) relation() relation {
	r := e.table.relation(func(s *fold.State) iter.Seq[*R] { return e.rows(s).Rows() }, e.createdAt)
	r.changes = e.changes
	return r
}

func (e entity[K, R]) changes(s *fold.State) (statements []statement) {
	upserts, deletes := e.rows(s).Changes()
	if len(deletes) > 0 {
		statements = append(statements, statement{sql: e.deleteSQL, arguments: e.arguments(s.Partition, e.bindKeys(len(deletes), e.keyRows(deletes)))})
	}
	if len(upserts) > 0 {
		statements = append(statements, statement{sql: e.upsertSQL, arguments: e.arguments(s.Partition, e.bind(len(upserts), slices.Values(upserts)))})
	}
	return statements
}

// keyRows yields a row for each key, valid until the next one.
func (e entity[K, R]) keyRows(keys []K) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		var row R
		for _, key := range keys {
			row = e.keyRow(key)
			if !yield(&row) {
				return
			}
		}
	}
}

// relation is a table without the Go type of its rows. Its columns begin with the partition where the table has partitions.
type relation struct {
	name        string
	partitioned bool
	key         int // how many of the columns
	columns     []string
	format      []func(value []byte) string // by column
	order       []func(a, b []byte) int     // of the key's columns, without the partition
	orderBy     []string                    // the same as expressions

	changes func(*fold.State) []statement // that write what differs from the tables

	// encodeOrdered yields a state's rows. A width of 0 is a column that isn't there. It ends at an error.
	encodeOrdered func(state *fold.State, order Order, widths []int16) iter.Seq2[EncodedRow, error]
}

// ofNoSystem tells whether the table's rows belong to no single phone system. A group's members follow from the group's events, not from
// those of the members.
func (r relation) ofNoSystem() bool {
	return r.name == "phone_system_group" || r.name == "phone_system_group_member"
}

// system is the column of the phone system: the first one of the key that is not the partition.
func (r relation) system() int {
	if r.partitioned {
		return 1
	}
	return 0
}

// Tables returns the names of the tables whose rows follow from events.
func Tables() []string { return Catalog{relations: newTables().relations}.Tables() }

func (t table[R]) relation(all func(*fold.State) iter.Seq[*R], createdAt func(*fold.State, *R) events.Time) relation {
	r := relation{name: t.name, partitioned: t.partitioned, key: t.key}
	r.encodeOrdered = func(state *fold.State, order Order, widths []int16) iter.Seq2[EncodedRow, error] {
		if order == KeyOrder || createdAt == nil {
			return t.encodeOrdered(all(state), func(*R) events.Time { return 0 }, state.Partition, widths)
		}
		return t.encodeOrdered(all(state), func(row *R) events.Time { return createdAt(state, row) }, state.Partition, widths)
	}
	if t.partitioned {
		r.key++
		r.columns, r.format = append(r.columns, partitionColumn), append(r.format, formatInt)
	}
	for i, c := range t.columns {
		r.columns, r.format = append(r.columns, c.name), append(r.format, c.format)
		if i < t.key {
			r.order, r.orderBy = append(r.order, c.compare), append(r.orderBy, c.orderBy())
		}
	}
	return r
}

// encode appends a row as COPY's binary format has it: the number of its columns, then each column.
func (t table[R]) encode(dst []byte, row *R, partition int16, widths []int16) ([]byte, error) {
	at, present := len(dst), 0
	dst = append(dst, 0, 0) // the number of columns, set below
	var err error
	if t.partitioned {
		if widths[0] != 0 {
			present++
			if dst, err = appendInt(dst, int64(partition), widths[0]); err != nil {
				return dst, fmt.Errorf("%s.%s: %w", t.name, partitionColumn, err)
			}
		}
		widths = widths[1:]
	}
	for i, width := range widths {
		if width == 0 {
			continue
		}
		present++
		if dst, err = t.columns[i].encode(dst, row, width); err != nil {
			return dst, fmt.Errorf("%s.%s: %w", t.name, t.columns[i].name, err)
		}
	}
	binary.BigEndian.PutUint16(dst[at:], uint16(present))
	return dst, nil
}
