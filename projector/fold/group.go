package fold

import (
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// applyGroup applies an event of a group. Members that stay are not written.
func (s *State) applyGroup(e events.Event, _ events.Time) (Outcome, error) {
	key := idOf(e.Identity)
	before, _ := s.Groups.Get(key)
	outcome := replaceRow(s, &s.Groups, key, e, group)
	after, _ := s.Groups.Get(key)
	for _, member := range before.membersWithout(after) {
		s.GroupMembers.Delete(member)
	}
	for _, member := range after.membersWithout(before) {
		s.GroupMembers.Put(member, member)
	}
	return outcome, nil
}

// membersWithout returns the members that another row of the group does not have.
func (r Group) membersWithout(other Group) []GroupMember {
	if r.PhoneSystemIDs == other.PhoneSystemIDs {
		return nil
	}

	others := make(map[string]bool)
	for text := range strings.SplitSeq(string(other.PhoneSystemIDs), ",") {
		others[text] = true
	}

	var members []GroupMember
	for text := range strings.SplitSeq(string(r.PhoneSystemIDs), ",") {
		if id, err := uuid.Parse(text); err == nil && !others[text] { // the text of no members is empty
			members = append(members, GroupMember{System: id, Group: r.ID})
		}
	}

	return members
}
