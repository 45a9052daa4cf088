package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// AnnouncementKey identifies a directory entry that calls refer to by id: an extension, a call group or a representative.
type AnnouncementKey struct {
	System uuid.UUID
	Family string // [FamilyCallGroup], [FamilyExtension] or [FamilyRepresentative]
	ID     uuid.UUID
}

func (k AnnouncementKey) reference() ReferenceKey {
	return ReferenceKey{k.System, k.Family, k.ID.String()}
}

// Announcement is a row of announcement: the last time at which a directory entry became live while calls referred to it. Each of these calls
// shows an id from then on where it showed null, so its UpdatedAt is that time or a later one.
//
// The time belongs to a call that refers to the entry when it is announced, and not to one that begins to refer to it later. The rows
// are given it later than that: when an event changes them, or all together before they are read (see [State.ApplyAnnouncements]). So an
// announcement costs the same however many calls there are, and no index from directory entries to calls is needed.
type Announcement struct {
	AnnouncementKey
	At events.Time
}

// announcer is what a State knows of announcements beside their rows.
type announcer struct {
	loaded map[ReferenceKey]int64               // reference_count, of directory entries that the batch has events of
	later  map[AnnouncementKey]map[Key]struct{} // calls that refer to an entry only since it was announced
}

// LoadReferenceCount adds how many calls refer to a directory entry in the database.
func (s *State) LoadReferenceCount(key ReferenceKey, calls int64) {
	if s.announcer.loaded == nil {
		s.announcer.loaded = make(map[ReferenceKey]int64)
	}
	s.announcer.loaded[key] = calls
}

// announcementKeyOf returns the key of a directory entry, and false for an event of another entity.
func announcementKeyOf(e events.Event) (key AnnouncementKey, ok bool) {
	switch e.Entity {
	case events.EntityCallGroup:
		key.Family = FamilyCallGroup
	case events.EntityExtension:
		key.Family = FamilyExtension
	case events.EntityRepresentative:
		key.Family = FamilyRepresentative
	default:
		return key, false
	}
	k := keyOf(e)
	key.System, key.ID = k.System, k.ID
	return key, true
}

// ReferenceOf returns the key of the count of the calls that refer to the entity of an event; false: calls do not refer to it by id.
func ReferenceOf(e events.Event) (reference ReferenceKey, ok bool) {
	key, ok := announcementKeyOf(e)
	if ok {
		reference = key.reference()
	}
	return reference, ok
}

// announce records that the entry of an event became live, if calls refer to it.
func (s *State) announce(e events.Event, at events.Time) {
	key, ok := announcementKeyOf(e)
	if !ok {
		return
	}
	reference := key.reference()
	if s.announcer.loaded[reference]+s.References[reference] > 0 {
		s.Announcements.Put(key, Announcement{key, at})
		delete(s.announcer.later, key) // all that refer to it now have waited for it
	}
}

// announcedAt returns the UpdatedAt of a call with the announcements that it was not given yet.
func (s *State) announcedAt(call CallLog) events.Time {
	at := call.UpdatedAt
	if s.Announcements.empty() {
		return at
	}
	for key := range call.entries() {
		a, ok := s.Announcements.Get(key)
		if _, later := s.announcer.later[key][call.Key]; ok && !later {
			at = max(at, a.At)
		}
	}
	return at
}

// recordLaterReferences records to which of the entries of its next row a call did not refer when they were announced.
func (s *State) recordLaterReferences(before, next CallLog) {
	if s.Announcements.empty() {
		return
	}
	for key := range next.entries() {
		if a, ok := s.Announcements.Get(key); ok && a.At > next.UpdatedAt && !before.refersTo(key) {
			s.announcer.add(key, next.Key)
		}
	}
}

// add adds a call to those that refer to a directory entry only since it was announced.
func (a *announcer) add(entry AnnouncementKey, call Key) {
	if a.later == nil {
		a.later = make(map[AnnouncementKey]map[Key]struct{})
	}
	if a.later[entry] == nil {
		a.later[entry] = make(map[Key]struct{})
	}
	a.later[entry][call] = struct{}{}
}

// ApplyAnnouncements gives calls the times of the announcements that they were not given yet. It must be called before the rows of calls are
// read. It changes nothing else, and calls that are not in the state have to be given them by [State.AnnouncementsToStored].
func (s *State) ApplyAnnouncements() {
	if s.Announcements.empty() {
		return
	}
	for row := range s.CallLogs.Rows() {
		if at := s.announcedAt(*row); at > row.UpdatedAt {
			next := *row
			next.UpdatedAt = at
			s.CallLogs.Put(next.Key, next)
		}
	}
}

// AnnouncementsToStored yields the announcements that apply to calls in the database. Those that the state has must be left out: what it
// says of them is newer.
func (s *State) AnnouncementsToStored() func(yield func(Announcement) bool) {
	return func(yield func(Announcement) bool) {
		for row := range s.Announcements.Rows() {
			if s.announcer.loaded[row.reference()] > 0 && !yield(*row) {
				return
			}
		}
	}
}

// TakeAnnouncements applies the announcements of another state to its calls, and moves them to this one, which keeps the last of each directory
// entry.
func (s *State) TakeAnnouncements(from *State) {
	from.ApplyAnnouncements()
	for row := range from.Announcements.Rows() {
		if a, ok := s.Announcements.Get(row.AnnouncementKey); !ok || row.At > a.At {
			s.Announcements.Put(row.AnnouncementKey, *row)
		}
	}
	from.Announcements, from.announcer = Table[AnnouncementKey, Announcement]{}, announcer{}
}

// entries yields each directory entry that a call refers to once, whether it exists or not.
func (c CallLog) entries() func(yield func(AnnouncementKey) bool) {
	return func(yield func(AnnouncementKey) bool) {
		if c.CallGroupID.Valid && !yield(AnnouncementKey{c.System, FamilyCallGroup, c.CallGroupID.Value}) {
			return
		}
		for _, id := range c.extensions() {
			if !yield(AnnouncementKey{c.System, FamilyExtension, id}) {
				return
			}
		}
		if c.RepresentativeID.Valid {
			yield(AnnouncementKey{c.System, FamilyRepresentative, c.RepresentativeID.Value})
		}
	}
}

func (c CallLog) refersTo(key AnnouncementKey) bool {
	for entry := range c.entries() {
		if entry == key {
			return true
		}
	}
	return false
}
