package events

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Global is the subject token of entities that belong to no single phone system.
const Global = "global"

const subjectRoot = "phones"

// Subject returns the subject to which an entity's events are published: phones.<system>.<entity>.
func Subject(system uuid.UUID, entity Entity) string {
	return subjectRoot + "." + systemToken(system) + "." + string(entity)
}

// Partition returns the partition, from 0 to partitions-1, in which the stream stores a system's events. It is the
// hash of NATS' partition() subject transform: FNV-1a over the system token.
func Partition(system uuid.UUID, partitions int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(systemToken(system)))
	return int(h.Sum32() % uint32(partitions))
}

// PartitionFilter returns the filter subject of all messages that are stored in a partition.
func PartitionFilter(partition int) string {
	return subjectRoot + "." + strconv.Itoa(partition) + ".>"
}

// subjectParts splits phones.<system>.<entity>, or the stored form phones.<partition>.<system>.<entity>.
func subjectParts(subject string) (system, entity string, ok bool) {
	rest, rooted := strings.CutPrefix(subject, subjectRoot+".")
	dot := strings.LastIndexByte(rest, '.')
	if !rooted || dot < 0 {
		return "", "", false
	}

	// The subject of a stored message has the partition before the system.
	system, entity = rest[:dot], rest[dot+1:]
	if _, after, stored := strings.Cut(system, "."); stored {
		system = after
	}

	if strings.Contains(system, ".") {
		return "", "", false
	}
	return system, entity, true
}

// SubjectSystem returns the phone system that a subject names, or [uuid.Nil] if it names none.
func SubjectSystem(subject string) uuid.UUID {
	token, _, _ := subjectParts(subject)
	system, err := uuid.Parse(token)
	if err != nil {
		return uuid.Nil
	}
	return system
}

// SubjectPartition returns the partition that the subject of a stored message names; ok is false if it names none.
func SubjectPartition(subject string) (partition int, ok bool) {
	rest, rooted := strings.CutPrefix(subject, subjectRoot+".")
	token, _, dotted := strings.Cut(rest, ".")
	partition, err := strconv.Atoi(token)
	return partition, rooted && dotted && err == nil && strconv.Itoa(partition) == token && partition >= 0
}

// SubjectEntity returns the entity that a subject names; ok is false if it names no known one.
func SubjectEntity(subject string) (entity Entity, ok bool) {
	_, token, ok := subjectParts(subject)
	_, known := registered(Entity(token))
	return Entity(token), ok && known
}

// systemToken returns the subject token of a system: its UUID in lower case, or "global" for [uuid.Nil].
func systemToken(system uuid.UUID) string {
	if system == uuid.Nil {
		return Global
	}
	return system.String()
}
