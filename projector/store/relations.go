package store

import (
	"iter"
	"slices"

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
		t.voicemails.relation(), t.tombstones.relation(), dayCounts().relation(),
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
}

func (e entity[K, R]) relation() relation { return relation{name: e.name, changes: e.changes} }

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

// relation is a table without the Go type of its rows.
type relation struct {
	name    string
	changes func(*fold.State) []statement // that write what differs from the tables
}
