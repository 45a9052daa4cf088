package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

// relation is a table in terms that don't depend on what its rows are.
type relation struct {
	name    string
	key     int
	columns []string
	show    []func(value []byte) string

	// encoded are a state's rows, each behind a prefix and valid until the next. It ends at an error.
	encoded func(state *fold.State, sorted bool, widths []int16, prefix string) iter.Seq2[[]byte, error]
}

// global is whether the table's rows belong to no single phone system.
func (r relation) global() bool { return r.name == "phone_system_group" }

// Tables are the tables whose rows are folded, in order.
func Tables() []string {
	list := relations()
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.name
	}
	return names
}

// Columns are a table's, in the order of a [Row]'s fields.
func Columns(table string) []string {
	for _, r := range selected([]string{table}) {
		return r.columns
	}
	return nil
}

func selected(tables []string) []relation {
	return slices.DeleteFunc(relations(), func(r relation) bool { return !slices.Contains(tables, r.name) })
}

// relations are all tables whose rows follow from a phone system's events.
func relations() []relation {
	return []relation{
		relate(phoneSystems(), func(s *fold.State) rows[fold.PhoneSystem] { return s.PhoneSystems.Rows() }, byKey),
		relate(groups(), func(s *fold.State) rows[fold.Group] { return s.Groups.Rows() }, byKey),
		relate(extensions(), func(s *fold.State) rows[fold.Extension] { return s.Extensions.Rows() },
			func(_ *fold.State, r *fold.Extension) place { return place{r.System, r.CreatedAt} }),
		relate(phones(), func(s *fold.State) rows[fold.Phone] { return s.Phones.Rows() },
			func(_ *fold.State, r *fold.Phone) place { return place{r.System, r.CreatedAt} }),
		relate(phoneNumbers(), func(s *fold.State) rows[fold.PhoneNumber] { return s.PhoneNumbers.Rows() },
			func(_ *fold.State, r *fold.PhoneNumber) place { return place{r.System, r.CreatedAt} }),
		relate(agentConfigs(), func(s *fold.State) rows[fold.AgentConfig] { return s.AgentConfigs.Rows() },
			func(_ *fold.State, r *fold.AgentConfig) place { return place{r.System, r.CreatedAt} }),
		relate(callGroups(), func(s *fold.State) rows[fold.CallGroup] { return s.CallGroups.Rows() },
			func(_ *fold.State, r *fold.CallGroup) place { return place{r.System, r.CreatedAt} }),
		relate(callMenus(), func(s *fold.State) rows[fold.CallMenu] { return s.CallMenus.Rows() },
			func(_ *fold.State, r *fold.CallMenu) place { return place{r.System, r.CreatedAt} }),
		relate(representatives(), func(s *fold.State) rows[fold.Representative] { return s.Representatives.Rows() }, byKey),
		relate(classifications(), func(s *fold.State) rows[fold.Classification] { return s.Classifications.Rows() }, byKey),
		relate(callLogs(), func(s *fold.State) rows[fold.CallLog] { return s.CallLogs.Rows() },
			func(_ *fold.State, r *fold.CallLog) place { return place{r.System, r.CreatedAt} }),
		relate(extensionCalls(), func(s *fold.State) rows[fold.ExtensionEntry] { return s.ExtensionCalls.Rows() }, byKey),
		relate(transcripts(), func(s *fold.State) rows[fold.Transcript] { return s.Transcripts.Rows() },
			func(s *fold.State, r *fold.Transcript) place { return place{r.System, ownerCreated(s, r.OwnerRowKey)} }),
		relate(transcriptTexts(), func(s *fold.State) rows[fold.TranscriptText] { return s.TranscriptTexts.Rows() },
			func(s *fold.State, r *fold.TranscriptText) place {
				return place{r.System, ownerCreated(s, r.OwnerRowKey)}
			}),
		relate(recordings(), func(s *fold.State) rows[fold.Recording] { return s.Recordings.Rows() },
			func(_ *fold.State, r *fold.Recording) place { return place{r.System, r.CreatedAt} }),
		relate(analyses(), func(s *fold.State) rows[fold.Analysis] { return s.Analyses.Rows() },
			func(_ *fold.State, r *fold.Analysis) place { return place{r.System, r.CreatedAt} }),
		relate(extensionAnalyses(), func(s *fold.State) rows[fold.ExtensionEntry] { return s.ExtensionAnalyses.Rows() }, byKey),
		relate(voicemails(), func(s *fold.State) rows[fold.Voicemail] { return s.Voicemails.Rows() },
			func(_ *fold.State, r *fold.Voicemail) place { return place{r.System, r.CreatedAt} }),
		relate(tombstones(), func(s *fold.State) rows[fold.Tombstone] { return s.Tombstones.Rows() }, byKey),
		relate(dayCounts(), func(s *fold.State) rows[counted[fold.CountKey]] { return counters(s.Counts) }, byKey),
		relate(referenceCounts(), func(s *fold.State) rows[counted[fold.ReferenceKey]] { return counters(s.References) }, byKey),
	}
}

type rows[R any] = iter.Seq[*R]

// place is where rows lie: those of a phone system together, in the order in which they are read.
type place struct {
	system  uuid.UUID
	created events.Time
}

// byKey is of rows that lie in the order of their keys.
func byKey[R any](*fold.State, *R) place { return place{} }

// ownerCreated is when a transcript's call or voicemail was created: they are read together.
func ownerCreated(s *fold.State, owner fold.OwnerRowKey) events.Time {
	key := fold.Key{System: owner.System, ID: owner.ID}
	if owner.Entity == events.EntityVoicemail {
		voicemail, _ := s.Voicemails.Get(key)
		return voicemail.CreatedAt
	}
	call, _ := s.CallLogs.Get(key)
	return call.CreatedAt
}

// counters are the rows of a tally that started from nothing: a counter of zero is none.
func counters[K comparable](tally fold.Deltas[K]) rows[counted[K]] {
	return func(yield func(*counted[K]) bool) {
		for key, n := range tally {
			if n != 0 && !yield(&counted[K]{key, n}) {
				return
			}
		}
	}
}

// relate makes a table's relation. Rows of one place lie in the order of their keys.
func relate[R any](t table[R], all func(*fold.State) rows[R], at func(*fold.State, *R) place) relation {
	r := relation{name: t.name, key: t.key}
	for _, c := range t.columns {
		r.columns, r.show = append(r.columns, c.name), append(r.show, c.show)
	}
	r.encoded = func(state *fold.State, sorted bool, widths []int16, prefix string) iter.Seq2[[]byte, error] {
		list := all(state)
		if sorted {
			list = t.sorted(list, func(row *R) place { return at(state, row) })
		}
		return t.encoded(list, widths, prefix)
	}
	return r
}

// sorted are the rows as they are to lie.
func (t table[R]) sorted(list rows[R], at func(*R) place) rows[R] {
	type placed struct {
		place
		row *R
	}
	var order []placed
	for row := range list {
		order = append(order, placed{at(row), row})
	}
	slices.SortFunc(order, func(a, b placed) int {
		by := cmp.Or(compareUUID(a.system, b.system), cmp.Compare(a.created, b.created))
		for i := 0; by == 0 && i < t.key; i++ {
			by = t.columns[i].compare(a.row, b.row)
		}
		return by
	})
	return func(yield func(*R) bool) {
		for _, p := range order {
			if !yield(p.row) {
				return
			}
		}
	}
}

func (t table[R]) encoded(list rows[R], widths []int16, prefix string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffer []byte
		for row := range list {
			var err error
			buffer, err = t.encode(append(buffer[:0], prefix...), row, widths)
			if !yield(buffer, err) || err != nil {
				return
			}
		}
	}
}

// encode appends a row as COPY's binary format has it: the number of its columns, then those; a width of 0 is a column that isn't there.
func (t table[R]) encode(dst []byte, row *R, widths []int16) ([]byte, error) {
	at, present := len(dst), 0
	dst = append(dst, 0, 0) // not known yet
	var err error
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
